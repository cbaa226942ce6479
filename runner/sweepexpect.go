package runner

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockchaos/checker"
	"lockchaos/scenario"
)

// Differences say in what a tally of the sweep is not as its scenario expects.
// What must not be found must not be in any seed. What must be found need not be in
// each, as its seed may not draw the fault for it, but must be in one: that is only
// asked of a sweep that is whole.
func (s *Sweep) Differences(t *Tally) []scenario.Difference {
	all := t.surplus()
	if s.whole() {
		all = append(all, s.missing(t)...)
	}
	return all
}

// whole tells that nothing of the sweep is elsewhere or was never done.
func (s *Sweep) whole() bool { return (s.Shard == nil || s.Shard.Of == 1) && s.Done == s.Planned }

// surplus is what was found and is not expected, by the rules for a single run.
func (t *Tally) surplus() []scenario.Difference {
	var all []scenario.Difference
	for _, name := range slices.Sorted(maps.Keys(t.Kinds)) {
		k := t.Kinds[name]
		id, cause, _ := strings.Cut(name, "/")
		d, surplus := t.Expect.Unexpected(checker.Finding{ID: id, Cause: cause, Contained: k.Contained})
		if !surplus {
			continue
		}
		seed := k.First.Seed
		if k.FirstLoose != nil && !t.never(name) { // held by the guard, it did not count
			seed = *k.FirstLoose
		}
		d.Text = fmt.Sprintf("%s, first in seed %d: %s", name, seed, d.Text)
		all = append(all, d)
	}
	if t.Expect.Outcome == string(checker.Safe) && t.Violated > 0 {
		text := fmt.Sprintf("%d of %d seeds are violated, expected safe", t.Violated, t.Seeds)
		if t.FirstViolated != nil {
			text += fmt.Sprintf(", first in seed %d", t.FirstViolated.Seed)
		}
		all = append(all, scenario.Difference{Kind: scenario.Safety, Text: text})
	}
	return all
}

// never tells that a kind must not be found even where the guard held it.
func (t *Tally) never(kind string) bool {
	id, _, _ := strings.Cut(kind, "/")
	return slices.Contains(t.Expect.Never, id) || slices.Contains(t.Expect.Never, kind)
}

// missing is what is expected and was in none of the seeds.
func (s *Sweep) missing(t *Tally) []scenario.Difference {
	e := t.Expect
	kind := scenario.Safety
	if t.Safe+t.Violated == 0 { // what is not there was not shown to be missing
		kind = scenario.Proof
	}
	var all []scenario.Difference
	add := func(format string, args ...any) {
		all = append(all, scenario.Difference{Kind: kind, Text: fmt.Sprintf(format, args...)})
	}
	none := e.Outcome == string(checker.Violated) && t.Violated == 0 ||
		e.Outcome == string(checker.Inconclusive) && t.Inconclusive == 0
	if none {
		add("no seed of %s is %s, expected of one at least", s.Seeds, e.Outcome)
	}
	for _, want := range e.Findings {
		if !t.has(want) {
			add("no %s was found in any seed of %s, expected in one at least", want, s.Seeds)
		}
	}
	if t.MostRefused < e.Refused {
		add("the guard refused at most %d stale operations in a seed of %s, expected %d in one at least", t.MostRefused, s.Seeds, e.Refused)
	}
	return all
}

// has tells that a finding, with a cause or without, was in one of the seeds.
func (t *Tally) has(want string) bool {
	for kind := range t.Kinds {
		if kind == want || strings.HasPrefix(kind, want+"/") {
			return true
		}
	}
	return false
}
