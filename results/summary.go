package results

import (
	"lockchaos/checker"
)

// Summary is what came out of one call of chaos run.
type Summary struct {
	Version int    `json:"version"`
	Suite   string `json:"suite,omitempty"`
	World   string `json:"world"`
	// Shard is the part of a call that this is; Merged says of which parts it was put
	// together. Both are absent where it was done in one call.
	Shard  *Shard  `json:"shard,omitempty"`
	Merged *Merged `json:"merged,omitempty"`
	// ExitCode is that of the call: the worst of its runs.
	ExitCode int `json:"exit_code"`
	// Canary is the run that must be violated; absent outside a suite.
	Canary *CanaryResult `json:"canary,omitempty"`
	// Controls are the runs without faults, one line a scenario.
	Controls []ControlResult `json:"controls,omitempty"`
	// LeftOut are the scenarios that are not for this world.
	LeftOut []string `json:"left_out,omitempty"`
	// Doubts say why the runs, or some of them, are not to be trusted.
	Doubts []string      `json:"doubts,omitempty"`
	Runs   []*Assessment `json:"runs"`
}

// SummaryVersion is the version of the summary's format.
const SummaryVersion = 2

// CanaryResult is what came of the canary.
type CanaryResult struct {
	Key
	Outcome checker.Outcome `json:"outcome"`
	// Found: it is violated, and both oracles said so.
	Found bool `json:"found"`
}

// ControlResult is what came of all controls of a scenario.
type ControlResult struct {
	Scenario   string          `json:"scenario"`
	Guard      string          `json:"guard"`
	Trials     int             `json:"trials"`
	AsExpected int             `json:"as_expected"`
	Outcome    checker.Outcome `json:"outcome"` // the worst
}

// Summarise sums up the runs of one batch that has been settled.
func Summarise(suite, world string, leftOut []string, as []*Assessment) *Summary {
	s := &Summary{Version: SummaryVersion, Suite: suite, World: world, LeftOut: leftOut, Doubts: Doubts(as), Runs: as}
	index := map[string]int{}
	worst := map[string]*Assessment{}
	for _, a := range as {
		s.ExitCode = Worse(s.ExitCode, a.ExitCode())
		if a.Canary {
			s.Canary = &CanaryResult{a.Key, a.outcome(), a.outcome() == checker.Violated && a.Verdict.FoundByBoth()}
		}
		if !a.Control {
			continue
		}
		i, ok := index[a.Scenario]
		if !ok {
			i = len(s.Controls)
			index[a.Scenario] = i
			s.Controls = append(s.Controls, ControlResult{Scenario: a.Scenario, Guard: a.Guard})
		}
		c := &s.Controls[i]
		c.Trials++
		if a.AsExpected {
			c.AsExpected++
		}
		if w := worst[a.Scenario]; w == nil || rank(a) > rank(w) {
			worst[a.Scenario], c.Outcome = a, a.outcome()
		}
	}
	return s
}

// Doubts lists the doubts of all runs, each once.
func Doubts(as []*Assessment) []string {
	var all []string
	seen := map[string]bool{}
	for _, a := range as {
		if a.Trust == nil {
			continue
		}
		for _, d := range a.Trust.Doubts {
			if !seen[d] {
				seen[d] = true
				all = append(all, d)
			}
		}
	}
	return all
}
