package checker

import (
	"cmp"
	"slices"

	"lockchaos/history"
)

// effect is one operation at the resource and the position after which it took
// effect.
type effect struct {
	g     *grant
	op    *op
	value int64
	// It took effect between these positions.
	after, before int64

	do history.Do
	ok bool
}

// effects lists what reached the resource: from the ledger, or else from what
// the hosts were told.
func (r *record) effects(l *lock) []effect {
	var all []effect
	if len(r.ledger) > 0 {
		for _, e := range l.counter.entries {
			all = append(all, e.effect())
		}
		return all
	}
	for _, g := range l.grants {
		for _, o := range append(slices.Clone(g.reads), g.writes...) {
			if res := o.result(); res == history.OK || res == history.Refused {
				all = append(all, effect{g, o, o.ret.Value, pos(o.call), pos(o.ret), o.call.Do, res == history.OK})
			}
		}
	}
	slices.SortFunc(all, func(a, b effect) int { return cmp.Compare(a.op.call.Seq, b.op.call.Seq) })
	return all
}

func (e *entry) effect() effect {
	return effect{e.g, e.op, e.ev.Value, e.after, e.before, e.ev.Do, e.ev.Result == history.OK}
}

// superseded is the later grant that had returned before e took effect. A grant
// that came back only when its lease was over was never promised anything: it
// is superseded by whoever was promised the lock at that time, and not the other
// way round.
func (r *record) superseded(e effect) *grant {
	if e.g == nil {
		return nil
	}
	if len(e.g.promise) == 0 {
		if g2 := r.rightful(e); g2 != nil {
			return g2
		}
	}
	g2 := r.successor(e.g, e.after)
	if g2 != nil && len(g2.promise) == 0 && holds(e) {
		return nil
	}
	return g2
}

// rightful is the first grant to which the lock was promised while e took effect.
func (r *record) rightful(e effect) *grant {
	var first *grant
	r.owners[e.g.lock].over(e.after, e.before, func(s *span) bool {
		if g := r.grants[s.g]; first == nil || g.index < first.index {
			first = g
		}
		return true
	})
	return first
}

// staleWrites finds accepted writes of superseded grants.
func (j *judge) staleWrites(l *lock) {
	var top *grant // the latest that an operation has shown to the resource
	shown := map[*grant]bool{}
	for _, e := range j.r.effects(l) {
		if e.ok && e.g != nil && j.r.shows(e) {
			shown[e.g] = true
			if top == nil || e.g.returned() > top.returned() {
				top = e.g
			}
		}
		if e.do != history.Write || !e.ok {
			continue
		}
		if g2 := j.r.superseded(e); g2 != nil {
			j.add(Finding{
				ID: StaleWrite, Lock: l.name, Grants: ids(e.g, g2), unseen: !shown[g2] && (top == nil || !j.r.isLater(top, e.g)),
				Events: seqs(e.g.ret(), g2.ret(), e.op.call, e.op.ret), At: e.op.call.T,
				Words: j.tellStaleWrite(e, g2),
			})
		}
	}
}

// shows says whether an accepted operation lets the guard see its token.
func (r *record) shows(e effect) bool {
	return e.do == history.Write || r.h.Header.Guard == history.GuardFenceRead
}

// lostUpdates finds increments that the counter forgot. The ledger names the
// write that overwrote another; without one, or where it was cut off, a value
// that was returned twice does. What neither names is told as a whole.
func (j *judge) lostUpdates(l *lock) {
	told := func() int { return len(j.found[LostUpdate]) + j.more[LostUpdate] }
	c, n := l.counter, told()
	j.overwrites(l)
	if told() == n && !c.whole {
		j.repeats(l)
	}
	for _, w := range c.unledgered {
		j.add(Finding{
			ID: LostUpdate, Blame: "resource", Lock: l.name, Grants: []int64{w.grant()}, Count: max(c.missing(), 1),
			Events: seqs(w.call, w.ret), At: w.ret.T, Words: j.tellUnledgered(w),
		})
	}
	if told() == n {
		j.unexplained(l)
	}
}

func (j *judge) overwrites(l *lock) {
	c := l.counter
	var above *entry
	for _, e := range c.entries {
		if !e.accepted() {
			continue
		}
		if e.ev.Value != e.ev.Before+1 || above != nil && e.ev.Before != above.ev.Value {
			f := Finding{ID: LostUpdate, Lock: l.name, Count: c.missing(), Events: seqs(e.op.call, e.op.ret, e.ev), At: e.op.call.T}
			if above != nil {
				f.Events = seqs(above.op.ret, e.op.call, e.op.ret, above.ev, e.ev)
				f.Grants = append(f.Grants, above.op.grant())
			}
			f.Grants = append(f.Grants, e.op.grant())
			f.Words = j.tellOverwrite(above, e, f.Count)
			j.add(f)
		}
		above = e
	}
}

func (j *judge) repeats(l *lock) {
	c := l.counter
	first := map[int64]*op{}
	for _, s := range c.steps { // in the order of their returns
		o, ok := first[s.key]
		if !ok {
			first[s.key] = s.op
			continue
		}
		j.add(Finding{
			ID: LostUpdate, Lock: l.name, Grants: []int64{o.grant(), s.op.grant()}, Count: c.missing(),
			Events: seqs(o.ret, s.op.ret), At: s.op.call.T, Words: j.tellRepeat(o, s, c.missing()),
		})
	}
}

// unexplained tells of a counter that is wrong where no write is known to be.
func (j *judge) unexplained(l *lock) {
	c := l.counter
	missing := c.missing()
	if missing == 0 && ordered(c.steps, true) {
		return
	}
	f := Finding{ID: LostUpdate, Lock: l.name, Count: missing, At: j.r.end().t, Events: seqs(c.final)}
	if n := len(c.steps); n > 0 && c.final == nil {
		f.Events = seqs(c.steps[n-1].op.ret)
	}
	f.Words = j.tellUnexplained(c, missing)
	j.add(f)
}

// counts adds up the run.
func (r *record) counts() Counts {
	var n Counts
	for _, o := range r.ops {
		if o.result() == history.Unknown {
			n.Unknown++
		}
		if o.call.Do == history.Acquire && o.ret != nil {
			n.Acquires++
		}
	}
	n.Grants = len(r.grants)
	for _, l := range r.locks {
		for _, e := range r.effects(l) {
			switch {
			case e.ok && e.do == history.Write:
				n.Writes++
			case !e.ok:
				n.Refused++
				if r.superseded(e) != nil {
					n.Stale++
				}
			}
		}
		n.Acked += l.counter.acked
		n.Increment += int64(len(l.counter.steps) - l.counter.filled)
		if l.counter.final != nil {
			n.Final += l.counter.final.Value
		}
	}
	return n
}
