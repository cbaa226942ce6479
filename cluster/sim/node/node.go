package node

import (
	"crypto/sha1" // makes ids, protects nothing
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// What survives a node's end. The values are those of package cluster.
const (
	PersistNone     = "none"     // nothing: a restart forgets all
	PersistEverySec = "everysec" // an append-only file, synced at each whole second of the node's clock
	PersistAlways   = "always"   // an append-only file, synced before each reply
)

// Options of a node. The zero value is a node without persistence.
type Options struct {
	// Name and Seed decide the run ids, and nothing else.
	Name string
	Seed uint64
	// Persistence is one of the Persist values; PersistNone where empty.
	Persistence string
	// OnWrite gets the effect of each write in the form in which Redis
	// replicates it: TTLs absolute, options resolved, an expired key as DEL, the
	// writes of a script one by one. All effects of one command come before its
	// Do returns, in order. It is called with the node locked: it must neither
	// block nor call the node.
	OnWrite func(args []string)
	// Wait answers WAIT; 0 replicas where nil. It may block in virtual time: the
	// node is not locked meanwhile.
	Wait func(replicas int64, timeout time.Duration) int64

	_ struct{}
}

// Node is one simulated Redis node. Its methods are safe for concurrent use,
// one command at a time. It has neither goroutines nor timers.
type Node struct {
	mu      sync.Mutex
	options Options
	clock   clock
	up      bool
	starts  int
	runID   string

	now     int64     // ms on the node's clock, fixed during one command
	real    time.Time // of the same instant
	keys    map[string]*entry
	scripts map[string]*script // by SHA1
	random  drand
	undo    undo
	role    role

	argv []string // scratch, for the client's command
}

// New makes a node and starts it.
func New(o Options) *Node {
	switch o.Persistence {
	case "":
		o.Persistence = PersistNone
	case PersistNone, PersistEverySec, PersistAlways:
	default:
		panic(fmt.Sprintf("node %q: unknown persistence %q, expected %s, %s or %s",
			o.Name, o.Persistence, PersistNone, PersistEverySec, PersistAlways))
	}
	n := &Node{options: o, clock: newClock(), keys: map[string]*entry{}}
	n.start()
	return n
}

// Do executes one command as a client would send it. Arguments become strings
// as in go-redis. The reply is an int64, a string (bulk), a Status (simple
// string), nil, an []any of these, or an Error. A node that is down answers
// ErrDown.
func (n *Node) Do(args ...any) any {
	reply := n.do(args)
	if w, ok := reply.(waitFor); ok {
		return w.answer(n.options.Wait)
	}
	return reply
}

func (n *Node) do(args []any) any {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return ErrDown
	}
	n.tick()
	n.argv = n.argv[:0]
	for _, a := range args {
		n.argv = append(n.argv, text(a))
	}
	return n.dispatch(n.argv)
}

// dispatch looks up and runs one command of a client.
func (n *Node) dispatch(argv []string) any {
	if len(argv) == 0 {
		return Error("ERR empty command")
	}
	c := lookupCommand(argv[0])
	if c == nil {
		return errUnknownCommand(argv)
	}
	if len(c.sub) > 0 {
		sub := c.subcommand(argv)
		if sub == nil {
			return errUnknownSubcommand(c, argv)
		}
		c = sub
	}
	if !c.takes(len(argv)) {
		return errArity(c.name)
	}
	if err := n.refusal(c); err != "" {
		return err
	}
	return c.run(n, argv)
}

// tick fixes the time of a command. A script sees no time pass.
func (n *Node) tick() {
	n.real = time.Now()
	n.now = n.clock.at(n.real).UnixMilli()
}

// Up tells whether the node answers.
func (n *Node) Up() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.up
}

// RunID is the id of the node's current run, or of its last one.
func (n *Node) RunID() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runID
}

// Crash is SIGKILL: with an append-only file nothing is lost, as the page
// cache survives. Without one everything is gone. The script cache is gone in
// any case. On a node that is down it does nothing.
func (n *Node) Crash() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.crash()
}

func (n *Node) crash() {
	if !n.up {
		return
	}
	n.up, n.role.replica = false, false // by REPLICAOF, which no file keeps
	n.scripts = nil
	if n.options.Persistence == PersistNone {
		n.keys = map[string]*entry{}
	}
}

// PowerLoss is a Crash that takes the page cache with it: of an append-only
// file that is synced every second, what was written since the last whole
// second is lost. It also takes effect on a node that has crashed before. It
// returns how many keys are not what they were.
func (n *Node) PowerLoss() (lost int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.options.Persistence == PersistNone {
		lost = len(n.keys)
	}
	n.crash()
	if n.options.Persistence == PersistEverySec {
		lost = n.undo.apply(n.keys, n.clock.at(time.Now()))
	}
	return lost
}

// Start starts a node that is down, under a new run id. On a node that is up
// it does nothing.
func (n *Node) Start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		n.start()
	}
}

func (n *Node) start() {
	n.up = true
	n.starts++
	n.random = drand{drandStart}
	sum := sha1.Sum(fmt.Appendf(nil, "%d/%s/%d", n.options.Seed, n.options.Name, n.starts))
	n.runID = hex.EncodeToString(sum[:])
}

// effect reports a write to the replicas. Callers check n.replicates first, so
// that a node without replicas builds no arguments.
func (n *Node) effect(args ...string) { n.options.OnWrite(args) }

func (n *Node) replicates() bool { return n.options.OnWrite != nil }

// verbatim reports a write that replicates as it was sent.
func (n *Node) verbatim(argv []string) {
	if n.replicates() {
		n.effect(append([]string(nil), argv...)...)
	}
}
