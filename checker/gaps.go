package checker

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"lockchaos/history"
)

// gap is a time in which nobody believed that they hold a lock and nobody
// living was promised it.
type gap struct {
	from   edge
	ended  []*span // what ended where the gap begins
	next   *grant  // whose grant ends it; nil at the end of the run
	before int64   // the position at which the hold before it began
}

// gaps finds locks that nobody held and nobody could get. That alone is what a
// busy lock looks like; it is an orphan only after a grant, or an acquire,
// that ended badly.
func (j *judge) gaps(l *lock) {
	for _, g := range j.r.findGaps(l) {
		bad, why, by := j.r.badEnd(l, g)
		var refused []*op
		if why != "" {
			refused = j.r.refusals(l, g, bad)
		}
		wedged := j.r.wedges(l, g, bad, refused)
		if !wedged && g.next == nil { // what ended badly may have come long after it
			if all := j.r.refusals(l, g, g.from); j.r.wedges(l, g, g.from, all) {
				bad, why, by, refused, wedged = g.from, "by all that is known it was free", 0, all, true
			}
		}
		if len(refused) > 0 {
			j.addGap(l, g, bad, why, by, refused, wedged)
		}
	}
}

// wedges says whether a gap has no end: nobody got the lock for more than two TTLs
// until the end of the run, however often they asked. A fault that still acts, on a
// server's clock say, may be all that keeps it: that time does not count. Nor does
// what came before an acquire of which nobody knows how it ended: it may have left
// a key that lives for a TTL, as all before it may have.
func (r *record) wedges(l *lock, g gap, bad edge, refused []*op) bool {
	if g.next != nil || len(refused) < 3 {
		return false
	}
	since := bad
	if _, to, faulty := r.period(); faulty && to > since.pos {
		since = edge{to, r.timeOf(to), nil}
	}
	returned := func(p int64) func(*op) bool { return func(o *op) bool { return pos(o.ret) > p } }
	for {
		refused = from(refused, returned(since.pos))
		later := from(l.vague, returned(since.pos))
		n := len(refused)
		if len(later) > 0 {
			n -= len(from(refused, returned(pos(later[0].ret))))
		}
		if n >= 3 && refused[n-1].ret.T-since.t > 2*r.h.Header.TTL {
			return true
		}
		if len(later) == 0 {
			return false
		}
		since = at(later[0].ret)
	}
}

// from is the rest of a list from the first of which a condition holds, as it does
// of all after it.
func from(ops []*op, holds func(*op) bool) []*op {
	return ops[sort.Search(len(ops), func(i int) bool { return holds(ops[i]) }):]
}

func (j *judge) addGap(l *lock, g gap, bad edge, why string, by int64, refused []*op, wedged bool) {
	last := refused[len(refused)-1]
	f := Finding{
		ID: Orphan, Lock: l.name, At: bad.t, Lasted: last.ret.T - bad.t, Count: len(refused),
		Events: seqs(bad.ev, refused[0].ret, last.ret),
	}
	if by > 0 {
		f.Grants = []int64{by}
	}
	switch {
	case g.next != nil:
		f.Lasted = g.next.got() - bad.t
		f.Events = seqs(bad.ev, refused[0].ret, last.ret, g.next.ret())
		f.Grants = append(f.Grants, g.next.id())
	case wedged:
		f.ID = Wedge
	}
	f.Words = j.tellGap(l, f, g, why)
	j.add(f)
}

// findGaps lists the gaps of a lock in order.
func (r *record) findGaps(l *lock) []gap {
	held := append(slices.Clone(l.beliefs), l.promises...)
	sortSpans(held)
	var gaps []gap
	open := gap{}
	for i := range held {
		s := &held[i]
		if s.start > open.from.pos {
			open.next = r.grants[s.g]
			gaps = append(gaps, open)
			open = gap{before: s.start}
		}
		switch {
		case s.end > open.from.pos:
			open.from, open.ended = edge{s.end, s.endT, s.until}, []*span{s}
		case s.end == open.from.pos:
			open.ended = append(open.ended, s)
		}
	}
	if open.from.pos < r.last() {
		gaps = append(gaps, open)
	}
	return gaps
}

// badEnd says from where on the lock of a gap may be held by nobody, why, and
// for which acquire; the why is empty if all before it ended well.
func (r *record) badEnd(l *lock, g gap) (from edge, why string, acquire int64) {
	for _, s := range g.ended {
		if e, why := r.badGrantEnd(r.grants[s.g], s, g.from); why != "" {
			return e, why, r.grants[s.g].id()
		}
	}
	// An acquire that nobody knows of may have waited behind who held the lock before.
	i := sort.Search(len(l.vague), func(i int) bool { return pos(l.vague[i].ret) > g.before })
	if i == len(l.vague) || g.next != nil && pos(l.vague[i].ret) >= g.next.returned() {
		return edge{}, "", 0
	}
	o := l.vague[i]
	if e := at(o.ret); e.pos > g.from.pos {
		return e, unknownAcquire(o), o.id
	}
	return g.from, unknownAcquire(o), o.id
}

func unknownAcquire(o *op) string {
	return "an acquire of " + o.call.Host + " ended and nobody knows how"
}

func (r *record) badGrantEnd(g *grant, s *span, from edge) (edge, string) {
	switch {
	case g.gone != nil && s.until == g.gone:
		return at(g.exit), g.host + " ended while it held the lock"
	case len(g.releases) > 0 && s.until == g.releases[0].call:
		o := g.releases[0]
		if res := o.result(); o.ret != nil && (res == history.Failed || res == history.Unknown) {
			return at(o.ret), "the release of " + g.host + " did not succeed"
		}
		return edge{}, ""
	}
	for _, o := range g.releases {
		if o.result() == history.OK {
			return edge{}, ""
		}
	}
	return from, g.host + " no longer held the lock and had not released it"
}

// refusals are the acquires that were refused between bad and the end of the
// gap. Who gets the lock next may have got it long before its acquire returned,
// so they must have been answered before that was called, unless it waited
// through the whole gap and so bears witness itself.
func (r *record) refusals(l *lock, g gap, bad edge) []*op {
	limit := r.last()
	if g.next != nil {
		limit = g.next.called()
		if limit <= bad.pos {
			limit = g.next.returned()
		}
	}
	i := sort.Search(len(l.acquires), func(i int) bool { return pos(l.acquires[i].call) > bad.pos })
	var refused []*op
	for _, o := range l.acquires[i:] {
		if pos(o.call) >= limit {
			break
		}
		if o.result() == history.Refused && pos(o.ret) < limit {
			refused = append(refused, o)
		}
	}
	slices.SortFunc(refused, func(a, b *op) int { return cmp.Compare(a.ret.Seq, b.ret.Seq) })
	return refused
}

// after are the grants of l that returned after the position p.
func (l *lock) after(p int64) []*grant {
	i := sort.Search(len(l.grants), func(i int) bool { return l.grants[i].returned() > p })
	return l.grants[i:]
}

// availability compares the phases with what the scenario demands.
func (j *judge) availability() {
	p, d := j.r.phases(), j.r.h.Header.Demand
	for _, x := range []struct {
		name      string
		got, want history.Ops
	}{{"before", p.Before, d.Before}, {"during", p.During, d.During}, {"after", p.After, d.After}} {
		if x.got.Attempts < x.want.Attempts || x.got.Grants < x.want.Grants {
			j.add(Finding{
				ID: Unavailable, Count: x.got.Grants, At: j.phaseEnd(x.name), Words: tellUnavailable(x.name, x.got, x.want),
			})
		}
	}
}

// phaseEnd is when a phase was over, and its count final.
func (j *judge) phaseEnd(phase string) time.Duration {
	from, to, faulty := j.r.period()
	p := j.r.last()
	switch {
	case faulty && phase == "before":
		p = from
	case faulty && phase == "during":
		p = to
	}
	return j.r.timeOf(p)
}

// timeOf is the time of a position.
func (r *record) timeOf(p int64) time.Duration {
	if i := p / 2; i >= 1 && i <= int64(len(r.h.Events)) {
		return r.h.Events[i-1].T
	}
	return r.end().t
}
