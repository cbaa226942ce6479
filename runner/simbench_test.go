package runner

import (
	"runtime"
	"runtime/debug"
	"testing"

	"lockchaos/checker"
	"lockchaos/cluster/sim"
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

// BenchmarkSimulation measures one core: with the history, its hash, and judging it. A bubble needs a
// *testing.T, which only a test is handed.
func BenchmarkSimulation(b *testing.B) {
	s, err := scenario.Parse([]byte(contended), "contended.yaml")
	if err != nil {
		b.Fatal(err)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as sim.Main does
	var simulated, locks float64
	for b.Loop() {
		var out Seed
		ok := testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{
			Name: "simulation", F: func(t *testing.T) {
				out = runSeed(func(g func()) { sim.Bubble(t, g) }, simWorld{}, s, "none", 1)
			},
		}})
		if !ok || out.Outcome != checker.Safe {
			b.Fatal(ok, out)
		}
		simulated += out.Simulated
		locks += float64(out.Grants)
	}
	b.ReportMetric(simulated/b.Elapsed().Seconds(), "times-real-time")
	b.ReportMetric(locks/simulated, "locks/simulated-s")
}
