package checker

import (
	"slices"
	"strings"

	"lockchaos/history"
)

// fault is one fault of the run, from its steps.
type fault struct {
	id, name string
	how      string
	targets  []string
	start    *history.Event // nil if it never began
	proved   *history.Event
	heal     *history.Event
	over     *history.Event // its last step
	bad      []*history.Event
	steps    []*history.Event // all, in order
}

func (r *record) addFault(e *history.Event) error {
	if e.Fault == nil {
		return &MalformedError{e.Seq, "a fault without its step"}
	}
	i := slices.IndexFunc(r.faults, func(f *fault) bool { return f.id == e.Fault.ID })
	if i < 0 {
		i = len(r.faults)
		r.faults = append(r.faults, &fault{id: e.Fault.ID, name: e.Fault.Name, how: e.Fault.How})
	}
	r.faults[i].step(e)
	return nil
}

func (f *fault) step(e *history.Event) {
	if len(e.Fault.Targets) > 0 {
		f.targets = e.Fault.Targets
	}
	switch e.Fault.Step {
	case history.FaultStart:
		if f.start == nil {
			f.start = e
		}
	case history.FaultProved:
		if f.proved == nil {
			f.proved = e
		}
	case history.FaultHeal:
		f.heal = e
	case history.FaultUnproved, history.FaultError, history.FaultMissed:
		f.bad = append(f.bad, e)
	}
	f.over, f.steps = e, append(f.steps, e)
}

// targets are what a fault was done to, which its first step may not know yet.
func (r *record) targets(id string) []string {
	i := slices.IndexFunc(r.faults, func(f *fault) bool { return f.id == id })
	return r.faults[i].targets
}

// until is the last event at which the fault may have acted: its healing, or
// the proof of one that has no healing. One whose healing did not end acts to
// the end of the run.
func (f *fault) until(r *record) int64 {
	if f.heal != nil && f.over.Fault.Step != history.FaultHealed {
		return r.last()
	}
	return pos(f.over)
}

// acted says whether the fault was at work somewhere in [from, to].
func (f *fault) acted(r *record, from, to int64) bool {
	return f.start != nil && pos(f.start) <= to && f.until(r) >= from
}

// struck is when the fault did its harm. A loss of power does it at its end.
func (f *fault) struck() *history.Event {
	if f.name == "power-loss" && f.proved != nil {
		return f.proved
	}
	return f.start
}

// killer is the fault that explains the exit of a host; nil if none does. A
// fault explains one exit: that of the process that it found running.
func (r *record) killer(x *history.Event) *fault {
	var since int64
	for _, o := range r.exits {
		if o.Host == x.Host && o.Seq < x.Seq {
			since = o.Seq
		}
	}
	for _, f := range r.faults {
		if f.name == "kill-host" && f.start != nil && slices.Contains(f.targets, x.Host) &&
			since < f.start.Seq && f.start.Seq < x.Seq {
			return f
		}
	}
	return nil
}

// period is when faults were at work: from the start of the first to the end
// of the last. The time between two faults counts as during, too: whether the
// first has worn off is what a run is there to find out.
func (r *record) period() (from, to int64, ok bool) {
	for _, f := range r.faults {
		if f.start == nil {
			continue
		}
		if !ok || pos(f.start) < from {
			from = pos(f.start)
		}
		to, ok = max(to, f.until(r)), true
	}
	return from, to, ok
}

// phases counts the acquires: before and after by their answers, during by what was
// under way. One that waited for the end of the last fault is both during and after:
// whether its answer is seen just before or just after that end is chance.
func (r *record) phases() history.Phases {
	var p history.Phases
	from, to, faulty := r.period()
	for _, o := range r.ops {
		if o.call.Do != history.Acquire {
			continue
		}
		if faulty && pos(o.call) <= to && (o.ret == nil || pos(o.ret) > from) {
			p.During.Attempts++
		}
		if o.ret == nil {
			continue
		}
		granted := 0
		if o.result() == history.OK {
			granted = 1
		}
		switch at := pos(o.ret); {
		case faulty && at > to:
			p.After.Attempts++
			p.After.Grants += granted
		case faulty && at > from:
			p.During.Grants += granted
		default:
			p.Before.Attempts++
			p.Before.Grants += granted
		}
	}
	return p
}

var stateLoss = []string{
	"crash-node", "restart-node", "power-loss", "failover", "flush", "evict", "cut-replication",
}

// between is from where on a fault may have brought about that both g1 and g2
// were promised the lock. What happened before the lease of g1 was last confirmed
// did it no harm; the votes of g2 were gathered from its call on.
func between(g1, g2 *grant) int64 { return min(g1.confirmed(g2.returned()), g2.called()) }

// cause guesses from the faults why two promises overlapped.
func (r *record) cause(g1, g2 *grant) string {
	from := between(g1, g2)
	struck := func(names ...string) bool {
		return slices.ContainsFunc(r.faults, func(f *fault) bool {
			return slices.Contains(names, f.name) && f.acted(r, from, g2.returned())
		})
	}
	struckBefore := func() bool {
		return slices.ContainsFunc(r.faults, func(f *fault) bool { return f.acted(r, 0, g2.returned()) })
	}
	isolated := slices.ContainsFunc(r.faults, func(f *fault) bool {
		return f.name == "failover" && f.how == "isolate" && f.acted(r, from, g2.returned())
	})
	switch {
	case isolated || struck("partition") && struck("failover"), r.failsOver() && g1.heldAt(g2.returned()):
		return CauseSplit
	case struck(stateLoss...):
		return CauseStateLoss
	case struck("clock-jump", "clock-rate"):
		return CauseEarlyExpiry
	case r.failsOver() && struckBefore():
		return CauseStateLoss
	case struck("hold", "delay"):
		return CauseStaleMessage
	}
	return ""
}

// failsOver says whether the lock is kept by a master whom Sentinels replace, for
// whatever reason: it needs no fault of that name, a stopped master or a cut link
// will do. One server compares the owner before it deletes or prolongs a lock, so
// that a late message takes nothing from anybody: two owners have two masters.
func (r *record) failsOver() bool { return r.h.Header.System == "sentinel" }

// explaining are the faults that can bring about a cause.
var explaining = map[string][]string{
	CauseStateLoss:    stateLoss,
	CauseEarlyExpiry:  {"clock-jump", "clock-rate"},
	CauseSplit:        {"failover", "partition"},
	CauseStaleMessage: {"hold", "delay"},
}

// culprits are the faults that explain a cause, of those at work in [from, to]:
// the last to begin, as what had gone before it had done no such harm. A failover
// has forgotten what the replicas were cut off from: both are named then.
func (r *record) culprits(cause string, from, to int64) []*fault {
	last := r.lastOf(explaining[cause], from, to)
	if cause == CauseSplit && last == nil { // a master that Sentinels do not hear is replaced
		last = r.lastOf([]string{"hold", "delay", "pause-node", "crash-node"}, from, to)
		if last != nil && last.hits(r.isHost) {
			last = nil
		}
	}
	if last == nil {
		return nil
	}
	if cause == CauseStateLoss && last.name == "failover" {
		if cut := r.lastOf([]string{"cut-replication"}, from, pos(last.start)); cut != nil {
			return []*fault{cut, last}
		}
	}
	return []*fault{last}
}

// lastOf is the last to begin of the faults of such names that acted in [from, to].
func (r *record) lastOf(names []string, from, to int64) *fault {
	var last *fault
	for _, f := range r.faults {
		if slices.Contains(names, f.name) && f.acted(r, from, to) && (last == nil || f.start.Seq > last.start.Seq) {
			last = f
		}
	}
	return last
}

// delaying are the faults that can keep a host, or its messages, until its lease is over.
var delaying = []string{
	"pause-host", "kill-host", "partition", "hold", "delay", "reset", "slow", "pause-node", "crash-node", "restart-node", "power-loss", "read-only", "failover",
}

// delayed is the fault to be told of a holder who went on, or of whom something
// came too late: what stopped it, or else what was done to its links, or else to no
// host at all. Of several it is the one at work when the lease ended; nil where
// that says not which, as none is better than a wrong one.
func (r *record) delayed(g *grant, from, to int64) *fault {
	end := to
	if n := len(g.promise); n > 0 {
		end = min(g.promise[n-1].end, to)
	}
	var own, links, others []*fault
	for _, f := range r.faults {
		switch {
		case !slices.Contains(delaying, f.name) || !f.acted(r, from, to) || pos(f.struck()) > to:
		case slices.Contains(f.targets, g.host):
			own = append(own, f)
		case f.hits(func(h string) bool { return h == g.host }):
			links = append(links, f)
		case !f.hits(r.isHost):
			others = append(others, f)
		}
	}
	for _, some := range [][]*fault{own, links, others} {
		if len(some) == 0 {
			continue
		}
		if len(some) > 1 {
			some = slices.DeleteFunc(some, func(f *fault) bool { return !f.acted(r, end, end) })
		}
		if len(some) == 1 {
			return some[0]
		}
		return nil
	}
	return nil
}

// lost is the fault to be told of a lock that was gone before its time: the last
// to begin of those that make a server forget it, or end it too early.
func (r *record) lost(from, to int64) *fault {
	return r.lastOf(append([]string{"clock-jump", "clock-rate"}, stateLoss...), from, to)
}

// hits says whether a target, or the near end of one that is a link, is such a host.
func (f *fault) hits(such func(string) bool) bool {
	return slices.ContainsFunc(f.targets, func(t string) bool {
		near, _, _ := strings.Cut(t, ">")
		return such(near)
	})
}

func (r *record) isHost(name string) bool { return r.hosts[name] }
