package checker

import (
	"slices"
	"sort"

	"lockchaos/history"
)

// around counts the acquires around each fault that took effect.
func (r *record) around() []FaultOps {
	var calls, answers, grants []int64 // positions, in order
	for _, o := range r.ops {
		if o.call.Do != history.Acquire {
			continue
		}
		calls = append(calls, pos(o.call))
		if o.ret == nil {
			continue
		}
		answers = append(answers, pos(o.ret))
		if o.result() == history.OK {
			grants = append(grants, pos(o.ret))
		}
	}
	for _, list := range [][]int64{calls, answers, grants} {
		slices.Sort(list)
	}
	var all []FaultOps
	for _, f := range r.faults {
		if f.start == nil || f.proved == nil {
			continue
		}
		from, to := pos(f.start), f.until(r)
		f := FaultOps{ID: f.id, Name: f.name, Lasts: f.heal != nil}
		f.Before = history.Ops{Attempts: upTo(answers, from), Grants: upTo(grants, from)}
		f.During = history.Ops{Attempts: upTo(calls, to) - f.Before.Attempts, Grants: upTo(grants, to) - f.Before.Grants}
		f.After = history.Ops{Attempts: len(answers) - upTo(answers, to), Grants: len(grants) - upTo(grants, to)}
		all = append(all, f)
	}
	return all
}

// upTo counts the positions of a sorted list that are not after p.
func upTo(list []int64, p int64) int {
	return sort.Search(len(list), func(i int) bool { return list[i] > p })
}

// doubtMeetings asks whether each fault had something to change: before it,
// while it lasted, and after it.
func (j *judge) doubtMeetings() {
	n := j.r.h.Header.NeedsEach
	for _, f := range j.around {
		for _, x := range []struct {
			when      string
			got, want history.Ops
		}{{"answered before", f.Before, n.Before}, {"under way during", f.During, n.During}, {"answered after", f.After, n.After}} {
			if x.when == "under way during" && !f.Lasts {
				continue
			}
			if x.when == "answered after" && j.wedged() {
				x.want.Grants = 0
			}
			if x.got.Attempts < x.want.Attempts || x.got.Grants < x.want.Grants {
				j.doubt(nil, "too few acquires %s fault %s (%s): %d, of which %d granted; the scenario needs %d and %d",
					x.when, f.ID, f.Name, x.got.Attempts, x.got.Grants, x.want.Attempts, x.want.Grants)
			}
		}
	}
}
