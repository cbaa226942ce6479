package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// stall is a time in which a host stood still with nothing done to it, or, without
// a host, the harness.
type stall struct {
	host     string
	from, to time.Duration
}

// stalls lists them. What lasted up to a third of the TTL leaves a holder its time
// and is none. In a run on real servers to which nothing was done, a host that took
// longer than that for an answer was kept waiting by the machine, too.
func (r *record) stalls() []stall {
	third := r.h.Header.TTL / 3
	var list []stall
	working := false // a host that was late before the first step was in nobody's way
	for i := range r.h.Events {
		e := &r.h.Events[i]
		working = working || e.Kind == history.Call
		if e.Kind == history.Stall && working && time.Duration(e.Value) > third && !r.paused(e) {
			list = append(list, stall{e.Host, max(0, e.T-time.Duration(e.Value)), e.T})
		}
	}
	if len(r.faults) > 0 || r.h.Header.World == "sim" {
		return list
	}
	for _, o := range r.ops {
		if o.ret != nil && o.took() > third {
			list = append(list, stall{o.call.Host, o.call.T, o.ret.T})
		}
	}
	return list
}

// paused says whether a fault had stopped the host that stood still. It may have
// been late by itself, too: nobody knows.
func (r *record) paused(e *history.Event) bool {
	return slices.ContainsFunc(r.faults, func(f *fault) bool {
		return f.name == "pause-host" && slices.Contains(f.targets, e.Host) && f.start != nil && f.start.T <= e.T &&
			(f.over.Fault.Step != history.FaultHealed || f.over.T >= e.T-time.Duration(e.Value))
	})
}

// longest is how long the longest of them was.
func longest(stalls []stall) time.Duration {
	var most time.Duration
	for _, s := range stalls {
		most = max(most, s.to-s.from)
	}
	return most
}

// blamed marks the findings that stalls explain: a holder who was late, with what
// came of that where no guard was to prevent it, and acquires that were missing.
// What a lock service, a library or a guard did no lateness explains: the promise of
// a lock counts from the call that asked for it.
func (j *judge) blamed(findings []Finding, stalls []stall) {
	for i := range findings {
		f := &findings[i]
		switch f.ID {
		case Unavailable:
			f.Late = len(stalls) > 0
		case StaleHolder, StaleWrite, LostUpdate:
			f.Late = (f.ID == StaleHolder || j.r.h.Header.Guard == history.GuardNone) && j.late(f, stalls)
		}
	}
}

// late says whether a stall lies between the first of the acquires that a finding is
// about and its end, of the harness or of one of their hosts, and none of them had
// the lock taken from it while it was promised.
func (j *judge) late(f *Finding, stalls []stall) bool {
	from, hosts := f.At, map[string]bool{"": true}
	for _, g := range j.r.grants {
		if !slices.Contains(f.Grants, g.id()) {
			continue
		}
		if j.overtaken[g.index] {
			return false
		}
		from, hosts[g.host] = min(from, g.acq.call.T), true
	}
	return slices.ContainsFunc(stalls, func(s stall) bool {
		return len(hosts) > 1 && hosts[s.host] && s.from <= f.At+f.Lasted && s.to >= from
	})
}
