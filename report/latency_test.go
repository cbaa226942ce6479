package report

import (
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/results"
)

// A run with faults has its line, one without has none.
func TestLatencies(t *testing.T) {
	const ms = time.Millisecond
	before := checker.PhaseLatency{Do: history.Acquire, Phase: checker.Before, N: 2, Median: 3400 * time.Microsecond, P99: 9 * ms, Max: 9 * ms}
	hung := assess("redlock", "hung-node", "none", 1, checker.Safe)
	hung.Verdict.Latencies = []checker.PhaseLatency{
		before,
		{Do: history.Acquire, Phase: checker.During, N: 1, Median: 1500 * ms, P99: 1500 * ms, Max: 1500 * ms},
		{Do: history.Release, Phase: checker.After, N: 1, Median: 12 * ms, P99: 12 * ms, Max: 12 * ms},
	}
	calm := assess("redlock", "baseline", "none", 1, checker.Safe)
	calm.Verdict.Latencies = []checker.PhaseLatency{before}
	failed := assess("redlock", "other", "none", 1, "")
	failed.Verdict = nil
	var b strings.Builder
	latencies(&b, newMatrix([]*results.Assessment{calm, failed}))
	if b.Len() != 0 {
		t.Errorf("without faults: %q", b.String())
	}
	latencies(&b, newMatrix([]*results.Assessment{calm, hung, failed}))
	const want = "Time to answer in ms, median/max, before → during → after the faults:\n" +
		"  redlock/hung-node, guard none: acquire 3.4/9.0 → 1500/1500 → –, release – → – → 12/12\n\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
