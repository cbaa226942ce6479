package runner

import (
	"runtime"
	"syscall"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/cluster/sim"
	"lockchaos/scenario"
	"lockchaos/scenarios"
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
	sim.Tune()
	var simulated, locks float64
	before := processorTime(b)
	for b.Loop() {
		out := inBubble(b, func(bubble func(func())) Seed { return runSeed(bubble, simWorld{}, s, "none", 1) })
		if out.Outcome != checker.Safe {
			b.Fatal(out)
		}
		simulated += out.Simulated
		locks += float64(out.Grants)
	}
	b.ReportMetric(simulated/b.Elapsed().Seconds(), "times-real-time")
	b.ReportMetric(simulated/(processorTime(b)-before), "simulated-s/processor-s")
	b.ReportMetric(locks/simulated, "locks/simulated-s")
}

// BenchmarkHammer measures what a sweep does in one core: each seed with findings
// is run twice, and counts once.
func BenchmarkHammer(b *testing.B) {
	const seeds = 20
	s, err := scenario.NewCatalogue(scenarios.Files).Find("redlock/hammer")
	if err != nil {
		b.Fatal(err)
	}
	sim.Tune()
	var simulated float64
	before := processorTime(b)
	for b.Loop() {
		for seed := range int64(seeds) {
			out := inBubble(b, func(bubble func(func())) Seed { return RunSeed(bubble, simWorld{}, s[0], "none", seed+1) })
			if out.Error != "" || out.Unstable != "" {
				b.Fatal(out)
			}
			simulated += out.Simulated
		}
	}
	b.ReportMetric(simulated/b.Elapsed().Seconds(), "times-real-time")
	b.ReportMetric(simulated/(processorTime(b)-before), "simulated-s/processor-s")
	b.ReportMetric(float64(seeds*b.N)/b.Elapsed().Seconds(), "seeds/s")
}

// processorTime is what the process has had of it, in seconds: on a busy machine
// the clock on the wall counts what others had, too.
func processorTime(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func inBubble(b *testing.B, run func(bubble func(func())) Seed) (out Seed) {
	b.Helper()
	all := func(string, string) (bool, error) { return true, nil }
	if !testing.RunTests(all, []testing.InternalTest{{Name: "simulation", F: func(t *testing.T) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // here, for RunTests sets it, too
		out = run(func(g func()) { sim.Bubble(t, g) })
	}}}) {
		b.Fatal("the simulation failed")
	}
	return out
}
