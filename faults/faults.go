// Package faults does to a cluster what the world does to real ones, one file
// a fault, at a time or at an event, and proves that it took effect.
//
// A fault is done in the goroutine that reaches its trigger: the step that
// follows waits until the fault has been seen to work. That is what makes a
// directed scenario come out the same each time on real servers.
package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/locks"
)

// Spec is one thing that goes wrong, from a trigger until another.
type Spec struct {
	Kind string `yaml:"fault"`
	// Hosts and Nodes are what it is done to. A fault of links takes both; an
	// absent list means all hosts, or all lock nodes.
	Hosts []string `yaml:"hosts,omitempty"`
	Nodes []string `yaml:"nodes,omitempty"`
	// Direction is requests, replies or both (the default), for faults of links.
	Direction string `yaml:"direction,omitempty"`
	// Commands limits a hold to requests of these names.
	Commands []string `yaml:"commands,omitempty"`
	// Latency and Jitter are for delay.
	Latency locks.Duration `yaml:"latency,omitempty"`
	Jitter  locks.Duration `yaml:"jitter,omitempty"`

	// Optional says that it may find nothing to do, as a hold that no message meets;
	// it is then recorded as idle, and proves nothing either way.
	Optional bool `yaml:"optional,omitempty"`

	// From is when it starts. It ends at the trigger Until or after the time
	// For; and Most after its start at the latest (10s).
	From  Trigger        `yaml:"from"`
	Until Trigger        `yaml:"until,omitempty"`
	For   locks.Duration `yaml:"for,omitempty"`
	Most  locks.Duration `yaml:"most,omitempty"`
}

// DefaultMost is how long a fault lasts at most where a scenario does not say.
const DefaultMost = 10 * time.Second

// Controls are what a world lets faults do.
type Controls interface {
	cluster.HostControl
	cluster.NodeControl
	Link(host, node string) cluster.Link
}

// Fault is one fault, ready to be started once.
type Fault interface {
	// Start does it and returns what proves that it took effect. Where proof can
	// only come later it returns "", and the fault is a Prover.
	Start(ctx context.Context) (proof string, err error)
}

// Healer is a Fault with an end. Heal may be called more than once, and
// returns what shows that the fault is over.
type Healer interface {
	Heal(ctx context.Context) (proof string, err error)
}

// Prover is a Fault whose effect shows only while it lasts. Prove is called
// just before Heal; an error says that no effect was seen.
type Prover interface {
	Prove(ctx context.Context) (proof string, err error)
}

// Kind describes a kind of fault: its name, and which keys of a Spec it takes.
type Kind struct {
	Name  string
	About string
	Hosts bool // done to hosts
	Nodes bool // done to nodes; with Hosts too, to the links between them
	Heals bool // has an end of its own: until or for
	// Direction, Commands and Latency tell whether it takes these keys.
	Direction, Commands, Latency bool

	make func(Controls, Spec, string) Fault
}

// Link tells whether the fault is done to links.
func (k Kind) Link() bool { return k.Hosts && k.Nodes }

// Kinds are all faults, in the order in which they are listed.
func Kinds() []Kind {
	return []Kind{
		pauseHost, killHost, pauseNode, crashNode, restartNode, partition, hold, delay, reset,
	}
}

// Find returns the kind of that name.
func Find(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// each does one thing to each name, whatever became of the others, and joins
// the proofs. It keeps the first error; to observe nothing is one.
func each(names []string, do func(string) (string, error)) (string, error) {
	var proofs []string
	var first error
	for _, name := range names {
		p, err := do(name)
		if err == nil && p == "" {
			err = errNothing
		}
		if err != nil && first == nil {
			first = fmt.Errorf("%s: %w", name, err)
		}
		if err == nil {
			proofs = append(proofs, name+": "+p)
		}
	}
	return strings.Join(proofs, "; "), first
}

// What an optional fault may meet: nothing that it could act on, or a link that
// another fault has silenced.
var (
	errIdle       = errors.New("there was nothing to do")
	errUnanswered = errors.New("no answer to a PING")
)

// errNothing stands in for a proof that is missing.
var errNothing = errors.New("nothing was observed")
