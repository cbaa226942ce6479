package host

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/locks"
)

type requestID struct{}

// tracedPool sends a trace event for each answer of its node.
type tracedPool struct {
	redis.Pool
	node int // below 0 where each connection knows by itself
	// nodes are the host's own addresses of the nodes.
	nodes []string
	tell  func(Event)
}

// Answerer is a connection that leads to now one node and now another.
type Answerer interface {
	// Answered is the host's own address of the node that has answered the last
	// command; "" where nobody knows.
	Answered() string
}

func (p *tracedPool) Get(ctx context.Context) (redis.Conn, error) {
	id, _ := ctx.Value(requestID{}).(int64)
	conn, err := p.Pool.Get(ctx)
	if err != nil {
		p.vote(id, p.node, "connect", "error", 0, err)
		return nil, err
	}
	if id == 0 {
		return conn, nil
	}
	return &tracedConn{Conn: conn, pool: p, id: id}, nil
}

func (p *tracedPool) vote(id int64, node int, command, vote string, d time.Duration, err error) {
	e := Event{Event: EventTrace, ID: id, Node: node, Command: command, Vote: vote,
		MS: float64(d.Microseconds()) / 1000}
	if err != nil {
		e.Text = err.Error()
	}
	p.tell(e)
}

type tracedConn struct {
	redis.Conn
	pool *tracedPool
	id   int64
}

func (c *tracedConn) vote(command, vote string, d time.Duration, err error) {
	node := c.pool.node
	if a, ok := c.Conn.(Answerer); ok && node < 0 {
		node = slices.Index(c.pool.nodes, a.Answered())
	}
	c.pool.vote(c.id, node, command, vote, d, err)
}

func (c *tracedConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	start := time.Now()
	ok, err := c.Conn.SetNX(name, value, expiry)
	c.vote("set", ballot(ok, err), time.Since(start), err)
	return ok, err
}

func (c *tracedConn) Eval(s *redis.Script, keysAndArgs ...any) (any, error) {
	start := time.Now()
	v, err := c.Conn.Eval(s, keysAndArgs...)
	n, _ := v.(int64)
	c.vote("eval", ballot(n > 0, err), time.Since(start), err)
	return v, err
}

// EvalWait is there for a lock that asks for it; it fails where the connection
// beneath has none.
func (c *tracedConn) EvalWait(s *redis.Script, replicas int, timeout time.Duration, keysAndArgs ...any) (any, int64, error) {
	w, ok := c.Conn.(locks.Waiter)
	if !ok {
		return nil, 0, errNoWait
	}
	start := time.Now()
	v, acked, err := w.EvalWait(s, replicas, timeout, keysAndArgs...)
	n, _ := v.(int64)
	c.vote("eval", ballot(n > 0, err), time.Since(start), err)
	return v, acked, err
}

var errNoWait = errors.New("this connection cannot WAIT for replicas")

func ballot(ok bool, err error) string {
	switch {
	case err != nil:
		return "error"
	case ok:
		return "yes"
	}
	return "no"
}
