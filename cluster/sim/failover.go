package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster/sim/node"
	"lockchaos/host"
	"lockchaos/locks"
)

// failover is a client of the master of the time, with the habits of go-redis'
// failover client: it asks a Sentinel for the master before it opens a
// connection, listens to that Sentinel, and closes all connections to another
// master once it has heard of a new one. Commands and pipelines have a pool each.
type failover struct {
	c       *Cluster
	process *process
	clients map[string]*client // by node or Sentinel
	info    host.SentinelInit
	turn    chan struct{} // who may choose a Sentinel; full when nobody does

	// guarded by the cluster's mutex
	sentinel string // that it asks; "" for none yet
	sub      *stream
	master   string
	idle     [pools][]*connection
	busy     []*connection
}

// The pools of a client.
const (
	forCommands = iota
	forPipelines
	pools

	noPool = -1
)

// connection is one of a client to a node.
type connection struct {
	client      *client
	birth, life int // of the server's
	epoch       int // of the link's
	m           *message
	closed      bool
}

// Habits of go-redis.
const (
	dials      = 5
	dialPause  = 100 * time.Millisecond
	resubPause = 500 * time.Millisecond
)

var errShut = &netError{op: "read", err: errors.New("use of closed network connection")}

func (c *Cluster) newFailover(p *process, info host.SentinelInit, o locks.Options) *failover {
	f := &failover{c: c, process: p, info: info, clients: map[string]*client{}, turn: make(chan struct{}, 1)}
	f.turn <- struct{}{}
	for _, name := range c.group.peers() {
		f.clients[name] = newClient(c.link(p.name, name), p, o)
	}
	return f
}

// Get returns a connection, which is taken only by a command.
func (f *failover) Get(ctx context.Context) (redis.Conn, error) {
	if err := f.gate(ctx); err != nil {
		return nil, err
	}
	c := &masterConn{f: f}
	c.conn = conn{c, ctx}
	return c, nil
}

func (f *failover) gate(ctx context.Context) error {
	return f.process.gate(ctx, &f.process.gates, numberOf(ctx))
}

// masterConn is a connection that can WAIT.
type masterConn struct {
	conn
	f    *failover
	node string // to which the last command went
}

var (
	_ locks.Waiter  = (*masterConn)(nil)
	_ host.Answerer = (*masterConn)(nil)
)

func (c *masterConn) Answered() string { return c.node }

// EvalWait sends a script and a WAIT behind it in one pipeline.
func (c *masterConn) EvalWait(s *redis.Script, replicas int, timeout time.Duration, keysAndArgs ...any) (any, int64, error) {
	wait := []any{"WAIT", int64(replicas), timeout.Milliseconds()}
	args := append([]any{"EVALSHA", s.Hash, int64(s.KeyCount)}, keysAndArgs...)
	m, err := c.send(c.ctx, forPipelines, args, wait)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		args = append([]any{"EVAL", s.Src, int64(s.KeyCount)}, keysAndArgs...)
		m, err = c.send(c.ctx, forPipelines, args, wait)
	}
	if err != nil {
		return nil, 0, err
	}
	reply, _ := value(m.reply) // its error has been returned
	acked, err := value(m.answer)
	n, _ := acked.(int64)
	return reply, n, err
}

func (c *masterConn) do(ctx context.Context, args ...any) (any, error) {
	m, err := c.send(ctx, forCommands, args, nil)
	if err != nil {
		return nil, err
	}
	return value(m.reply)
}

// send does a command, or two, as go-redis would, again if need be.
func (c *masterConn) send(ctx context.Context, pool int, args, next []any) (*message, error) {
	f := c.f
	c.node = ""
	f.c.commands.start()
	defer f.c.commands.end()
	home := f.clients[f.info.Sentinels[0]] // whose draws serve for the pauses
	number := home.link.number()
	var err error
	for try := range home.retries + 1 {
		if try > 0 {
			if serr := home.backoff(ctx, try, number); serr != nil {
				return nil, serr
			}
		}
		if err = f.gate(ctx); err != nil {
			return nil, err
		}
		if err = ctx.Err(); err != nil {
			return nil, err
		}
		var m *message
		if m, err = c.once(ctx, pool, args, next); err == nil {
			return m, nil
		}
		if !again(ctx, err) {
			return nil, err
		}
	}
	return nil, err
}

// again tells whether go-redis tries again after an error.
func again(ctx context.Context, err error) bool {
	if errors.Is(err, errKilled) {
		return false
	}
	if isNet(err) {
		return true
	}
	s := err.Error()
	return ctx.Err() == nil && (strings.HasPrefix(s, "READONLY ") || strings.HasPrefix(s, "NOREPLICAS ") || strings.HasPrefix(s, "LOADING "))
}

// once sends a command over a connection of the pool, or a new one.
func (c *masterConn) once(ctx context.Context, pool int, args, next []any) (*message, error) {
	f := c.f
	k, err := f.take(ctx, pool)
	if err != nil {
		return nil, err
	}
	c.node = k.client.link.server.name
	m := newMessage(k.client.link, args)
	m.traits = &traits{next: next, of: k}
	f.c.mu.Lock()
	k.m = m
	f.c.mu.Unlock()
	if err = k.client.carry(ctx, m); err != nil {
		f.put(k, noPool)
		return nil, err
	}
	if _, err = value(m.reply); err != nil && strings.HasPrefix(err.Error(), "READONLY ") {
		pool = noPool
	}
	f.put(k, pool)
	return m, err
}

// put gives a connection back to its pool; without one it is closed.
func (f *failover) put(k *connection, pool int) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	k.m = nil
	f.busy = slices.DeleteFunc(f.busy, func(x *connection) bool { return x == k })
	if pool != noPool && !k.closed {
		f.idle[pool] = append(f.idle[pool], k)
	}
}

// take takes a connection that is still good, the last one first, or dials.
func (f *failover) take(ctx context.Context, pool int) (*connection, error) {
	if k := f.pop(pool); k != nil {
		return k, nil
	}
	var err error
	for i := range dials {
		if i > 0 {
			if perr := f.pause(ctx); perr != nil {
				break
			}
		}
		var name string
		if name, err = f.masterAddr(ctx); err != nil {
			if errors.Is(err, errKilled) {
				break
			}
			continue
		}
		f.c.mu.Lock()
		f.switchTo(name)
		k := f.connect(name)
		f.c.mu.Unlock()
		hello := newMessage(k.client.link, []any{"HELLO", int64(3)})
		if err = k.client.carry(ctx, hello); err == nil {
			return k, nil
		}
		f.put(k, noPool)
		if !errors.Is(err, errRefused) {
			break // it was connected: no dial to be tried again
		}
	}
	return nil, err
}

// pause is between two dials.
func (f *failover) pause(ctx context.Context) error {
	slot := f.process.gates[laneOf(ctx)]
	t := time.NewTimer(slot.align(dialPause))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		slot.inOrder(numberOf(ctx))
		return ctx.Err()
	}
}

func (f *failover) pop(pool int) *connection {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	for {
		n := len(f.idle[pool])
		if n == 0 {
			return nil
		}
		k := f.idle[pool][n-1]
		f.idle[pool] = f.idle[pool][:n-1]
		if f.alive(k) {
			f.busy = append(f.busy, k)
			return k
		}
	}
}

// alive tells whether a client would find an idle connection open.
func (f *failover) alive(k *connection) bool {
	l := k.client.link
	s := l.server
	l.mu.Lock()
	epoch := l.epoch
	l.mu.Unlock()
	return !k.closed && !s.down && k.life == s.life && k.birth == s.births && k.epoch == epoch
}

func (f *failover) connect(name string) *connection {
	cl := f.clients[name]
	s := cl.link.server
	cl.link.mu.Lock()
	epoch := cl.link.epoch
	cl.link.mu.Unlock()
	k := &connection{client: cl, birth: s.births, life: s.life, epoch: epoch}
	f.busy = append(f.busy, k)
	return k
}

// switchTo closes the connections to all but the master.
func (f *failover) switchTo(master string) {
	if master == f.master {
		return
	}
	f.master = master
	other := func(k *connection) bool { return k.client.link.server.name != master }
	for pool := range f.idle {
		f.idle[pool] = slices.DeleteFunc(f.idle[pool], other)
	}
	for _, k := range f.busy {
		if !other(k) || k.closed {
			continue
		}
		k.closed = true
		if m := k.m; m != nil {
			after(m.link.odd.between(1, time.Millisecond), func() { m.finish(errShut) })
		}
	}
}

// addressed is the node of an address, as Sentinels give it.
func addressed(reply any) string {
	w, _ := reply.([]any)
	if len(w) == 0 {
		return ""
	}
	s, _ := w[0].(string)
	return s
}

var errNoMaster = node.Error("redis: nil")
