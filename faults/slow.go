package faults

import (
	"context"
	"fmt"
	"time"

	"lockchaos/locks"
)

var slow = Kind{
	Name: "slow", About: "makes a lock server answer slowly, one command after the other",
	Nodes: true, Data: true, Heals: true, Takes: []string{"latency"}, check: checkSlow, draw: drawSlow,
	Acts:  "its process",
	holds: []aspect{speed}, needs: []aspect{down},
	make: func(c Controls, s Spec, _ string) Fault { return &slowed{c, s.Nodes, s.Latency.D(), s.actor} },
}

// Slower than this, the proof would take too long; faster, a busy machine is as slow.
const (
	mostSlow  = locks.Duration(time.Second)
	leastSlow = locks.Duration(5 * time.Millisecond)
)

func checkSlow(s Spec) error {
	switch {
	case s.Latency == 0:
		return &KeyError{"", "slow needs a latency"}
	case s.Latency < leastSlow || s.Latency > mostSlow:
		return &KeyError{"latency", fmt.Sprintf("%s, expected %s to %s", s.Latency, leastSlow, mostSlow)}
	}
	return nil
}

func drawSlow(d *drawer, s *Spec) {
	s.Latency = min(max(locks.Duration(d.about(20*time.Millisecond)), leastSlow), mostSlow/10)
	for _, n := range s.Nodes {
		d.busy[n] += 20 * s.Latency.D() // its proofs take time
	}
}

type slowed struct {
	c       Controls
	nodes   []string
	latency time.Duration
	actor   *actor
}

func (f *slowed) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.SlowNode(ctx, n, f.latency) })
}

func (f *slowed) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		return f.actor.unlessHidden(n, func() (string, error) { return f.c.HurryNode(ctx, n) })
	})
}
