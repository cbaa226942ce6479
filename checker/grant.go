package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// grant is what a host got from one successful acquire, and what it did with it.
type grant struct {
	index      int
	acq        *op
	host, lock string

	extends, checks, releases []*op // in the order of their calls
	reads, writes             []*op

	lost *history.Event // the host said of itself that it is gone
	gone *history.Event // from here on the host may be dead
	exit *history.Event // here it was seen dead

	promise, belief []span
}

func newGrant(o *op) *grant {
	return &grant{acq: o, host: o.call.Host, lock: o.call.Lock}
}

func (g *grant) id() int64            { return g.acq.id }
func (g *grant) token() int64         { return g.acq.ret.Token }
func (g *grant) got() time.Duration   { return g.acq.ret.T }
func (g *grant) returned() int64      { return pos(g.acq.ret) }
func (g *grant) called() int64        { return pos(g.acq.call) }
func (g *grant) ret() *history.Event  { return g.acq.ret }
func (g *grant) call() *history.Event { return g.acq.call }

// confirmed is the call of the last operation before the position p that gave g
// its lease, or gave it anew.
func (g *grant) confirmed(p int64) int64 {
	last := g.called()
	for _, o := range g.extends {
		if o.result() == history.OK && pos(o.ret) < p {
			last = max(last, pos(o.call))
		}
	}
	return last
}

// heldAt says whether a server knew of g after the position p: it prolonged or
// released it when asked then.
func (g *grant) heldAt(p int64) bool {
	return slices.ContainsFunc(slices.Concat(g.extends, g.releases), func(o *op) bool {
		return o.result() == history.OK && pos(o.call) > p
	})
}

// follows says whether g was surely given after f: an acquire that was under way with
// that of f may have taken the lock first, and returned last.
func (g *grant) follows(f *grant) bool { return g.called() > f.returned() }

// promisedUntil says whether a lease of g reached the position p.
func (g *grant) promisedUntil(p int64) bool {
	return slices.ContainsFunc(g.promise, func(s span) bool { return s.start <= p && p <= s.end })
}

func (g *grant) attach(o *op) {
	switch o.call.Do {
	case history.Extend:
		g.extends = append(g.extends, o)
	case history.Check:
		g.checks = append(g.checks, o)
	case history.Release:
		g.releases = append(g.releases, o)
	case history.Read:
		g.reads = append(g.reads, o)
	case history.Write:
		g.writes = append(g.writes, o)
	}
}

// denials are the operations of g that were told that the lock is gone.
func (g *grant) denials() []*op {
	var told []*op
	for _, ops := range [][]*op{g.extends, g.checks, g.releases} {
		for _, o := range ops {
			if o.result() == history.Gone {
				told = append(told, o)
			}
		}
	}
	return told
}

// learned is the first event after from by which the host of g knew of its loss.
func (g *grant) learned(from int64) *history.Event {
	first := g.lost
	if first != nil && pos(first) <= from {
		first = nil
	}
	for _, o := range g.denials() {
		if pos(o.ret) > from && (first == nil || o.ret.Seq < first.Seq) {
			first = o.ret
		}
	}
	return first
}

// ending is where both promise and belief end at the latest: with the call of
// release, with the word that the lock is gone, or with the host's death.
func (r *record) ending(g *grant) edge {
	cut := r.end()
	if len(g.releases) > 0 {
		cut = earlier(cut, at(g.releases[0].call))
	}
	if told := g.learned(0); told != nil {
		cut = earlier(cut, at(told))
	}
	if g.gone != nil {
		cut = earlier(cut, at(g.gone))
	}
	return cut
}

// promise is when the lock service owed the lock to g: a lease that was given is owed
// to its end. A host that knows of its loss is harmed no more by what another gets;
// but a word that is still under way takes no promise back.
func (r *record) promise(g *grant) []span {
	return r.lease(g, r.confirmations(g, func(o *op) time.Duration { return r.lasts(o, r.h.Header.TTL) }), r.ending(g))
}

// belief is when the host of g thought that it holds the lock.
func (r *record) belief(g *grant) []span {
	return r.lease(g, r.confirmations(g, r.patience), r.ending(g))
}

// owed is the promise of g if it had not been told of a loss and not released,
// and no longer than the host itself counted on.
func (r *record) owed(g *grant) []span {
	cut := r.end()
	if g.gone != nil {
		cut = earlier(cut, at(g.gone))
	}
	return r.lease(g, r.confirmations(g, func(o *op) time.Duration {
		if v := o.ret.Validity; v > 0 {
			return r.lasts(o, min(v, r.h.Header.TTL))
		}
		return r.h.Header.TTL
	}), cut)
}

// lasts is how long a lease counts from the call that confirmed it. From outside
// only the call is known to be before the lease began, so a confirmation that
// took longer than its lease, with many tries in it, promises nothing. In the
// simulation no time passes between a host's answer and its return: there, what
// the host says is left is exact.
func (r *record) lasts(o *op, lease time.Duration) time.Duration {
	if r.h.Header.World != "sim" || o.ret.Validity <= 0 {
		return lease
	}
	return max(lease, o.took()+min(o.ret.Validity, r.h.Header.TTL))
}

// patience is how long a host relies on a confirmation, from its call. One that
// checks no lease, or was told of none, relies on it for ever.
func (r *record) patience(o *op) time.Duration {
	if r.h.Header.Discipline == history.ChecksLease && o.ret.Validity > 0 {
		return r.lasts(o, o.ret.Validity)
	}
	return forever
}

func (r *record) confirmations(g *grant, lasts func(*op) time.Duration) []confirmation {
	confirmed := []confirmation{{g.acq, lasts(g.acq)}}
	for _, o := range g.extends {
		if o.result() == history.OK {
			confirmed = append(confirmed, confirmation{o, lasts(o)})
		}
	}
	return confirmed
}

// isLater says whether g2 was definitely granted after g1. A short acquire was
// granted within its own lease, which began after it was called; of a long one
// only its call or the tokens tell.
func (r *record) isLater(g2, g1 *grant) bool {
	if g2 == g1 || g2.returned() < g1.returned() {
		return false
	}
	return g2.called() > g1.returned() ||
		g2.acq.took() < r.h.Header.TTL ||
		g1.token() > 0 && g2.token() > g1.token()
}

// successor is the first grant that is definitely later than g and had
// returned before the position p; nil if there is none.
func (r *record) successor(g *grant, p int64) *grant {
	for _, next := range r.grants[g.index+1:] {
		if next.returned() >= p {
			return nil
		}
		if next.lock == g.lock && r.isLater(next, g) {
			return next
		}
	}
	return nil
}
