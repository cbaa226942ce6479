package faults

import (
	"context"
	"fmt"
	"time"

	"lockchaos/locks"
)

var powerLoss = Kind{
	Name: "power-loss", About: "takes the power from a lock server at its end: what was written since its start and not synced is lost",
	Nodes: true, Data: true, Heals: true, check: checkPower, draw: drawPower,
	Acts: "its process and its files",
	// A server that syncs once a second counts the seconds by its own clock.
	needs: []aspect{speed}, // it must be on time
	holds: []aspect{process, memory, writable, clockSpeed, clockShown},
	make:  func(c Controls, s Spec, _ string) Fault { return &lostPower{c, s.Nodes, s.actor} },
}

// unsynced is how long a server that syncs once a second surely does not, from
// the start of the fault on; toSync how long it may take until the start is done.
const (
	unsynced = 600 * time.Millisecond
	toSync   = 1300 * time.Millisecond
)

func checkPower(s Spec) error {
	if s.For.D() > unsynced {
		return &KeyError{"for", fmt.Sprintf("%s, expected at most %s: a server with persistence everysec syncs once a second", s.For, unsynced)}
	}
	return nil
}

func drawPower(d *drawer, s *Spec) {
	if s.For.D() > unsynced {
		s.For = locks.Duration(d.apart(s.From.At+unsynced-shortest) - s.From.At)
	}
	for _, n := range s.Nodes {
		d.busy[n] += toSync
	}
}

// lostPower is done at its end: only then is there something to lose.
type lostPower struct {
	c     Controls
	nodes []string
	actor *actor
}

func (f *lostPower) Start(ctx context.Context) (string, error) {
	_, err := each(f.nodes, func(n string) (string, error) { return f.c.SyncNode(ctx, n) })
	return "", err
}

// Prove cuts the power.
func (f *lostPower) Prove(ctx context.Context) (string, error) {
	f.actor.add(down, 0, f.nodes...)
	return each(f.nodes, func(n string) (string, error) { return f.c.CutPower(ctx, n) })
}

func (f *lostPower) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.StartNode(ctx, n) })
}
