package scenario

import (
	"slices"

	"lockchaos/faults"
	"lockchaos/history"
)

// needsEachDefault asks, where the author asks nothing, that around each fault
// there was something that it could change: a grant before it, an acquire under
// way while it lasted, a grant after it. A scenario whose faults are all optional,
// as those that a hammer draws, is a search, and not asked.
func (s *Scenario) needsEachDefault() {
	asked := slices.ContainsFunc(s.Faults, func(f faults.Spec) bool { return !f.Optional })
	if s.NeedsEach != (history.Phases{}) || !asked {
		return
	}
	s.NeedsEach = history.Phases{During: history.Ops{Attempts: 1}, After: history.Ops{Grants: 1}}
	if !slices.ContainsFunc(s.Faults, fromTheOutset) {
		s.NeedsEach.Before.Grants = 1
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
