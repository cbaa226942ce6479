package checker

import (
	"lockchaos/history"
)

// foreign finds releases and extends that hit the lock of another: it was
// promised to that other all the time from call to return.
func (j *judge) foreign(l *lock) {
	c := newCovers(l.promises)
	for _, g := range l.grants {
		for _, o := range g.releases {
			if v := j.victim(c, g, o); v != nil {
				if _, ok := j.released[v.index]; !ok {
					j.released[v.index] = pos(o.call)
				}
				j.addForeign(ForeignRelease, l, g, v, o)
			} else if v := j.overtakenBy(c, g, o); v != nil && !g.promisedUntil(pos(o.call)) {
				j.brushed[v.index] = pos(o.call)
			}
		}
		for _, o := range g.extends {
			v := j.victim(c, g, o)
			if v == nil {
				v = j.prolongedUnseen(l, c, g, o)
			}
			if v != nil {
				j.prolonged[o] = true
				j.addForeign(ForeignExtend, l, g, v, o)
			}
		}
	}
}

// victim is the grant that the successful operation o of g must have hit.
func (j *judge) victim(c covers, g *grant, o *op) *grant {
	// Where there are two masters, each has a lock of its own.
	return j.during(c, g, o, o.call, func(v *grant) bool { return j.r.cause(g, v) != CauseSplit })
}

// overtakenBy is the grant whose host got the lock while the successful operation o
// of g was under way, and held it when that returned. A release may have come before
// it, and hit nobody.
func (j *judge) overtakenBy(c covers, g *grant, o *op) *grant {
	return j.during(c, g, o, o.ret, func(v *grant) bool { return v.returned() > pos(o.call) })
}

// during is the grant after g that was promised to its host all the time from an
// event to the return of o, if o was successful, and of which hit holds.
func (j *judge) during(c covers, g *grant, o *op, from *history.Event, hit func(*grant) bool) *grant {
	if o.result() != history.OK {
		return nil
	}
	var v *grant
	c.over(pos(from), pos(o.ret), func(s *span) bool {
		if other := j.r.grants[s.g]; other.follows(g) && hit(other) {
			v = other
		}
		return v == nil
	})
	return v
}

// prolongedUnseen is the grant that the extend o of g must have hit though it was
// called before the other host had the lock: had it come first, it would have
// prolonged the lock of g past the moment at which the other got it. So it came when
// g had none any more, whoever had it then. That holds where nothing was done by
// which a server gives a lock away before its time.
func (j *judge) prolongedUnseen(l *lock, c covers, g *grant, o *op) *grant {
	if o.result() != history.OK {
		return nil
	}
	for _, other := range l.after(pos(o.call)) {
		released := len(g.releases) > 0 && pos(g.releases[0].call) < other.returned() // after its extend, it may be
		if released || other.returned() >= pos(o.ret) || other.got() >= o.call.T+j.r.h.Header.TTL {
			return nil
		}
		if other.follows(g) && j.r.cause(g, other) == "" {
			if v := j.overtakenBy(c, g, o); v != nil {
				return v
			}
			return other
		}
	}
	return nil
}

func (j *judge) addForeign(id string, l *lock, g, v *grant, o *op) {
	j.add(Finding{
		ID: id, Lock: l.name, Grants: ids(g, v), Events: seqs(g.ret(), v.ret(), o.call, o.ret), At: o.ret.T,
		Words: j.tellForeign(g, v, o),
	})
}

// earlyLosses finds grants whose host was told of a loss while the lease still
// ran. A reply after the lease, or after the host's own release, tells of no
// fault.
func (j *judge) earlyLosses(l *lock) {
	for _, g := range l.grants {
		d := j.firstDenial(g)
		if d == nil || j.overtaken[g.index] { // told with the double grant
			continue
		}
		confirmed := g.acq
		for _, o := range g.extends {
			if o.result() == history.OK && o.ret.Seq < d.ret.Seq && o.ret.Seq > confirmed.ret.Seq {
				confirmed = o
			}
		}
		f := Finding{
			ID: SilentLoss, Blame: "lock service", Lock: l.name, Grants: ids(g),
			Events: seqs(g.ret(), confirmed.ret, d.ret), At: d.ret.T, Lasted: d.ret.T - confirmed.ret.T,
		}
		if at, ok := j.released[g.index]; ok && at < pos(d.ret) {
			f.Cause, f.Blame = CauseForeignRelease, "library"
		}
		f.Words = j.tellEarlyLoss(g, confirmed, d)
		j.add(f)
	}
}

// firstDenial is the operation by which the host of g first learned of its
// loss, if that shows that the lock service lost it.
func (j *judge) firstDenial(g *grant) *op {
	var d *op
	for _, o := range g.denials() {
		if d == nil || o.ret.Seq < d.ret.Seq {
			d = o
		}
	}
	switch {
	case d == nil || g.lost != nil && g.lost.Seq < d.ret.Seq:
		return nil
	case len(g.releases) > 0 && d.ret.Seq > g.releases[0].call.Seq:
		// Its own release may have freed it, and one that says so itself may be
		// the second that the client has sent, after the reply to the first was lost.
		return nil
	case d.call.Do == history.Check && gaveUp(g, d):
		return nil
	}
	for _, s := range j.r.owed(g) {
		if s.start < pos(d.ret) && pos(d.ret) < s.end {
			return d
		}
	}
	return nil
}

// gaveUp says whether the host may have stopped believing on its own account:
// an extend had failed before it was asked.
func gaveUp(g *grant, check *op) bool {
	for _, o := range g.extends {
		if res := o.result(); (res == history.Failed || res == history.Unknown) && o.call.Seq < check.ret.Seq {
			return true
		}
	}
	return false
}

// reacquires finds extends that took a lock back which another had held since
// it was last confirmed.
func (j *judge) reacquires(l *lock) {
	for _, g := range l.grants {
		confirmed := g.acq
		for _, e := range byReturn(g.extends) {
			if e.result() != history.OK {
				continue
			}
			if h := j.heldBetween(l, g, confirmed, e); h != nil {
				j.add(Finding{
					ID: SilentReacquire, Lock: l.name, Grants: ids(g, h),
					Events: seqs(g.ret(), h.ret(), e.ret), At: e.ret.T, Words: j.tellReacquire(g, h, e),
				})
			}
			confirmed = e
		}
	}
}

// heldBetween is a grant that was given out definitely after g was confirmed
// and before e was called, and is no longer promised; nil if g had been told.
func (j *judge) heldBetween(l *lock, g *grant, confirmed, e *op) *grant {
	if told := g.learned(0); told != nil && told.Seq < e.ret.Seq {
		return nil
	}
	for _, h := range l.after(pos(confirmed.ret)) {
		if h.returned() > pos(e.call) {
			break
		}
		if h != g && h.called() > pos(confirmed.ret) && !promisedAt(h, pos(e.ret)) {
			return h
		}
	}
	return nil
}

func promisedAt(g *grant, p int64) bool {
	for _, s := range g.promise {
		if s.start <= p && p < s.end {
			return true
		}
	}
	return false
}
