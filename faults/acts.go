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
	clockShown  aspect = "what the clock shows"
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

// answering is what a fault needs that asks the server: that no other keeps it from
// answering, or makes it answer late. Such a fault is not started: it would wait for the
// end of the other, and so would the steps that wait for it.
var answering = []aspect{down, speed}

// What faults may do several at a time to one target. It is kept so that another
// fault can tell why it sees what it sees.
const (
	down     aspect = "the server does not answer"
	cut      aspect = "the link carries no PING"
	lateness aspect = "the link takes its time"
	stirred  aspect = "the delays of the link change"
	ending   aspect = "the process is killed for good"
	torn     aspect = "connections of the link are broken"
)

// acts is what the faults of one run do at a time.
type acts struct {
	mu      sync.Mutex
	list    []act
	past    []act         // all that was ever begun of what explains a silence
	changed chan struct{} // closed and renewed when something begins or ends
}

func newActs() *acts { return &acts{changed: make(chan struct{})} }

// begin records what a fault does from now on. mu is held.
func (l *acts) begin(a act) {
	l.list = append(l.list, a)
	if a.what == down || a.what == torn {
		l.past = append(l.past, a)
	}
	l.change()
}

func (l *acts) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// end forgets what has ended. mu is held.
func (l *acts) end(over func(act) bool) {
	l.list = slices.DeleteFunc(l.list, over)
	l.change()
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
// and a busyError where another fault has one of them, or one of those that must be free.
func (a *actor) take(aspects, free []aspect, targets ...string) error {
	if a == nil {
		return nil
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	for _, t := range targets {
		for _, what := range slices.Concat(aspects, free) {
			if o := a.other(what, t); o != nil {
				return &busyError{t, o.by}
			}
		}
	}
	for _, t := range targets {
		for _, what := range aspects {
			a.acts.begin(act{by: a.name, what: what, target: t})
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
		a.acts.begin(act{a.name, what, t, least})
	}
}

// drop ends what the fault does of some aspects.
func (a *actor) drop(aspects ...aspect) {
	if a == nil {
		return
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	a.acts.end(func(x act) bool { return x.by == a.name && slices.Contains(aspects, x.what) })
}

// over ends all that the fault does, but for what is for good.
func (a *actor) over() {
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	a.acts.end(func(x act) bool { return x.by == a.name && x.what != ending })
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

// does tells whether the fault itself does such a thing to one of the targets.
func (a *actor) does(what aspect, targets []string) bool {
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	return slices.ContainsFunc(a.acts.list, func(x act) bool {
		return x.by == a.name && x.what == what && slices.Contains(targets, x.target)
	})
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

// kept is others for several targets, and what is closed when that may have changed.
func (a *actor) kept(what aspect, targets []string) (by string, changed <-chan struct{}) {
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	for _, t := range targets {
		if o := a.other(what, t); o != nil {
			return o.by, a.acts.changed
		}
	}
	return nobody, a.acts.changed
}

// moment is when a deed began, for what other faults did from then on.
type moment struct {
	acting []act // then
	past   int   // how many of acts.past were begun by then
}

func (a *actor) now() moment {
	if a == nil {
		return moment{}
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	return moment{slices.Clone(a.acts.list), len(a.acts.past)}
}

// met names another fault that did such a thing to a target at a moment or after it, be
// it over or not.
func (a *actor) met(since moment, what aspect, target string) string {
	if a == nil {
		return nobody
	}
	a.acts.mu.Lock()
	defer a.acts.mu.Unlock()
	for _, x := range slices.Concat(since.acting, a.acts.past[since.past:]) {
		if x.by != a.name && x.what == what && x.target == target {
			return x.by
		}
	}
	return nobody
}

// explain says which fault kept one of these nodes from answering since a moment.
func (a *actor) explain(since moment, nodes []string) string {
	for _, n := range nodes {
		if by := a.others(down, n); by != nobody {
			return stillActs(by, n)
		}
	}
	for _, n := range nodes {
		if by := a.met(since, down, n); by != nobody {
			return fmt.Sprintf("%s acted on %s meanwhile", by, n)
		}
	}
	return nobody
}

// metError is an error that another fault explains.
type metError struct {
	error
	by string
}

func (e *metError) Error() string { return e.error.Error() + ": " + e.by }
func (e *metError) Unwrap() error { return e.error }

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

// unlessHidden does what ends a fault of a node, which is no error where another keeps
// the node down. One that did, and is over meanwhile, is no excuse: it is done again.
func (a *actor) unlessHidden(node string, do func() (string, error)) (string, error) {
	for {
		since := a.now()
		proof, err := do()
		if err == nil || a.others(down, node) != nobody || a.met(since, down, node) == nobody {
			return a.excuse(node, proof, err)
		}
	}
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
