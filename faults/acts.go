package faults

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// aspect is what a fault changes of a target. Two faults that change the same aspect of
// one target would undo each other: the end of the first would be the end of both.
type aspect string

const (
	process     aspect = "whether the process runs"
	clockSpeed  aspect = "the rate of the clock"
	memory      aspect = "the bound of the memory"
	writable    aspect = "whether it takes writes"
	speed       aspect = "how fast it answers"
	mastership  aspect = "who is the master"
	replicating aspect = "what a replica is sent"
)

// What changes with a server that is stopped; with one that is started anew, which
// forgets the settings that it was given while it ran.
var (
	stopped = []aspect{process, down}
	anew    = []aspect{process, down, memory, writable}
)

// What faults may do several at a time to one target. It is kept so that another
// fault can tell why it sees what it sees.
const (
	down     aspect = "the server does not answer"
	cut      aspect = "the link carries no PING"
	lateness aspect = "the link takes its time"
	stirred  aspect = "the delays of the link change"
	ending   aspect = "the process is killed for good"
)

// acts is what the faults of one run do at a time.
type acts struct {
	mu   sync.Mutex
	list []act
}

type act struct {
	by     string // the fault: "f1 (read-only)"
	what   aspect
	target string
	least  time.Duration // of lateness: what it adds to a PING at least
}

// actor is one fault among those of its run. A nil one is alone.
type actor struct {
	name string
	acts *acts
}

// busyError says which fault keeps another from its start.
type busyError struct{ target, by string }

func (e *busyError) Error() string {
	return fmt.Sprintf("%s: %s still acts on it", e.target, e.by)
}

// take makes aspects of targets the fault's own until it gives them back: all, or none
// and a busyError where another fault has one of them.
func (a *actor) take(aspects []aspect, targets ...string) error {
	if a == nil {
		return nil
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	for _, t := range targets {
		for _, what := range aspects {
			if o := a.other(what, t); o != nil {
				return &busyError{t, o.by}
			}
		}
	}
	for _, t := range targets {
		for _, what := range aspects {
			a.acts.list = append(a.acts.list, act{by: a.name, what: what, target: t})
		}
	}
	return nil
}

// add says that the fault does something that others may do, too.
func (a *actor) add(what aspect, least time.Duration, targets ...string) {
	if a == nil {
		return
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	for _, t := range targets {
		a.acts.list = append(a.acts.list, act{a.name, what, t, least})
	}
}

// drop ends what the fault does of some aspects.
func (a *actor) drop(aspects ...aspect) {
	if a == nil {
		return
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	a.acts.list = slices.DeleteFunc(a.acts.list, func(x act) bool {
		return x.by == a.name && slices.Contains(aspects, x.what)
	})
}

// over ends all that the fault does, but for what is for good.
func (a *actor) over() {
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	a.acts.list = slices.DeleteFunc(a.acts.list, func(x act) bool { return x.by == a.name && x.what != ending })
}

// other is what another fault does. mu is held.
func (a *actor) other(what aspect, target string) *act {
	for i := range a.acts.list {
		if x := &a.acts.list[i]; x.by != a.name && x.what == what && x.target == target {
			return x
		}
	}
	return nil
}

// nobody is the answer of others where there are none.
const nobody = ""

// others names another fault that does such a thing to a target.
func (a *actor) others(what aspect, target string) string {
	if a == nil {
		return nobody
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	if o := a.other(what, target); o != nil {
		return o.by
	}
	return nobody
}

// lifted is how the proof of an end begins that nobody could see, for another fault.
const lifted = "lifted; "

// excuse is for an end that a node does not show: it is no error where another fault
// keeps the node down.
func (a *actor) excuse(node, proof string, err error) (string, error) {
	if by := a.others(down, node); err != nil && by != nobody {
		return lifted + stillActs(by, node), nil
	}
	return proof, err
}

func stillActs(by, target string) string { return by + " still acts on " + target }

// latency is what all faults together add to a PING of a link at least.
func (a *actor) latency(link string) time.Duration {
	if a == nil {
		return 0
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	var sum time.Duration
	for _, x := range a.acts.list {
		if x.what == lateness && x.target == link {
			sum += x.least
		}
	}
	return sum
}
