package locks_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/locks"
)

func redlock(t *testing.T) *rig {
	s, err := locks.Find("redlock")
	if err != nil {
		t.Fatal(err)
	}
	return newRig(t, s)
}

func TestRedlockMinority(t *testing.T) {
	t.Parallel()
	r := redlock(t)
	for _, s := range r.servers[:2] { // another holds these, or what is left of it
		if err := s.Set(t.Context(), "L", "foreign", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	g := r.acquire(t, r.locker(t))
	if n := r.held(t, g.Owner); n != 3 {
		t.Errorf("%d nodes hold the lock, want 3", n)
	}
	if _, err := g.Extend(t.Context()); err != nil {
		t.Errorf("extend: %v", err)
	}
	if err := g.Release(t.Context()); err != nil {
		t.Errorf("release: %v", err)
	}
	if n := r.held(t, "foreign"); n != 2 {
		t.Errorf("%d nodes still hold the other's lock, want 2", n)
	}

	r.servers[0].Kill()
	r.servers[1].Kill()
	r.servers = r.servers[2:]
	g = r.acquire(t, r.locker(t))
	if n := r.held(t, g.Owner); n != 3 {
		t.Errorf("with two nodes down %d hold the lock, want 3", n)
	}
	_, err := r.locker(t).Acquire(t.Context())
	if !errors.Is(err, locks.ErrUnavailable) && !errors.Is(err, locks.ErrRefused) {
		t.Errorf("acquire of another: %v", err)
	}
	if _, err := g.Extend(t.Context()); err != nil {
		t.Errorf("extend with two nodes down: %v", err)
	}
	if err := g.Release(t.Context()); err != nil {
		t.Errorf("release with two nodes down: %v", err)
	}
}

// Who gets no majority gives back what it got.
func TestRedlockMajorityTaken(t *testing.T) {
	t.Parallel()
	r := redlock(t)
	for _, s := range r.servers[:3] {
		if err := s.Set(t.Context(), "L", "foreign", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.locker(t).Acquire(t.Context())
	want(t, "acquire", err, locks.ErrRefused, true)
	if foreign, free := r.held(t, "foreign"), r.held(t, ""); foreign != 3 || free != 2 {
		t.Errorf("%d nodes hold the other's lock and %d are free, want 3 and 2", foreign, free)
	}
}

func TestSetNXOnExtend(t *testing.T) {
	t.Parallel()
	for _, nx := range []bool{false, true} {
		r := redlock(t)
		g := r.acquire(t, r.locker(t, func(c *locks.Config) { c.Options.SetNXOnExtend = nx }))
		r.expire(t)
		_, err := g.Extend(t.Context())
		if !nx {
			want(t, "extend of what is gone", err, locks.ErrLost, true)
		} else if err != nil {
			t.Errorf("extend with set_nx_on_extend: %v", err)
		}
		if n := r.held(t, g.Owner); n == r.Nodes != nx {
			t.Errorf("set_nx_on_extend %v: after the extend %d nodes hold the lock", nx, n)
		}
	}
}

// counted counts the SET NX of a pool.
type counted struct {
	redis.Pool
	n *atomic.Int32
}

func (p counted) Get(ctx context.Context) (redis.Conn, error) {
	c, err := p.Pool.Get(ctx)
	return countedConn{c, p.n}, err
}

type countedConn struct {
	redis.Conn
	n *atomic.Int32
}

func (c countedConn) SetNX(name, value string, d time.Duration) (bool, error) {
	c.n.Add(1)
	return c.Conn.SetNX(name, value, d)
}

func TestTries(t *testing.T) {
	t.Parallel()
	s, err := locks.Find("redsync-single")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, s)
	r.acquire(t, r.locker(t))
	for tries, calls := range map[int]int32{0: 1, 1: 1, 4: 4} {
		var n atomic.Int32
		_, err := r.locker(t, func(c *locks.Config) {
			c.Pools = []redis.Pool{counted{r.pools[0], &n}}
			c.Options.Tries, c.Options.RetryDelay = tries, locks.Duration(time.Millisecond)
		}).Acquire(t.Context())
		want(t, "acquire", err, locks.ErrRefused, true)
		if n.Load() != calls {
			t.Errorf("tries %d: %d SET NX, want %d", tries, n.Load(), calls)
		}
	}
}

// slow grants everything, and takes its time.
type slow struct{ takes time.Duration }

func (p slow) Get(context.Context) (redis.Conn, error) { return slowConn{takes: p.takes}, nil }

type slowConn struct {
	redis.Conn
	takes time.Duration
}

func (p slowConn) Close() error { return nil }
func (p slowConn) Eval(*redis.Script, ...any) (any, error) {
	time.Sleep(p.takes) // virtual
	return int64(1), nil
}
func (p slowConn) SetNX(string, string, time.Duration) (bool, error) {
	time.Sleep(p.takes) // virtual
	return true, nil
}

// A grant of which nothing is left is none, and the node may hold it still.
func TestTooLate(t *testing.T) {
	for _, s := range locks.Systems() {
		for takes, late := range map[time.Duration]bool{ttl / 2: false, ttl: true, 2 * ttl: true} {
			synctest.Test(t, func(t *testing.T) {
				r := &rig{System: s}
				one := takes // of one command
				if s.Name == "single-set-then-expire" {
					one /= 2
				}
				for range s.Nodes {
					r.pools = append(r.pools, slow{takes: one})
				}
				start := time.Now()
				if s.Name == "single-mint-before" {
					start = start.Add(takes) // its lease begins after the first command
				}
				g, err := r.locker(t).Acquire(t.Context())
				if late && s.Name != "single-mint-after" { // which does not look
					want(t, s.Name, err, locks.ErrTooLate, false)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if left := time.Until(g.Until); left > ttl-takes || g.Until.After(start.Add(ttl)) {
					t.Errorf("%s: %s are left of a lease of %s after an acquire of %s", s.Name, left, ttl, takes)
				}
			})
		}
	}
}
