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
	"slices"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/locks"
)

// Spec is one thing that goes wrong, from a trigger until another.
type Spec struct {
	// Kind is one of the kinds of fault below.
	Kind string `yaml:"fault"`
	// Hosts and Nodes are what it is done to. A fault of links (partition, hold, delay,
	// reset) takes both, and an absent list means all hosts, or all lock nodes. failover
	// finds its node by itself, and its hosts are those that stay with an isolated
	// master: none where absent. All others need their list.
	Hosts []string `yaml:"hosts,omitempty"`
	Nodes []string `yaml:"nodes,omitempty"`
	// Direction is requests, replies or both (the default), for faults of links.
	Direction string `yaml:"direction,omitempty"`
	// Commands limits a hold to requests of these names.
	Commands []string `yaml:"commands,omitempty"`
	// Latency and Jitter are for delay, Latency also for slow.
	Latency locks.Duration `yaml:"latency,omitempty"`
	Jitter  locks.Duration `yaml:"jitter,omitempty"`
	// By is how far a clock jumps, back where it is below 0; Rate how fast it runs.
	By   locks.Duration `yaml:"by,omitempty"`
	Rate float64        `yaml:"rate,omitempty"`
	// How names one of the ways in which a fault can be done.
	How string `yaml:"how,omitempty"`
	// Down is how long a server stays down before it is started again.
	Down locks.Duration `yaml:"down,omitempty"`

	// Optional says that it may find nothing to do, as a hold that no message meets;
	// it is then recorded as idle, and proves nothing either way.
	Optional bool `yaml:"optional,omitempty"`

	// From is when it starts. It ends at the trigger Until or after the time
	// For; and Most after its start at the latest (10s).
	// members are all that the run has, where it has been filled in: see Fill.
	members members
	// actor is the fault among the others of a schedule, which sets it.
	actor *actor

	From  Trigger        `yaml:"from"`
	Until Trigger        `yaml:"until,omitempty"`
	For   locks.Duration `yaml:"for,omitempty"`
	Most  locks.Duration `yaml:"most,omitempty"`
}

// DefaultMost is how long a fault lasts at most where a scenario does not say.
const DefaultMost = 10 * time.Second

// members are the hosts and the lock nodes of a run.
type members struct{ hosts, nodes []string }

// Controls are what a world lets faults do.
type Controls interface {
	cluster.HostControl
	cluster.NodeControl
	cluster.ClockControl
	cluster.Commander
	cluster.Conditions
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

// Targeter is a Fault that finds out by itself what it is done to. Targets are
// absent until it knows.
type Targeter interface {
	Targets() []string
}

// Kind describes a kind of fault: its name, and which keys of a Spec it takes.
type Kind struct {
	Name  string
	About string
	Hosts bool // done to hosts
	Nodes bool // done to nodes; with Hosts too, to the links between them
	Heals bool // has an end of its own: until or for
	Clock bool // sets the clocks of its nodes
	Data  bool // only of nodes that keep keys, not of Sentinels
	// FewHosts: an absent list of hosts is none.
	FewHosts bool
	// Failovers: only where there are replicas and Sentinels.
	Failovers bool
	// Acts is what of a server it acts on, beyond keys: absent where a server that the
	// run has not started can have it, too.
	Acts string
	// holds are the aspects of its targets that nobody else may change until it is over;
	// needs are those that must be nobody else's when it starts.
	holds, needs []aspect
	// awaits: its end, too, asks the server, and waits until others let it answer.
	awaits bool
	// Takes are the keys of a Spec that only some kinds take, and this one does.
	Takes []string

	make  func(Controls, Spec, string) Fault
	check func(Spec) error     // of the values of its keys; nil where there is nothing to say
	draw  func(*drawer, *Spec) // fills in its keys for a hammer; nil where it takes none
}

// Check reports what is wrong with the keys that only some kinds take.
func (k Kind) Check(s Spec) error {
	for _, key := range s.keys() {
		if !slices.Contains(k.Takes, key) {
			return &KeyError{key, fmt.Sprintf("%s takes no %s", k.Name, key)}
		}
	}
	if k.check == nil {
		return nil
	}
	return k.check(s)
}

// KeyError says which key of a Spec is wrong. Key is empty where one is missing.
type KeyError struct{ Key, Message string }

func (e *KeyError) Error() string { return e.Message }

// keys are those that are given, of the keys that only some kinds take.
func (s Spec) keys() []string {
	var given []string
	for _, k := range []struct {
		name string
		set  bool
	}{
		{"direction", s.Direction != "" && s.Direction != string(cluster.Both)},
		{"commands", len(s.Commands) > 0},
		{"latency", s.Latency != 0},
		{"jitter", s.Jitter != 0},
		{"by", s.By != 0},
		{"rate", s.Rate != 0},
		{"how", s.How != ""},
		{"down", s.Down != 0},
	} {
		if k.set {
			given = append(given, k.name)
		}
	}
	return given
}

// Link tells whether the fault is done to links.
func (k Kind) Link() bool { return k.Hosts && k.Nodes }

// Kinds are all faults, in the order in which they are listed.
func Kinds() []Kind {
	return []Kind{
		pauseHost, killHost, pauseNode, crashNode, restartNode, partition, hold, delay, reset,
		clockJump, clockRate,
		powerLoss, evict, flushScripts, readOnly, slow,
		failover, cutReplication,
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
	errIdle       = cluster.ErrIdle
	errUnanswered = errors.New("no answer to a PING")
)

// errNothing stands in for a proof that is missing.
var errNothing = errors.New("nothing was observed")
