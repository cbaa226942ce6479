package results

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"lockchaos/checker"
)

// Trust is what a run's verdict rests on outside its own history: other runs of
// its batch.
type Trust struct {
	// Control is the outcome of the same run without its faults, the worst of its
	// trials; absent where there is none.
	Control checker.Outcome `json:"control,omitempty"`
	// Canary is the outcome of the run that its suite must find violated; absent
	// outside a suite.
	Canary checker.Outcome `json:"canary,omitempty"`
	// Missing says what was planned and is not there: shards of a batch that was put
	// together of them, or runs of one that was interrupted. Absent where all is there.
	Missing string `json:"missing,omitempty"`
	// Doubts say why the verdict is not to be trusted, whatever it is.
	Doubts []string `json:"doubts,omitempty"`
}

// Incomplete tells runs that others are missing of those that were planned with them.
func Incomplete(as []*Assessment, words string) {
	for _, a := range as {
		a.Trust = &Trust{Missing: words, Doubts: []string{words}}
	}
}

// failed stands for the outcome of a run without a verdict.
const failed checker.Outcome = "error"

// outcome is what came out of a run.
func (a *Assessment) outcome() checker.Outcome {
	if a.Verdict == nil || a.Error != "" {
		return failed
	}
	return a.Verdict.Outcome
}

// Trusted tells that nothing in its batch speaks against a run.
func (a *Assessment) Trusted() bool { return a.Trust == nil || len(a.Trust.Doubts) == 0 }

// Settle tells the runs of one batch what they rest on: a control that is not as
// expected takes the trust from the other runs of its scenario, and a canary that
// is not violated from all. A run whose control or canary is not among them keeps
// what it was told before.
func Settle(as []*Assessment) {
	controls := map[string][]*Assessment{}
	var canary *Assessment
	for _, a := range as {
		if a.Control {
			controls[a.Scenario] = append(controls[a.Scenario], a)
		}
		if a.Canary {
			canary = a
		}
	}
	for _, a := range as {
		var control []*Assessment
		if !a.Control {
			control = controls[a.Scenario]
		}
		if canary == nil && control == nil {
			continue
		}
		t := &Trust{}
		if a.Trust != nil && a.Trust.Missing != "" { // which no run of the batch can tell
			t.Missing, t.Doubts = a.Trust.Missing, []string{a.Trust.Missing}
		}
		if control != nil {
			doubtControl(t, control)
		}
		if canary != nil {
			doubtCanary(t, canary)
		}
		a.Trust = t
	}
}

func doubtControl(t *Trust, control []*Assessment) {
	worst := control[0]
	for _, c := range control {
		if rank(c) > rank(worst) {
			worst = c
		}
	}
	t.Control = worst.outcome()
	if !worst.AsExpected {
		t.Doubts = append(t.Doubts, fmt.Sprintf(
			"the control of %s, the same without its faults, is not as expected: %s; what its other runs show need not come of their faults",
			worst.Scenario, shortly(worst)))
	}
}

// rank orders the trials of a control, the worst last.
func rank(a *Assessment) int {
	if a.AsExpected {
		return -1
	}
	return slices.Index([]checker.Outcome{checker.Safe, checker.Inconclusive, failed, checker.Violated}, a.outcome())
}

func shortly(a *Assessment) string {
	if a.Error != "" {
		return "it failed: " + a.Error
	}
	if len(a.Differences) > 0 {
		return a.Differences[0].Text
	}
	return string(a.outcome())
}

func doubtCanary(t *Trust, canary *Assessment) {
	t.Canary = canary.outcome()
	switch {
	case t.Canary != checker.Violated:
		t.Doubts = append(t.Doubts, fmt.Sprintf(
			"the canary %s must be violated and is not: %s; a suite that does not find this proves nothing", canary.Key, saidOf(canary)))
	case !canary.Verdict.FoundByBoth():
		t.Doubts = append(t.Doubts, fmt.Sprintf(
			"the canary %s is violated, but there is nothing that both oracles found: the suite proves nothing", canary.Key))
	}
}

func saidOf(a *Assessment) string {
	if a.Error != "" {
		return "it failed: " + a.Error
	}
	return "it is " + string(a.outcome())
}

// SaveVerdict writes the verdict of a run into its directory.
func (a *Assessment) SaveVerdict() error {
	if a.Dir == "" || a.Verdict == nil {
		return nil
	}
	if err := Save(a.Dir, VerdictFile, a); err != nil {
		return fmt.Errorf("save the verdict: %w", err)
	}
	return nil
}

// SettleBatch settles the runs of one batch and saves what has come of that.
func SettleBatch(as []*Assessment) error {
	Settle(as)
	var all error
	for _, a := range as {
		if a.Trust != nil {
			all = errors.Join(all, a.SaveVerdict())
		}
	}
	return all
}

// SettleAll is SettleBatch for runs that may be of several batches.
func SettleAll(as []*Assessment) error {
	var order []string
	byDir := map[string][]*Assessment{}
	for _, a := range as {
		dir := a.batch()
		if byDir[dir] == nil {
			order = append(order, dir)
		}
		byDir[dir] = append(byDir[dir], a)
	}
	var all error
	for _, dir := range order {
		if dir != "" { // a history without its run is of no batch
			all = errors.Join(all, SettleBatch(byDir[dir]))
		}
	}
	return all
}

// batch is the directory of the batch of a run; empty where it is not known.
func (a *Assessment) batch() string {
	if a.Dir == "" {
		return ""
	}
	dir, err := filepath.Abs(a.Dir)
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(filepath.Dir(dir)))
}
