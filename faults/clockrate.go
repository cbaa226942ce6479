package faults

import (
	"context"
	"fmt"
	"math"
)

var clockRate = Kind{
	Name: "clock-rate", About: "makes the clock of a lock server run too fast, or too slow; at its end, right again",
	Nodes: true, Clock: true, Data: true, Heals: true, Takes: []string{"rate"},
	check: checkRate,
	// Up to a tenth off, which is more than clocks are, and ten times what redsync allows for.
	draw:  func(d *drawer, s *Spec) { s.Rate = []float64{0.9, 0.95, 0.98, 1.02, 1.05, 1.1}[d.rng.IntN(6)] },
	Acts:  "its clock",
	holds: []aspect{clockSpeed}, needs: answering,
	make: func(c Controls, s Spec, _ string) Fault { return &offClock{c, s.Nodes, s.Rate, s.actor} },
}

// What a clock's rate may be. A deviation must show in a second or so.
const (
	leastRate, mostRate = 0.01, 100.0
	leastDeviation      = 0.001
)

func checkRate(s Spec) error {
	switch {
	case s.Rate == 0:
		return &KeyError{"", "clock-rate needs a rate, as 1.1 or 0.9"}
	case !(s.Rate >= leastRate && s.Rate <= mostRate): // NaN, too
		return &KeyError{"rate", fmt.Sprintf("%g, expected %g to %g", s.Rate, leastRate, mostRate)}
	case math.Abs(s.Rate-1) < leastDeviation*(1-1e-9): // as 1.001 itself is a little less
		return &KeyError{"rate", fmt.Sprintf("%g, expected at least %g away from 1, which is the right one", s.Rate, leastDeviation)}
	}
	return nil
}

type offClock struct {
	c     Controls
	nodes []string
	rate  float64
	actor *actor
}

func (f *offClock) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.SetClockRate(ctx, n, f.rate) })
}

// Heal sets the clock of a server right that is stopped or down, too: it cannot say so.
func (f *offClock) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		return f.actor.unlessHidden(n, func() (string, error) { return f.c.SetClockRate(ctx, n, 1) })
	})
}
