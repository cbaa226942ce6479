package checker

import (
	"cmp"
	"container/heap"
	"slices"
)

// disjoint says whether no two spans overlap. They must be sorted by start.
// One pass that keeps one number: the greatest end so far.
func disjoint(spans []span) bool {
	var end int64
	for i := range spans {
		if spans[i].start < end {
			return false
		}
		end = max(end, spans[i].end)
	}
	return true
}

// ordered says whether the keys are distinct and agree with real time: no step
// began after one with a greater key had returned. If exact, the keys must also
// be 1, 2, 3, … without a gap.
func ordered(steps []step, exact bool) bool {
	byKey := slices.Clone(steps)
	slices.SortFunc(byKey, func(a, b step) int { return cmp.Compare(a.key, b.key) })
	for i := range byKey {
		if i > 0 && byKey[i].key == byKey[i-1].key || exact && byKey[i].key != int64(i)+1 {
			return false
		}
	}
	firstRet := int64(1<<63 - 1) // of the steps with greater keys
	for i := len(byKey) - 1; i >= 0; i-- {
		if byKey[i].call > firstRet {
			return false
		}
		firstRet = min(firstRet, byKey[i].ret)
	}
	return true
}

// pair is two grants, the earlier first, whose spans overlap.
type pair struct{ a, b int }

// overlapping lists the pairs of grants whose spans overlap, each once and in
// order, and stops listing at limit: more is how many overlaps it then counted
// only. The spans must be sorted by start.
func overlapping(spans []span, limit int) (pairs []pair, more int) {
	seen := map[pair]bool{}
	var open byEnd
	for i := range spans {
		s := &spans[i]
		for len(open) > 0 && open[0].end <= s.start {
			heap.Pop(&open)
		}
		if len(pairs) >= limit {
			more += len(open)
		} else {
			for _, o := range open {
				p := pair{min(o.g, s.g), max(o.g, s.g)}
				if p.a != p.b && !seen[p] {
					seen[p] = true
					pairs = append(pairs, p)
				}
			}
		}
		heap.Push(&open, s)
	}
	slices.SortFunc(pairs, func(x, y pair) int { return cmp.Or(cmp.Compare(x.b, y.b), cmp.Compare(x.a, y.a)) })
	return pairs, more
}

// byEnd is a heap of spans, the one that ends first on top.
type byEnd []*span

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].end < h[j].end }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(x any)        { *h = append(*h, x.(*span)) }
func (h *byEnd) Pop() any {
	last := len(*h) - 1
	s := (*h)[last]
	*h = (*h)[:last]
	return s
}

// covers finds the spans that are there all the time from one position to
// another.
type covers struct {
	spans  []span // sorted by start
	maxEnd []int64
}

func newCovers(spans []span) covers {
	c := covers{spans, make([]int64, len(spans))}
	var end int64
	for i := range spans {
		end = max(end, spans[i].end)
		c.maxEnd[i] = end
	}
	return c
}

// over calls yield with the spans that cover [from, to], the latest first,
// until it returns false.
func (c covers) over(from, to int64, yield func(*span) bool) {
	i, _ := slices.BinarySearchFunc(c.spans, from, func(s span, p int64) int { return cmp.Compare(s.start, p) })
	for i--; i >= 0 && c.maxEnd[i] > to; i-- {
		if c.spans[i].covers(from, to) && !yield(&c.spans[i]) {
			return
		}
	}
}
