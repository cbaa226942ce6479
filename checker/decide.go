package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"lockchaos/history"
)

// IDs are all findings, in the order in which they are told.
func IDs() []string {
	return []string{
		DoubleGrant, StaleHolder, StaleWrite, LostUpdate, TokenRegression, ForeignRelease, ForeignExtend,
		SilentLoss, SilentReacquire, RefusedHolder, Orphan, Wedge, Unavailable, NoConclusion,
	}
}

// Safety says whether a finding is about safety. The others are about liveness
// or about the run itself, and never make a run violated.
func Safety(id string) bool {
	switch id {
	case RefusedHolder, Orphan, Wedge, Unavailable, NoConclusion:
		return false
	}
	return true
}

// Decides says whether a finding makes a run violated under a guard. A guard
// answers for the resource behind it, and the lock is then allowed to fail as
// long as the guard holds:
//
//	none               every safety finding
//	fence, fence-…     stale-write, lost-update, token-regression
//	version, atomic    lost-update
//
// A stale write that comes before any newer token has come to the resource is
// no failure of a fence: it takes effect before all that the new holder does
// there. Where that is not so, as with a fence on writes alone after the new
// holder's read, a lost update tells.
func Decides(guard, id string) bool {
	if history.Fenced(guard) {
		return id == StaleWrite || id == LostUpdate || id == TokenRegression
	}
	switch guard {
	case history.GuardVersion, history.GuardAtomic:
		return id == LostUpdate
	}
	return Safety(id)
}

// lockFault says whether a finding is about the lock, not the resource.
func lockFault(id string) bool { return Safety(id) && id != StaleWrite && id != LostUpdate }

// blame is whose fault a finding is, where nothing more is known.
func blame(id, guard string) string {
	switch id {
	case DoubleGrant, TokenRegression, RefusedHolder:
		return "lock service"
	case StaleHolder:
		return "holder"
	case StaleWrite:
		return "resource"
	case LostUpdate:
		if guard != history.GuardNone && guard != "" {
			return "guard"
		}
		return "resource"
	case Unavailable:
		return "lock service"
	case Wedge:
		return "operator"
	case NoConclusion:
		return "harness"
	}
	return "library"
}

// decide draws the outcomes from findings and reasons. Evidence is evidence: a
// run that is violated stays so, however little else it proves; but what hosts
// claim that cannot be believed is no evidence of anything.
func (v *Verdict) decide(guard string, disbelieved bool) {
	open := Safe
	if len(v.Reasons) > 0 {
		open = Inconclusive
	}
	v.Outcome, v.Lock, v.Resource = open, open, open
	for i := range v.Findings {
		f := &v.Findings[i]
		decides := Decides(guard, f.ID) && !(f.unseen && history.Fenced(guard))
		f.Contained = Safety(f.ID) && !decides
		if decides {
			v.Outcome = Violated
		}
		if lockFault(f.ID) {
			v.Lock = Violated
		}
		if decides && !lockFault(f.ID) {
			v.Resource = Violated
		}
	}
	if disbelieved {
		v.Outcome, v.Lock, v.Resource = Inconclusive, Inconclusive, Inconclusive
	}
}

// settle puts the findings in their order, and adds one for those of each kind
// that are not told one by one.
func (j *judge) settle() []Finding {
	all := []Finding{}
	for _, id := range IDs() {
		var told, rest []Finding
		for _, kind := range slices.Sorted(maps.Keys(j.found)) {
			fs := j.found[kind]
			if fs[0].ID != id {
				continue
			}
			told = append(told, fs...)
			if n := j.more[kind]; n > 0 {
				rest = append(rest, remainder(fs, n))
			}
		}
		slices.SortStableFunc(told, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.At, b.At), slices.Compare(a.Events, b.Events), slices.Compare(a.Grants, b.Grants))
		})
		all = append(append(all, told...), rest...)
	}
	return all
}

// remainder stands for n findings that are like these, and not told.
func remainder(fs []Finding, n int) Finding {
	first := fs[0]
	latest := slices.MaxFunc(fs, func(a, b Finding) int { return cmp.Compare(a.At, b.At) })
	return Finding{
		ID: first.ID, Cause: first.Cause, Blame: first.Blame, At: latest.At, Count: n, More: n,
		Words: fmt.Sprintf("and %d more like these, which are counted and not told one by one", n),
	}
}
