package runner

import (
	"fmt"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/results"
	"lockchaos/scenario"
)

// outcomes makes seeds from 1 on, as in "violated lost-update stale-write*; safe": a
// star marks what the guard held, and a number what it refused.
func outcomes(text string) []Seed {
	var all []Seed
	for i, one := range strings.Split(text, "; ") {
		words := strings.Fields(one)
		s := Seed{Scenario: "s", Guard: "none", Seed: int64(i + 1), Outcome: checker.Outcome(words[0])}
		if words[0] == "failed" {
			s.Outcome, s.Error = "", "no conclusion"
		}
		for _, w := range words[1:] {
			if _, err := fmt.Sscan(w, &s.Refused); err == nil {
				continue
			}
			kind, held := strings.CutSuffix(w, "*")
			s.Findings = append(s.Findings, SeedFinding{Kind: kind, Contained: held, Count: 1})
		}
		all = append(all, s)
	}
	return all
}

var expected = []struct {
	name  string
	e     scenario.Expect
	seeds string
	code  int
	says  []string
}{
	{"all violated, none with the finding", scenario.Expect{Outcome: "violated", Findings: []string{"lost-update"}}, "violated double-grant/split; violated double-grant/split", 1,
		[]string{"double-grant/split, first in seed 1: double-grant was found, and is not expected", "no lost-update was found in any seed of 1-2, expected in one at least"}},
	{"inconclusive expected, all violated", scenario.Expect{Outcome: "inconclusive"}, "violated lost-update; violated lost-update", 1,
		[]string{"lost-update, first in seed 1: ", "no seed of 1-2 is inconclusive, expected of one at least"}},
	{"violated expected, all safe", scenario.Expect{Outcome: "violated", Findings: []string{"lost-update"}}, "safe; safe; safe", 1,
		[]string{"no seed of 1-3 is violated, expected of one at least", "no lost-update was found in any seed of 1-3, expected in one at least"}},
	{"one seed shows it", scenario.Expect{Outcome: "violated", Findings: []string{"lost-update"}}, "safe; violated lost-update; safe", 0, nil},
	{"one seed shows it, with a cause", scenario.Expect{Outcome: "violated", Findings: []string{"double-grant"}}, "safe; violated double-grant/split", 0, nil},
	{"another cause", scenario.Expect{Outcome: "any", Findings: []string{"double-grant/state-loss"}}, "safe; violated double-grant/split", 1,
		[]string{"no double-grant/state-loss was found in any seed of 1-2, expected in one at least"}},
	{"each seed shows a part", scenario.Expect{Outcome: "violated", Findings: []string{"lost-update", "stale-write"}}, "violated stale-write; violated lost-update", 0, nil},
	{"it may be", scenario.Expect{Outcome: "violated", May: []string{"lost-update"}}, "violated lost-update", 0, nil},
	{"held where it is expected", scenario.Expect{Outcome: "safe", Findings: []string{"stale-write"}}, "safe stale-write*; safe", 0, nil},
	{"held", scenario.Expect{Outcome: "safe"}, "safe stale-write*", 0, nil},
	{"held, and then not", scenario.Expect{Outcome: "violated"}, "safe stale-write*; violated stale-write", 1, []string{"stale-write, first in seed 2: stale-write was found, and is not expected"}},
	{"held, and never must be", scenario.Expect{Outcome: "safe", Never: []string{"stale-write"}}, "safe stale-write*; safe", 1, []string{"stale-write, first in seed 1: stale-write was found, and never must be"}},
	{"a search", scenario.Expect{Outcome: "any"}, "violated lost-update; safe", 0, nil},
	{"a search that is never violated", scenario.Expect{Outcome: "any"}, "safe; safe", 0, nil},
	{"a wedge in a search", scenario.Expect{Outcome: "any"}, "safe; safe wedge", 3, []string{"wedge, first in seed 2: the lock stayed held by nobody"}},
	{"too few acquires", scenario.Expect{Outcome: "safe"}, "safe unavailable", 3, []string{"unavailable, first in seed 1: fewer acquires than demanded"}},
	{"an orphan", scenario.Expect{Outcome: "safe"}, "safe orphan", 0, nil},
	{"safe expected", scenario.Expect{Outcome: "safe", May: []string{"lost-update"}}, "safe; violated lost-update", 1, []string{"1 of 2 seeds are violated, expected safe, first in seed 2"}},
	{"inconclusive expected, and so they are", scenario.Expect{Outcome: "inconclusive"}, "inconclusive; inconclusive", 0, nil},
	{"inconclusive expected, and so is one", scenario.Expect{Outcome: "inconclusive"}, "safe; inconclusive", 0, nil},
	{"nothing is known", scenario.Expect{Outcome: "violated", Findings: []string{"lost-update"}}, "inconclusive; inconclusive", 2, []string{"no seed of 1-2 is violated, expected of one at least", "no lost-update was found in any seed of 1-2"}},
	{"one is inconclusive", scenario.Expect{Outcome: "violated"}, "inconclusive; violated", 2, nil},
	{"all failed", scenario.Expect{Outcome: "violated"}, "failed", 70, []string{"no seed of 1-1 is violated, expected of one at least"}},
	{"enough are refused in one", scenario.Expect{Outcome: "safe", Refused: 2}, "safe 1; safe 2", 0, nil},
	{"too few are refused", scenario.Expect{Outcome: "safe", Refused: 3}, "safe 1; safe 2", 1, []string{"the guard refused at most 2 stale operations in a seed of 1-2, expected 3 in one at least"}},
}

func sweepFor(e scenario.Expect, seeds []Seed, shard *results.Shard) *Sweep {
	one := &scenario.Scenario{Name: "s", Guards: []string{"none"}, Expect: map[string]scenario.Expect{"none": e}}
	s := NewSweep([]*scenario.Scenario{one}, func(s *scenario.Scenario) []string { return s.Guards }, results.SeedRange{First: 1, Last: int64(len(seeds))}, shard)
	for i, seed := range seeds {
		if shard == nil || shard.Takes(i) {
			s.Add(seed)
		}
	}
	return s
}

// What is expected of a run is expected of a sweep, but what must be found only of
// one seed. Two shards of it come to the same when they are joined.
func TestSweepExpected(t *testing.T) {
	for _, c := range expected {
		whole := sweepFor(c.e, outcomes(c.seeds), nil)
		why := fmt.Sprint(whole.Judge())
		if whole.ExitCode != c.code || (why == "[]") != (c.says == nil) {
			t.Errorf("%s: exit code %d, expected %d: %s", c.name, whole.ExitCode, c.code, why)
		}
		for _, want := range c.says {
			if !strings.Contains(why, want) {
				t.Errorf("%s: expected %q in %s", c.name, want, why)
			}
		}
		root := t.TempDir()
		for i := range 2 {
			saveShard(t, root, sweepFor(c.e, outcomes(c.seeds), &results.Shard{Index: i, Of: 2}))
		}
		all, err := MergeSweeps(setOf(t, root))
		if err != nil {
			t.Fatal(err)
		}
		if joined := fmt.Sprint(all.Judge()); joined != why || all.ExitCode != c.code {
			t.Errorf("%s: joined, it is %d, %s; expected %d, %s", c.name, all.ExitCode, joined, c.code, why)
		}
	}
}

// A part of a sweep is not held against what another part may show; what must not be
// found must not be in any part.
func TestSweepPartExpected(t *testing.T) {
	e := scenario.Expect{Outcome: "violated", Findings: []string{"lost-update"}}
	for seeds, code := range map[string]int{"safe; safe; safe": 0, "violated stale-write; safe; safe": 1} {
		shard := sweepFor(e, outcomes(seeds), &results.Shard{Index: 0, Of: 2})
		if why := shard.Judge(); shard.ExitCode != code {
			t.Errorf("shard of %q: exit code %d, expected %d: %v", seeds, shard.ExitCode, code, why)
		}
	}
	cut := sweepFor(e, outcomes("safe; safe; safe"), nil)
	cut.Planned++
	if why := cut.Judge(); cut.ExitCode != results.ExitInconclusive || len(why) > 0 {
		t.Errorf("broken off: exit code %d: %v", cut.ExitCode, why)
	}
}
