package host

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/locks"
)

// DialMaster makes a pool that leads to the master of the time: go-redis'
// failover client, with the options' settings and its own defaults for the rest.
func DialMaster(s SentinelInit, o locks.Options) redis.Pool {
	w := &witness{}
	client := goredislib.NewFailoverClient(&goredislib.FailoverOptions{
		MasterName:            s.Master,
		SentinelAddrs:         s.Sentinels,
		Dialer:                ownWay(s, w),
		ContextTimeoutEnabled: o.ContextTimeout,
		ReadTimeout:           o.ReadTimeout.D(),
		MaxRetries:            o.MaxRetries,
	})
	return &masterPool{goredis.NewPool(client), client, w}
}

// ownWay dials the host's own address of what Sentinels name. w sees what goes to
// nodes, and not what goes to Sentinels.
func ownWay(s SentinelInit, w *witness) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		to, mapped := s.Addresses[addr]
		if !mapped {
			to = addr
		}
		d := net.Dialer{Timeout: dialTimeout}
		c, err := d.DialContext(ctx, network, to)
		if err != nil || !mapped {
			return c, err
		}
		named, err := netip.ParseAddrPort(addr)
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("a Sentinel names %q, expected an IP address and a port: %w", addr, err)
		}
		n := &namedConn{c.(*net.TCPConn), net.TCPAddrFromAddrPort(named)}
		if slices.Contains(s.Sentinels, to) {
			return n, nil
		}
		return &seenConn{n, to, w}, nil
	}
}

// dialTimeout is go-redis' own.
const dialTimeout = 5 * time.Second

// namedConn says that it leads to where Sentinel says: the client closes the
// connections to all but the new master, and knows them by that.
type namedConn struct {
	*net.TCPConn
	to net.Addr
}

func (c *namedConn) RemoteAddr() net.Addr { return c.to }

// masterPool is a pool whose connections can WAIT, and know who has answered.
type masterPool struct {
	redis.Pool
	client  *goredislib.Client
	witness *witness
}

func (p *masterPool) Get(ctx context.Context) (redis.Conn, error) {
	c, err := p.Pool.Get(ctx)
	if err != nil {
		return nil, err
	}
	return &masterConn{Conn: c, client: p.client, ctx: ctx, witness: p.witness}, nil
}

type masterConn struct {
	redis.Conn
	client  *goredislib.Client
	ctx     context.Context
	witness *witness
	node    string // that has answered the last command
}

var (
	_ locks.Waiter = (*masterConn)(nil)
	_ Answerer     = (*masterConn)(nil)
)

func (c *masterConn) Answered() string { return c.node }

func (c *masterConn) SetNX(name, value string, expiry time.Duration) (bool, error) {
	s := c.witness.begin()
	ok, err := c.Conn.SetNX(name, value, expiry)
	c.node = c.witness.end(s)
	return ok, err
}

func (c *masterConn) Eval(script *redis.Script, keysAndArgs ...any) (any, error) {
	s := c.witness.begin()
	v, err := c.Conn.Eval(script, keysAndArgs...)
	c.node = c.witness.end(s)
	return v, err
}

// EvalWait sends the script by its hash, as Eval does, and whole where the
// master does not know it; WAIT comes right behind it in one pipeline.
func (c *masterConn) EvalWait(s *redis.Script, replicas int, timeout time.Duration, keysAndArgs ...any) (any, int64, error) {
	seen := c.witness.begin()
	defer func() { c.node = c.witness.end(seen) }()
	keys := make([]string, s.KeyCount)
	for i := range keys {
		keys[i] = fmt.Sprint(keysAndArgs[i])
	}
	args := keysAndArgs[s.KeyCount:]
	send := func(eval func(goredislib.Pipeliner) *goredislib.Cmd) (any, int64, error) {
		var script, wait *goredislib.Cmd
		_, _ = c.client.Pipelined(c.ctx, func(p goredislib.Pipeliner) error { // each command has its own error
			script, wait = eval(p), p.Do(c.ctx, "wait", replicas, timeout.Milliseconds())
			return nil
		})
		v, err := script.Result()
		if err != nil {
			return nil, 0, err
		}
		acked, err := wait.Int64()
		return v, acked, err
	}
	v, acked, err := send(func(p goredislib.Pipeliner) *goredislib.Cmd { return p.EvalSha(c.ctx, s.Hash, keys, args...) })
	if err != nil && strings.Contains(err.Error(), "NOSCRIPT ") {
		return send(func(p goredislib.Pipeliner) *goredislib.Cmd { return p.Eval(c.ctx, s.Src, keys, args...) })
	}
	return v, acked, err
}
