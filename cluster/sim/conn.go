package sim

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
	"lockchaos/internal/concurrent"
	"lockchaos/locks"
)

// The settings of go-redis v9 where its options are absent.
const (
	readTimeout = 5 * time.Second
	maxRetries  = 3
	minBackoff  = 8 * time.Millisecond
	maxBackoff  = 512 * time.Millisecond
)

// client is a pool of connections of one host to one node, with the habits of
// go-redis: it tries again after a network error, and does not heed the
// deadline of a context while it waits for a reply unless it is told to.
type client struct {
	link    *link
	process *process // nil for the harness's own
	timeout time.Duration
	retries int
	heed    bool // ContextTimeoutEnabled
}

var _ redis.Pool = (*client)(nil)

// newClient is a host's client with its options.
func newClient(l *link, p *process, o locks.Options) *client {
	c := &client{link: l, process: p, timeout: readTimeout, retries: maxRetries, heed: o.ContextTimeout}
	if o.ReadTimeout > 0 {
		c.timeout = o.ReadTimeout.D()
	}
	switch {
	case o.MaxRetries > 0:
		c.retries = o.MaxRetries
	case o.MaxRetries < 0:
		c.retries = 0
	}
	return c
}

// Get returns a connection; as with go-redis, it is taken only by a command.
func (c *client) Get(ctx context.Context) (redis.Conn, error) {
	if err := c.gate(ctx, c.link.number()); err != nil {
		return nil, err
	}
	return &conn{c, ctx}, nil
}

func (c *client) gate(ctx context.Context, number int64) error {
	if c.process == nil {
		return nil
	}
	return c.process.gate(ctx, &c.link.gates, number)
}

// do sends a command as go-redis would, again if need be.
func (c *client) do(ctx context.Context, args ...any) (any, error) {
	c.link.c.commands.start()
	defer c.link.c.commands.end()
	m := newMessage(c.link, args)
	var err error
	for try := range c.retries + 1 {
		if try > 0 {
			if serr := c.backoff(ctx, try, m.number); serr != nil {
				return nil, serr
			}
			m = newMessage(c.link, args)
		}
		if err = c.gate(ctx, m.number); err != nil {
			return nil, err
		}
		if err = ctx.Err(); err != nil { // of all nodes at once, if the caller gave up
			c.apart(m.number)
			return nil, err
		}
		if err = c.carry(ctx, m); err == nil {
			var v any
			if v, err = value(m.reply); err == nil || !passing(err) {
				return v, err
			}
		}
		if errors.Is(err, errKilled) || ctx.Err() != nil && !isNet(err) {
			return nil, err
		}
	}
	return nil, err
}

// passing tells whether go-redis takes the error that a server answers for one
// that will be over soon.
func passing(err error) bool { return strings.HasPrefix(err.Error(), "READONLY ") }

func isNet(err error) bool {
	var n *netError
	return errors.As(err, &n)
}

// backoff is how long go-redis waits before a retry.
func (c *client) backoff(ctx context.Context, try int, number int64) error {
	low := minBackoff << (try - 1)
	d := c.link.odd.align(min(low+c.link.odd.number(low), maxBackoff))
	err := concurrent.Sleep(ctx, d)
	if err != nil {
		c.apart(number)
	}
	return err
}

// apart keeps commands apart whose time runs out at one instant, as it does for
// those of one quorum, and for those of the tries of one acquire.
func (c *client) apart(number int64) { c.link.odd.inOrder(number) }

// limit is how long the client waits for a reply; 0 is for ever.
func (c *client) limit(ctx context.Context) time.Duration {
	d := c.timeout
	if end, ok := ctx.Deadline(); ok && c.heed {
		if left := time.Until(end); d == 0 || left < d {
			d = max(left, 1)
		}
	}
	return d
}

// carry takes a message to its node and back.
func (c *client) carry(ctx context.Context, m *message) error {
	l, limit := c.link, c.limit(ctx)
	start := time.Now()
	way, epoch, passes := l.depart(m, cluster.Requests)
	if !passes {
		return c.wait(ctx, m, limit)
	}
	if limit > 0 && way >= limit { // it gives up before the message has arrived
		l.fly(m, way, func() { l.c.arrive(m) })
		return c.wait(ctx, m, limit)
	}
	time.Sleep(way)
	if err := l.failed(m, epoch); err != nil {
		return err
	}
	if arrived, err := l.c.execute(m); err != nil || !arrived {
		if err != nil {
			return err
		}
		return c.wait(ctx, m, left(limit, start))
	}
	if way, _, passes = l.depart(m, cluster.Replies); !passes {
		return c.wait(ctx, m, left(limit, start))
	}
	if rest := left(limit, start); rest > 0 && way >= rest {
		l.fly(m, way, func() { m.finish(nil) })
		return c.wait(ctx, m, rest)
	}
	time.Sleep(way)
	if err := l.failed(m, epoch); err != nil {
		return err
	}
	return c.gate(ctx, m.number)
}

// left is what is left of a limit, at least the shortest time; 0 stays 0.
func left(limit time.Duration, start time.Time) time.Duration {
	if limit == 0 {
		return 0
	}
	return max(limit-time.Since(start), 1)
}

// failed tells what has become of a connection with a message meanwhile.
func (l *link) failed(m *message, epoch int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.epoch != epoch {
		return errReset
	}
	return m.err
}

// wait waits for a message that others carry now. A stopped process does not
// see its time run out; one that has given up leaves the message under way.
func (c *client) wait(ctx context.Context, m *message, limit time.Duration) error {
	var out <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit)
		defer t.Stop()
		out = t.C
	}
	var err error
	select {
	case <-m.finished():
		err = m.err
	case <-out:
		c.apart(m.number)
		// Where the time is that of the whole run its end may come at the same instant.
		if err = base(ctx).Err(); err == nil {
			err = errTimeout
		}
	case <-base(ctx).Done(): // the end of a run wakes all
		c.apart(m.number)
		err = base(ctx).Err()
	case <-c.process.dead():
		return errKilled
	}
	if gerr := c.gate(ctx, m.number); gerr != nil {
		return gerr
	}
	return err
}

// value turns a reply into what go-redis returns.
func value(reply any) (any, error) {
	switch r := reply.(type) {
	case node.Error:
		return nil, errors.New(string(r))
	case node.Status:
		return string(r), nil
	}
	return reply, nil
}

// conn is what redsync uses of a client.
type conn struct {
	doer
	ctx context.Context
}

// doer does commands.
type doer interface {
	do(ctx context.Context, args ...any) (any, error)
}

var _ redis.Conn = (*conn)(nil)

func (c *conn) Get(name string) (string, error) {
	v, err := c.do(c.ctx, "GET", name)
	s, _ := v.(string)
	return s, err
}

func (c *conn) Set(name, value string) (bool, error) {
	v, err := c.do(c.ctx, "SET", name, value)
	return v == "OK", err
}

func (c *conn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	args := append(make([]any, 0, 6), "SET", name, value)
	switch {
	case expiry > 0 && expiry%time.Second == 0:
		args = append(args, "EX", int64(expiry/time.Second))
	case expiry > 0:
		args = append(args, "PX", int64(expiry/time.Millisecond))
	}
	v, err := c.do(c.ctx, append(args, "NX")...)
	return v == "OK", err
}

func (c *conn) PTTL(name string) (time.Duration, error) {
	v, err := c.do(c.ctx, "PTTL", name)
	n, _ := v.(int64)
	if n < 0 {
		return time.Duration(n), err
	}
	return time.Duration(n) * time.Millisecond, err
}

// Eval tries EVALSHA first, as redsync's adapter for go-redis does.
func (c *conn) Eval(s *redis.Script, keysAndArgs ...any) (any, error) {
	args := append(make([]any, 0, 3+len(keysAndArgs)), "EVALSHA", s.Hash, int64(s.KeyCount))
	v, err := c.do(c.ctx, append(args, keysAndArgs...)...)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
		v, err = c.do(c.ctx, append([]any{"EVAL", s.Src, int64(s.KeyCount)}, keysAndArgs...)...)
	}
	return v, err
}

func (c *conn) ScriptLoad(s *redis.Script) error {
	v, err := c.do(c.ctx, "SCRIPT", "LOAD", s.Src)
	if hash, ok := v.(string); ok && err == nil {
		s.Hash = hash
	}
	return err
}

func (c *conn) Close() error { return nil }
