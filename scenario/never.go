package scenario

import (
	"fmt"
	"slices"

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
		if p := first(s.extends(path, o.String(), o.Step), s.validateComes(path, o.After)); p != nil {
			return p
		}
	}
	return s.ringed()
}

// ringed refuses an order that, in the end, waits for itself.
func (s *Scenario) ringed() *problem {
	ring := s.ring()
	if ring == nil {
		return nil
	}
	path, o := fmt.Sprintf("order[%d]", ring[0]), s.Order[ring[0]]
	if len(ring) == 1 {
		return &problem{path, fmt.Sprintf("%q never comes: what it waits for comes only after the step that waits", o)}
	}
	return &problem{path, fmt.Sprintf("%q never comes: it must wait for %q, and that, in the end, for it", o, s.Order[ring[1]])}
}

// ring is a round of orders of which each needs the next to be fulfilled before it
// can be, from the first in the file on; nil where there is none. Each order is
// followed once: a file may have thousands.
func (s *Scenario) ring() []int {
	done, way := make([]bool, len(s.Order)), []int{}
	var follow func(i int) []int
	follow = func(i int) []int {
		if at := slices.Index(way, i); at >= 0 {
			ring := way[at:]
			first := slices.Index(ring, slices.Min(ring))
			return slices.Concat(ring[first:], ring[:first])
		}
		if done[i] {
			return nil
		}
		done[i], way = true, append(way, i)
		for _, j := range s.needed(s.Order[i].After) {
			if ring := follow(j); ring != nil {
				return ring
			}
		}
		way = way[:len(way)-1]
		return nil
	}
	for i := range s.Order {
		if ring := follow(i); ring != nil {
			return ring
		}
	}
	return nil
}

// needed are the orders whose steps must be done before a trigger can come.
func (s *Scenario) needed(t faults.Trigger) []int {
	if t.Timed {
		return nil
	}
	var all []int
	before := s.before(t.Point)
	for i, o := range s.Order {
		if o.Step.Host == t.Point.Host && before[o.Step.Do] >= o.Step.Nth {
			all = append(all, i)
		}
	}
	return all
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
