package scenario

import (
	"slices"

	"lockchaos/faults"
	"lockchaos/history"
)

// needsDefault asks of a scenario with faults, where its author does not say how
// much, that the lock was tried under a fault that lasts, and granted after the last:
// a fault that nobody meets proves nothing. What is written counts, a zero too.
func (s *Scenario) needsDefault(w written) {
	if len(s.Faults) == 0 && s.Hammer == nil {
		return
	}
	w.fill(&s.Needs.After.Grants, "needs.after.grants", 1)
	if slices.ContainsFunc(s.Faults, heals) {
		w.fill(&s.Needs.During.Attempts, "needs.during.attempts", 1)
	}
}

func heals(f faults.Spec) bool {
	kind, ok := faults.Find(f.Kind)
	return ok && (kind.Heals || f.Down > 0) && !f.Optional
}

// needsEachDefault asks, where the author does not say how much, that around each
// fault there was something that it could change: a grant before it, an acquire under
// way while it lasted, a grant after it. A scenario whose faults are all optional,
// as those that a hammer draws, is a search, and not asked.
func (s *Scenario) needsEachDefault(w written) {
	if !slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return !f.Optional }) {
		return
	}
	w.fill(&s.NeedsEach.During.Attempts, "needs_each.during.attempts", 1)
	w.fill(&s.NeedsEach.After.Grants, "needs_each.after.grants", 1)
	if !slices.ContainsFunc(s.Faults, fromTheOutset) {
		w.fill(&s.NeedsEach.Before.Grants, "needs_each.before.grants", 1)
	}
}

// fromTheOutset tells that a fault may well begin before any lock is granted.
func fromTheOutset(f faults.Spec) bool {
	if f.From.Timed {
		return f.From.At == 0
	}
	p := f.From.Point
	return p.Before && p.Do == history.Acquire && p.Nth == 1
}

// validatePhases refuses what nothing can be fewer than.
func validatePhases(path string, p history.Phases) *problem {
	for _, phase := range []struct {
		name string
		history.Ops
	}{{"before", p.Before}, {"during", p.During}, {"after", p.After}} {
		at := path + "." + phase.name
		if p := first(
			must(phase.Attempts >= 0, at+".attempts", "%d, expected 0 or more", phase.Attempts),
			must(phase.Grants >= 0, at+".grants", "%d, expected 0 or more", phase.Grants),
		); p != nil {
			return p
		}
	}
	return nil
}
