package runner

import (
	"context"
	"io"
	"runtime"
	"testing"

	"lockchaos/checker"
	"lockchaos/cluster/sim"
	"lockchaos/history"
	"lockchaos/scenario"
)

// contended is Redlock with five hosts that all want the lock all the time.
const contended = `
name: contended
lock: {system: redlock, ttl: 2s, tries: 32}
hosts: 5
workload: {kind: counter, rounds: 200, work: 2ms, rest: 1ms}
guards: [none]
deadline: 100s
expect: {none: {outcome: safe}}
`

// BenchmarkSimulation measures one core with history and judging. A bubble needs a
// *testing.T, which only a test is handed.
func BenchmarkSimulation(b *testing.B) {
	s, err := scenario.Parse([]byte(contended), "contended.yaml")
	if err != nil {
		b.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var simulated, locks float64
	for b.Loop() {
		h := &history.History{}
		ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: "simulation", F: func(t *testing.T) {
				sim.Bubble(t, func() {
					err = Run{Name: s.Name, World: scenario.Simulation, Scenario: s, Guard: "none", Seed: 1, Keep: h}.
						Do(context.Background(), simWorld{}, io.Discard)
				})
			},
		}})
		if !ok || err != nil {
			b.Fatal(ok, err)
		}
		v, err := checker.Judge(h)
		if err != nil || v.Outcome != checker.Safe {
			b.Fatal(v, err)
		}
		simulated += h.Events[len(h.Events)-1].T.Seconds()
		locks += float64(v.Counts.Grants)
	}
	b.ReportMetric(simulated/b.Elapsed().Seconds(), "times-real-time")
	b.ReportMetric(locks/simulated, "locks/simulated-s")
}
