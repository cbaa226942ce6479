package report

import (
	"bytes"
	"testing"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/internal/golden"
	"lockchaos/results"
)

// A canary that was not found, and a control that failed, are told of once each,
// with the cells that they concern marked.
func TestDistrust(t *testing.T) {
	control := assess("single", "kill-holder", "none", 1, checker.Violated)
	control.Control, control.AsExpected = true, false
	run := assess("single", "kill-holder", "none", 1, checker.Safe)
	run.Verdict.Faults = []checker.FaultOps{{ID: "f1", Name: "delay", Lasts: true, Phases: history.Phases{
		Before: history.Ops{Attempts: 9, Grants: 3}, During: history.Ops{Attempts: 4}, After: history.Ops{Attempts: 2, Grants: 1},
	}}}
	canary := assess("single", "baseline", "none", 1, checker.Safe)
	canary.Canary, canary.Spoilt = true, 2
	as := []*results.Assessment{canary, run, control, assess("redlock", "baseline", "none", 1, checker.Safe)}
	for _, a := range as {
		a.Trust = &results.Trust{Canary: checker.Safe, Doubts: []string{"the canary is safe"}}
	}
	run.Trust.Doubts = append(run.Trust.Doubts, "the control is violated")
	var b bytes.Buffer
	if err := Terminal(&b, as, "", 120); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/distrust.golden", b.String())
}
