package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"lockchaos/checker"
	"lockchaos/history"
)

// AnyOutcome is expected of a search: safe or violated, as long as it is known.
const AnyOutcome = "any"

// Against holds a verdict against what is expected, and says in what it
// differs. Nothing: as expected.
func (e Expect) Against(v *checker.Verdict) []Difference {
	var diffs []Difference
	add := func(kind DifferenceKind, format string, args ...any) {
		diffs = append(diffs, Difference{kind, fmt.Sprintf(format, args...)})
	}
	kind := Safety
	if v.Outcome == checker.Inconclusive { // what is not there was not shown to be missing
		kind = Proof
	}
	if string(v.Outcome) != e.Outcome && (e.Outcome != AnyOutcome || v.Outcome == checker.Inconclusive) {
		add(kind, "the outcome is %s, expected %s", v.Outcome, e.Outcome)
	}
	for _, want := range e.Findings {
		if !slices.ContainsFunc(v.Findings, func(f checker.Finding) bool { return matches(want, f) }) {
			add(kind, "no %s was found", want)
		}
	}
	for _, f := range v.Findings {
		if d, ok := e.Unexpected(f); ok && !slices.Contains(diffs, d) {
			diffs = append(diffs, d)
		}
	}
	if v.Counts.Stale < e.Refused {
		add(kind, "the guard refused %d stale operations, expected at least %d", v.Counts.Stale, e.Refused)
	}
	if v.Stalled > 0 && len(diffs) > 0 && e.late(v) { // then the run says nothing about the lock
		for i := range diffs {
			diffs[i].Kind = Proof
		}
		add(Proof, "the harness, or a host that nobody had stopped, stood still for %s, which may explain it: the machine was too busy for the run", v.Stalled.Round(time.Millisecond))
	}
	return diffs
}

// late says whether what should not be there may all be there because somebody stood
// still. What is missing may always be missing for that.
func (e Expect) late(v *checker.Verdict) bool {
	return !slices.ContainsFunc(v.Findings, func(f checker.Finding) bool {
		_, odd := e.Unexpected(f)
		violates := v.Outcome == checker.Violated && e.Outcome != string(checker.Violated) && checker.Safety(f.ID) && !f.Contained
		return (odd || violates) && !f.Late
	})
}

// Unexpected judges one finding that is there: whether it should not be, and in
// what the verdict then differs.
func (e Expect) Unexpected(f checker.Finding) (Difference, bool) {
	listed := func(list []string) bool {
		return slices.ContainsFunc(list, func(want string) bool { return matches(want, f) })
	}
	switch {
	case listed(e.Never):
		return Difference{Safety, f.ID + " was found, and never must be"}, true
	case listed(e.Findings) || listed(e.May):
		return Difference{}, false
	case f.ID == checker.Unavailable:
		return Difference{Availability, "fewer acquires than demanded"}, true
	case f.ID == checker.Wedge:
		return Difference{Availability, "the lock stayed held by nobody"}, true
	case e.Outcome == AnyOutcome || f.Contained || f.ID == checker.NoConclusion || f.ID == checker.Orphan || f.ID == checker.RefusedHolder:
		return Difference{}, false
	}
	return Difference{Safety, f.ID + " was found, and is not expected"}, true
}

func matches(want string, f checker.Finding) bool {
	id, cause, has := strings.Cut(want, "/")
	return f.ID == id && (!has || f.Cause == cause)
}

// DifferenceKind says which exit code a difference has.
type DifferenceKind string

// The kinds of difference, the worst first.
const (
	Safety       DifferenceKind = "safety"
	Proof        DifferenceKind = "proof" // inconclusive where a result was expected
	Availability DifferenceKind = "availability"
)

// Difference is one way in which a verdict is not what was expected.
type Difference struct {
	Kind DifferenceKind `json:"kind"`
	Text string         `json:"text"`
}

// Expected is what must come out of the run with this guard.
func (s *Scenario) Expected(guard string, control bool) Expect {
	if control {
		return Expect{Outcome: s.Control}
	}
	return s.Expect[guard]
}

// WithoutFaults is the scenario's control.
func (s *Scenario) WithoutFaults() *Scenario {
	c := *s
	c.Faults, c.Order = nil, nil
	// Without a fault there is no phase but "before".
	c.Needs, c.NeedsEach, c.Demand = history.Phases{}, history.Phases{}, history.Phases{}
	return &c
}

// JSON is the scenario with every default filled in.
func (s *Scenario) JSON() ([]byte, error) {
	b, err := yaml.Marshal(s)
	if err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(b)
}
