package sim

import (
	"errors"
	"io"
	"strings"
	"syscall"
	"time"

	"lockchaos/cluster/sim/node"
)

// Errors of a broken connection, as a Redis client sees them.
var (
	errRefused = &netError{op: "dial", err: syscall.ECONNREFUSED}
	errClosed  = &netError{op: "read", err: io.EOF}
	errReset   = &netError{op: "read", err: syscall.ECONNRESET}
	errTimeout = &netError{op: "read", err: errors.New("i/o timeout")}
)

// netError is an error of the network, on a simulated link.
type netError struct {
	op  string
	err error
}

func (e *netError) Error() string { return e.op + " simulated link: " + e.err.Error() }
func (e *netError) Unwrap() error { return e.err }

// message is one command on its way to a node, and its reply on the way back.
//
//	client ─ request ─► link ─► node ─► reply ─► link ─► client
//
// Where nothing stands in its way the client's goroutine carries it by itself,
// asleep for each way. Once it is held, lost or waiting at a stopped node, it
// is carried by whoever ends that, and the client waits for done.
type message struct {
	link   *link
	number int64 // among those of its link
	args   []any
	name   string // of the command, in upper case
	reply  any
	err    error
	done   chan struct{}
	probe  bool      // the harness's own: not counted
	over   bool      // guarded by the link, as done is
	due    time.Time // of its turn at a slow server

	*traits
}

// traits are what only messages of a group have: a simulation without one makes
// a message for each command, too, and is to be as fast as if there were none.
type traits struct {
	// next is a second command, sent with the first; answer is its reply.
	next   []any
	answer any
	pushed bool        // nobody executes it, and nobody has asked for it
	bytes  int64       // of what is pushed
	mute   bool        // it gets no reply
	stream *stream     // the connection that it belongs to, where that matters
	of     *connection // that a client sent it over, where it counts them
	then   func(error) // called when the message is over
}

// plain is what all other messages share. Nobody writes to it.
var plain = &traits{}

func newMessage(l *link, args []any) *message {
	name, _ := args[0].(string)
	m := &message{link: l, args: args, name: strings.ToUpper(name), traits: plain}
	if l != nil {
		m.number = l.number()
	}
	return m
}

// size is about how many bytes the request has.
func (m *message) size() int64 {
	if m.pushed {
		return m.bytes
	}
	n := 4
	for _, a := range m.args {
		n += 6
		if s, ok := a.(string); ok {
			n += len(s)
		}
	}
	return int64(n)
}

// finish lets the client go on. Only the first call counts.
func (m *message) finish(err error) {
	m.link.mu.Lock()
	first := !m.over
	if first {
		m.over, m.err = true, err
		if m.done != nil {
			close(m.done)
		}
	}
	m.link.mu.Unlock()
	if first && m.then != nil {
		m.then(err)
	}
}

// finished is closed when the message is over. Most messages are carried by
// their client and need none.
func (m *message) finished() <-chan struct{} {
	m.link.mu.Lock()
	defer m.link.mu.Unlock()
	if m.done == nil {
		m.done = make(chan struct{})
		if m.over {
			close(m.done)
		}
	}
	return m.done
}

// after does something later, at an instant of its own.
func after(d time.Duration, f func()) { time.AfterFunc(d, f) }

// server is a node and whether its process runs. A stopped one keeps what
// arrives, as the kernel does; a crashed one refuses.
type server struct {
	name string
	node *node.Node

	// of a node of a group; nil where it is none
	copies   *copies
	sentinel *sentinel

	// guarded by the cluster's mutex
	down    bool
	paused  bool
	queue   []*message
	latency time.Duration // of a slow one, for each command
	busy    time.Time     // until when a slow one has commands to do
	life    int           // counts crashes
	late    []func()      // what else has arrived while it was stopped
	births  int           // counts the times at which all clients were disconnected
}
