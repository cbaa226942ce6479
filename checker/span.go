package checker

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"lockchaos/history"
)

// span is a half-open interval [start, end) of positions in which one grant
// was promised, or believed.
type span struct {
	call         int64 // position of the call that led to it
	start, end   int64
	startT, endT time.Duration
	g            int            // index of the grant in record.grants
	until        *history.Event // what ended it; nil if time did
}

func (s *span) covers(from, to int64) bool { return s.start < from && to < s.end }

// edge is a place where a span may end.
type edge struct {
	pos int64
	t   time.Duration
	ev  *history.Event
}

func pos(e *history.Event) int64 { return 2 * e.Seq }

func at(e *history.Event) edge { return edge{pos(e), e.T, e} }

func earlier(a, b edge) edge {
	if b.pos < a.pos {
		return b
	}
	return a
}

// last is the position just after the last event.
func (r *record) last() int64 { return 2*int64(len(r.h.Events)) + 1 }

func (r *record) end() edge {
	if n := len(r.h.Events); n > 0 {
		return edge{pos: r.last(), t: r.h.Events[n-1].T}
	}
	return edge{pos: r.last()}
}

// instant is the place of an instant that no event marks: before every event
// that is not before it.
func (r *record) instant(t time.Duration) edge {
	i := sort.Search(len(r.h.Events), func(i int) bool { return r.h.Events[i].T >= t })
	if i == len(r.h.Events) {
		return r.end()
	}
	return edge{pos: r.h.Events[i].Seq*2 - 1, t: t}
}

// forever is how long a lease lasts for a host that does not look at its end.
const forever = time.Duration(math.MaxInt64)

func later(t, d time.Duration) time.Duration {
	if d > forever-max(t, 0) {
		return forever
	}
	return t + d
}

// confirmation is an operation that began or prolonged a lease, for so long
// from its call.
type confirmation struct {
	op    *op
	lasts time.Duration
}

// lease joins confirmations, the acquire first, to the spans in which the lease
// ran, and cuts them. A confirmation that came after the lease had run out
// opens a new span: nothing was owed in the gap.
func (r *record) lease(g *grant, confirmed []confirmation, cut edge) []span {
	slices.SortStableFunc(confirmed, func(a, b confirmation) int { return cmp.Compare(a.op.ret.Seq, b.op.ret.Seq) })
	var spans []span
	for _, c := range confirmed {
		stop := earlier(r.instant(later(c.op.call.T, c.lasts)), cut)
		start := pos(c.op.ret)
		if n := len(spans); n > 0 && start <= spans[n-1].end {
			if stop.pos > spans[n-1].end {
				spans[n-1].end, spans[n-1].endT, spans[n-1].until = stop.pos, stop.t, stop.ev
			}
			continue
		}
		if start < stop.pos {
			spans = append(spans, span{
				call: pos(c.op.call), start: start, startT: c.op.ret.T,
				end: stop.pos, endT: stop.t, until: stop.ev, g: g.index,
			})
		}
	}
	return spans
}

func sortSpans(s []span) {
	slices.SortFunc(s, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.g, b.g))
	})
}

// overlap returns the first stretch that is in both, if there is one.
func overlap(a, b []span) (from, to edge, ok bool) {
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := &a[i], &b[j]
		if x.start < y.end && y.start < x.end {
			from = edge{pos: x.start, t: x.startT}
			if y.start > x.start {
				from = edge{pos: y.start, t: y.startT}
			}
			to = earlier(edge{x.end, x.endT, x.until}, edge{y.end, y.endT, y.until})
			return from, to, true
		}
		if x.end < y.end {
			i++
		} else {
			j++
		}
	}
	return edge{}, edge{}, false
}
