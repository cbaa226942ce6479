package scenario

import (
	"fmt"

	"lockchaos/faults"
	"lockchaos/history"
)

// validateComes refuses a trigger at a path that surely never comes.
func (s *Scenario) validateComes(path string, t faults.Trigger) *problem {
	if t.IsZero() || t.Timed {
		return nil
	}
	return s.extends(path, t.String(), t.Point)
}

// extends refuses a point of an extend where no host ever extends.
func (s *Scenario) extends(path, words string, p faults.Point) *problem {
	return must(p.Do != history.Extend || s.Lock.Watchdog, path, "%q never comes: without a watchdog no host extends its lease, set lock.watchdog", words)
}

// validateOrders refuses orders that can only be missed: the step that waits must
// be done before what it waits for can come.
func (s *Scenario) validateOrders() *problem {
	for i, o := range s.Order {
		path := fmt.Sprintf("order[%d]", i)
		if p := first(s.extends(path, o.String(), o.Step), s.validateComes(path, o.After), s.withinRounds(path, o)); p != nil {
			return p
		}
	}
	for i, o := range s.Order {
		path := fmt.Sprintf("order[%d]", i)
		switch ring := s.ring(i); {
		case len(ring) == 1:
			return &problem{path, fmt.Sprintf("%q never comes: what it waits for comes only after the step that waits", o)}
		case len(ring) > 1:
			return &problem{path, fmt.Sprintf("%q never comes: it must wait for %q, and that, in the end, for it", o, s.Order[ring[1]])}
		}
	}
	return nil
}

// withinRounds refuses to wait for more than a host does in its rounds. With faults
// it goes on until they are over, and nobody knows for how long.
func (s *Scenario) withinRounds(path string, o faults.Order) *problem {
	if o.After.Timed || len(s.Faults) > 0 || s.Hammer != nil {
		return nil
	}
	w := s.Workload
	most := map[history.Do]int{
		history.Acquire: w.Rounds, history.Read: w.Rounds, history.Release: w.Rounds,
		history.Check: w.Rounds * (1 + w.Writes), history.Write: w.Rounds * w.Writes,
	}
	n, bounded := most[o.After.Point.Do]
	return must(!bounded || o.After.Point.Nth <= n, path, "%q never comes: in its %d rounds, and without faults, %s does that at most %d times",
		o, w.Rounds, o.After.Point.Host, n)
}

// ring is a way from an order over those that must be fulfilled before it can be,
// back to itself; empty where there is none.
func (s *Scenario) ring(start int) []int {
	seen := map[int]bool{}
	var follow func(i int) []int
	follow = func(i int) []int {
		for j, o := range s.Order {
			switch {
			case !s.needsStep(s.Order[i].After, o.Step):
			case j == start:
				return []int{i}
			case !seen[j]:
				seen[j] = true
				if way := follow(j); way != nil {
					return append([]int{i}, way...)
				}
			}
		}
		return nil
	}
	return follow(start)
}

// needsStep tells whether a trigger can only come when a step is done.
func (s *Scenario) needsStep(t faults.Trigger, step faults.Point) bool {
	if t.Timed || t.Point.Host != step.Host {
		return false
	}
	return s.before(t.Point)[step.Do] >= step.Nth
}

// before is how many steps of each kind a host has surely begun when it has done
// one of its steps the n-th time. A round is: acquire until it is granted, check,
// read, check and write for each increment, release; from each check on it may be
// cut short to the release. Extends come beside that.
func (s *Scenario) before(p faults.Point) map[history.Do]int {
	n, writes := p.Nth, s.Workload.Writes
	rounds := func(perRound int) int { return (n + perRound - 1) / perRound }
	switch p.Do {
	case history.Acquire:
		return steps(n, n-1, 0, 0, n-1)
	case history.Check:
		r := rounds(1 + writes)
		return steps(r, n, 0, 0, r-1)
	case history.Read:
		return steps(n, n, n, 0, n-1)
	case history.Write:
		r := rounds(writes)
		return steps(r, r+n, r, n, r-1)
	case history.Release:
		return steps(n, n, 0, 0, n)
	case history.Extend:
		return map[history.Do]int{history.Acquire: 1, history.Extend: n}
	}
	return nil
}

func steps(acquires, checks, reads, writes, releases int) map[history.Do]int {
	return map[history.Do]int{
		history.Acquire: acquires, history.Check: checks, history.Read: reads, history.Write: writes, history.Release: releases,
	}
}
