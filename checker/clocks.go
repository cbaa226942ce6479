package checker

import (
	"cmp"
	"slices"
	"time"

	"lockchaos/history"
)

// Clock is a stretch in which a node's clock was off by Offset at its begin (ahead
// above 0, behind below), and ran Rate times as fast as it should; 0: right.
type Clock struct {
	Node string `json:"node"`
	Stretch
	Offset time.Duration `json:"offset"`
	Rate   float64       `json:"rate,omitempty"`
}

// clocks are the stretches that touch the window of t. A clock is off as soon as
// that was seen, which is a little after it was done.
func (r *record) clocks(t *Timeline) []Clock {
	open := map[string]*Clock{}
	var all []*Clock
	for i := range r.h.Events {
		e := &r.h.Events[i]
		if e.Kind != history.Fault || e.Fault.By == 0 && e.Fault.Rate == 0 {
			continue
		}
		for _, n := range e.Fault.Targets {
			if x := open[n].next(n, e); x != nil {
				open[n], all = x, append(all, x)
			}
		}
	}
	var some []Clock
	for _, x := range all {
		if x.To == 0 {
			x.To = t.End
		}
		if t.in(x.Stretch) && (x.Offset != 0 || x.Rate != 0) && len(some) < mostDrawn {
			some = append(some, *x)
		}
	}
	slices.SortStableFunc(some, func(a, b Clock) int { return byNumber(a.Node, b.Node) })
	return some
}

// next ends c, which is nil where the clock was right, and begins what is after e;
// nil where e changes nothing.
func (c *Clock) next(node string, e *history.Event) *Clock {
	x := &Clock{Node: node, Stretch: Stretch{From: e.T}}
	if c != nil {
		x.Offset, x.Rate = c.Offset, c.Rate
		x.Offset += time.Duration(float64(e.T-c.From) * (cmp.Or(c.Rate, 1) - 1))
	}
	switch {
	case e.Fault.Step == history.FaultProved:
		x.Offset += e.Fault.By
		x.Rate = cmp.Or(e.Fault.Rate, x.Rate)
	case e.Fault.Step == history.FaultHealed && e.Fault.Rate != 0:
		x.Rate = 0
	default:
		return nil
	}
	if c != nil {
		c.To = e.T
	}
	return x
}
