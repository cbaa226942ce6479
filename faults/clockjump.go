package faults

import (
	"context"
	"fmt"
	"time"

	"lockchaos/locks"
)

var clockJump = Kind{
	Name: "clock-jump", About: "sets the clock of a lock server forward, or back where by is below 0",
	Nodes: true, Clock: true, Data: true, Takes: []string{"by"},
	check: checkJump, draw: drawJump,
	needs: append([]aspect{clockShown}, answering...),
	make:  func(c Controls, s Spec, _ string) Fault { return &jumpedClock{c, s.Nodes, s.By.D()} },
}

// How far a clock may jump: less cannot be told from the time that a question
// takes, and more is no clock's fault.
const (
	leastJump = locks.Duration(5 * time.Millisecond)
	mostJump  = locks.Duration(24 * time.Hour)
)

func checkJump(s Spec) error {
	switch by := max(s.By, -s.By); {
	case s.By == 0:
		return &KeyError{"", "clock-jump needs a by, as 2s or -500ms"}
	case by < leastJump || by > mostJump:
		return &KeyError{"by", fmt.Sprintf("%s, expected %s to %s, or as much back", s.By, leastJump, mostJump)}
	}
	return nil
}

func drawJump(d *drawer, s *Spec) {
	s.By = max(leastJump, locks.Duration(d.about(200*time.Millisecond)))
	if d.rng.IntN(2) == 0 {
		s.By = -s.By
	}
}

type jumpedClock struct {
	c     Controls
	nodes []string
	by    time.Duration
}

func (f *jumpedClock) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.JumpClock(ctx, n, f.by) })
}
