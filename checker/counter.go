package checker

import (
	"cmp"
	"slices"

	"lockchaos/history"
)

// step is one thing that must come in the order of its keys: the granting of a
// token, or an increment of the counter. It took effect in [call, ret].
type step struct {
	call, ret int64
	key       int64
	op        *op
}

// counter is the resource behind one lock.
type counter struct {
	writes  []*op    // in the order of their calls
	entries []*entry // in order of effect
	final   *history.Event

	steps      []step // accepted increments, in the order of their returns
	acked      int    // writes whose host was told that they are done
	unresolved []*op  // writes of unknown outcome that no ledger resolves
	filled     int    // steps that are unresolved writes
	unledgered []*op  // acknowledged writes that never reached the resource

	whole bool           // the ledger names every write that was accepted
	byOp  map[*op]*entry // see entry
}

// resolve finds the increments that were accepted: from the ledger where the
// run has one, and else from what the hosts were told. In a history that was
// cut off that is so, too, of what the ledger does not name: its line may be lost.
func (c *counter) resolve(r *record) {
	c.whole = r.ledgered()
	accepted := map[int64]*entry{}
	for _, e := range c.entries {
		if e.accepted() && accepted[e.op.id] == nil {
			accepted[e.op.id] = e
		}
	}
	begins := sections(r)
	for _, w := range c.writes {
		if w.result() == history.OK {
			c.acked++
		}
		begin, ok := begins[w.id]
		if !ok { // of no grant that is known
			begin = pos(w.call)
		}
		c.resolveWrite(r, w, accepted[w.id], begin)
	}
	c.fillGaps(r, begins)
	slices.SortFunc(c.steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.ret, b.ret), cmp.Compare(a.op.id, b.op.id))
	})
}

func (c *counter) resolveWrite(r *record, w *op, e *entry, begin int64) {
	switch res := w.result(); {
	case e != nil:
		s := step{begin, e.before, e.ev.Value, w}
		if res != history.Unknown {
			s.ret = pos(w.ret)
		}
		c.steps = append(c.steps, s)
	case res == history.OK:
		c.steps = append(c.steps, step{begin, pos(w.ret), w.ret.Value, w})
		if c.whole {
			c.unledgered = append(c.unledgered, w)
		}
	case res == history.Unknown && !c.whole:
		c.unresolved = append(c.unresolved, w)
	}
}

// sections gives for each write the position at which its critical section
// began: the call of the read it goes back to, or its own.
func sections(r *record) map[int64]int64 {
	begins := map[int64]int64{}
	for _, g := range r.grants {
		i := 0
		for _, w := range g.writes {
			begin := pos(w.call)
			for ; i < len(g.reads) && g.reads[i].call.Seq < w.call.Seq; i++ {
				if g.reads[i].result() == history.OK {
					begin = pos(g.reads[i].call)
				}
			}
			begins[w.id] = begin
		}
	}
	return begins
}

// fillGaps gives unresolved writes the benefit of the doubt: a value that
// nobody was told of may be theirs. The earliest called take the smallest
// gaps, since none of them has an end; those left over never arrived.
func (c *counter) fillGaps(r *record, begins map[int64]int64) {
	have := map[int64]bool{}
	top := int64(0)
	for _, s := range c.steps {
		have[s.key] = true
		top = max(top, s.key)
	}
	v := int64(1)
	for _, w := range c.unresolved {
		for have[v] {
			v++
		}
		if v > top {
			return
		}
		have[v] = true
		begin, ok := begins[w.id]
		if !ok {
			begin = pos(w.call)
		}
		c.steps = append(c.steps, step{begin, r.last(), v, w})
		c.filled++
	}
}

// found is the counter after the run, by the best evidence there is.
func (c *counter) found() (int64, bool) {
	if c.final != nil {
		return c.final.Value, true
	}
	if !c.whole {
		return 0, false
	}
	for _, e := range slices.Backward(c.entries) {
		if e.accepted() {
			return e.ev.Value, true
		}
	}
	return 0, false
}

// missing counts the accepted increments that the counter does not show. What
// it does not show in the end may be hidden: then it counts repeated values.
func (c *counter) missing() int {
	sure := len(c.steps) - c.filled
	if v, ok := c.found(); ok && int64(sure) > v {
		return int(int64(sure) - v)
	}
	distinct := map[int64]bool{}
	for _, s := range c.steps {
		distinct[s.key] = true
	}
	return len(c.steps) - len(distinct)
}

// tokens are the acquires of one lock whose grants carry a token. A grant
// without one is left out.
func (l *lock) tokens() []step {
	var steps []step
	for _, g := range l.grants {
		if g.token() != 0 {
			steps = append(steps, step{g.called(), g.returned(), g.token(), g.acq})
		}
	}
	return steps
}
