package locks_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/internal/redistest"
	"lockchaos/locks"
)

const ttl = 10 * time.Second

// rig is one lock system over servers of its own.
type rig struct {
	locks.System
	servers []*redistest.Server
	pools   []redis.Pool
}

func newRig(t *testing.T, s locks.System) *rig {
	r := &rig{System: s}
	for range s.Nodes {
		srv := redistest.Start(t)
		client := goredislib.NewClient(&goredislib.Options{Addr: srv.Addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second})
		t.Cleanup(func() { client.Close() })
		r.servers = append(r.servers, srv)
		r.pools = append(r.pools, goredis.NewPool(client))
	}
	return r
}

// locker is a host: a locker of the lock "L".
func (r *rig) locker(t *testing.T, change ...func(*locks.Config)) locks.Locker {
	t.Helper()
	c := locks.Config{Pools: r.pools, Name: "L", TTL: ttl, Options: locks.Options{MaxRetries: -1}}
	for _, f := range change {
		f(&c)
	}
	l, err := r.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (r *rig) acquire(t *testing.T, l locks.Locker) *locks.Grant {
	t.Helper()
	g, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// expire takes the lock away on every node, as its TTL would.
func (r *rig) expire(t *testing.T) {
	t.Helper()
	for _, s := range r.servers {
		if err := s.Del(t.Context(), "L").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// held counts the nodes that hold the lock for an owner.
func (r *rig) held(t *testing.T, owner string) int {
	t.Helper()
	n := 0
	for _, s := range r.servers {
		if s.Value(t, "L") == owner {
			n++
		}
	}
	return n
}

// want checks what kind of error it is.
func want(t *testing.T, what string, err, kind error, definite bool) {
	t.Helper()
	var e *locks.Error
	if !errors.As(err, &e) || !errors.Is(err, kind) || e.Definite != definite {
		t.Errorf("%s: got %v (definite: %v), want %v, definite: %v", what, err, e != nil && e.Definite, kind, definite)
	}
}

func each(t *testing.T, f func(t *testing.T, r *rig)) {
	eachOf(t, func(locks.System) bool { return true }, f)
}

// eachOf runs f for the systems that it makes sense for.
func eachOf(t *testing.T, fits func(locks.System) bool, f func(t *testing.T, r *rig)) {
	for _, s := range locks.Systems() {
		if !fits(s) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, newRig(t, s))
		})
	}
}

func TestLifeOfALock(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		a, b := r.locker(t), r.locker(t)
		before := time.Now()
		g := r.acquire(t, a)
		if g.Owner == "" || (g.Token > 0) != r.Mints || g.Until.After(time.Now().Add(ttl)) || g.Until.Before(before) {
			t.Errorf("grant %+v", g)
		}
		if n := r.held(t, g.Owner); n != r.Nodes {
			t.Errorf("%d of %d nodes hold the lock", n, r.Nodes)
		}
		_, err := b.Acquire(t.Context())
		want(t, "acquire of another", err, locks.ErrRefused, true)
		_, err = a.Acquire(t.Context())
		want(t, "acquire of the holder, as another grant", err, locks.ErrRefused, true)
		if n := r.held(t, g.Owner); n != r.Nodes {
			t.Errorf("after refused acquires %d of %d nodes hold the lock", n, r.Nodes)
		}

		for _, s := range r.servers { // nearly over
			if err := s.PExpire(t.Context(), "L", time.Second).Err(); err != nil {
				t.Fatal(err)
			}
		}
		end, err := g.Extend(t.Context())
		if err != nil || !end.After(g.Until) {
			t.Errorf("extend: until %s, %v, want it after %s", end, err, g.Until)
		}
		for i, s := range r.servers {
			if left := s.PTTL(t.Context(), "L").Val(); left <= ttl/2 || left > ttl {
				t.Errorf("after the extend node %d has %s left, want nearly %s", i, left, ttl)
			}
		}

		if err := g.Release(t.Context()); err != nil {
			t.Errorf("release: %v", err)
		}
		if n := r.held(t, ""); n != r.Nodes {
			t.Errorf("after the release %d of %d nodes are free", n, r.Nodes)
		}
		want(t, "release again", g.Release(t.Context()), locks.ErrLost, true)
		_, err = g.Extend(t.Context())
		want(t, "extend after release", err, locks.ErrLost, true)
		if err := r.acquire(t, b).Release(t.Context()); err != nil {
			t.Errorf("the next holder's release: %v", err)
		}
	})
}

// The TTL really ends a lock, and its holder is told.
func TestExpiry(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		r.acquire(t, r.locker(t, func(c *locks.Config) { c.Name = "other" })) // so that connections are open
		g := r.acquire(t, r.locker(t, func(c *locks.Config) {
			c.TTL = 200 * time.Millisecond
			c.Options.TimeoutFactor = ptr(0.9) // of redsync; its own, 10 ms, is short for a busy machine
		}))
		redistest.Until(t, "the lock has expired", func() bool { return r.held(t, "") == r.Nodes })
		_, err := g.Extend(t.Context())
		want(t, "extend", err, locks.ErrLost, true)
		want(t, "release", g.Release(t.Context()), locks.ErrLost, true)
	})
}

// What a former holder can do to the next one.
func TestForeign(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		old := r.acquire(t, r.locker(t))
		r.expire(t)
		now := r.acquire(t, r.locker(t))
		for _, s := range r.servers {
			if err := s.PExpire(t.Context(), "L", 5*time.Second).Err(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := old.Extend(t.Context())
		bare := r.Name == "single-bare-expire"
		if bare && err != nil {
			t.Errorf("a bare PEXPIRE: %v", err)
		} else if !bare {
			want(t, "extend by the former holder", err, locks.ErrLost, true)
		}
		for _, s := range r.servers {
			if left := s.PTTL(t.Context(), "L").Val(); left > 5*time.Second != bare {
				t.Errorf("after an extend by the former holder the lock has %s left", left)
			}
		}
		err = old.Release(t.Context())
		if r.Name == "single-bare-del" {
			if err != nil || r.held(t, "") != 1 {
				t.Errorf("a bare DEL: %v, and the lock holds %q, want it gone", err, r.servers[0].Value(t, "L"))
			}
			return
		}
		want(t, "release by the former holder", err, locks.ErrLost, true)
		if n := r.held(t, now.Owner); n != r.Nodes {
			t.Errorf("after a foreign release %d of %d nodes hold the lock", n, r.Nodes)
		}
	})
}

// Code that sets the TTL by a command of its own leaves a lock for ever where it
// ends in between.
func TestSetThenExpireWithoutExpire(t *testing.T) {
	eachOf(t, func(s locks.System) bool { return s.Name == "single-set-then-expire" }, func(t *testing.T, r *rig) {
		g := r.acquire(t, r.locker(t))
		if left := r.servers[0].PTTL(t.Context(), "L").Val(); left <= ttl/2 || left > ttl {
			t.Errorf("a whole acquire gives the lock %s", left)
		}
		if err := g.Release(t.Context()); err != nil {
			t.Error(err)
		}
		cut := r.locker(t, func(c *locks.Config) { c.Pools = []redis.Pool{&onlyOnce{Pool: c.Pools[0]}} })
		_, err := cut.Acquire(t.Context())
		want(t, "an acquire whose second command is lost", err, locks.ErrUnavailable, false)
		if left := r.servers[0].PTTL(t.Context(), "L").Val(); left != -1 {
			t.Errorf("the lock has %s left, want it without an end", left)
		}
	})
}

func TestTokensRise(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		if !r.Mints {
			if g := r.acquire(t, r.locker(t)); g.Token != 0 {
				t.Errorf("token %d of a system that mints none", g.Token)
			}
			return
		}
		a, b := r.locker(t), r.locker(t)
		last := int64(0)
		for i := range 30 {
			l := a
			if i%3 == 0 {
				l = b
			}
			g := r.acquire(t, l)
			if g.Token <= last {
				t.Errorf("acquire %d gives token %d after %d", i, g.Token, last)
			}
			last = g.Token
			_, err := a.Acquire(t.Context()) // refused: mints nothing that matters
			want(t, "acquire while held", err, locks.ErrRefused, true)
			if i%2 == 0 {
				r.expire(t)
			} else if err := g.Release(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// A client that sends the acquire again, as its reply was lost, gets the same
// grant. Not of those that send a SET NX, which is refused the second time.
func TestAcquireSentTwice(t *testing.T) {
	eachOf(t, func(s locks.System) bool {
		return strings.HasPrefix(s.Name, "single") && s.Mints && !strings.Contains(s.Name, "mint")
	}, func(t *testing.T, r *rig) {
		r.acquire(t, r.locker(t, func(c *locks.Config) { c.Name = "other" })) // another lock's counter is not ours
		same := r.locker(t, func(c *locks.Config) { c.Value = func() (string, error) { return "me", nil } })
		one, two := r.acquire(t, same), r.acquire(t, same)
		if one.Owner != "me" || two.Owner != "me" || one.Token != 1 || two.Token != 1 {
			t.Errorf("first %+v, sent again %+v, want token 1 twice", one, two)
		}
		if err := two.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if three := r.acquire(t, same); three.Token <= two.Token {
			t.Errorf("after the release token %d, want it above %d", three.Token, two.Token)
		}
	})
}

func TestNoValue(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		dry := errors.New("no randomness left")
		l := r.locker(t, func(c *locks.Config) { c.Value = func() (string, error) { return "", dry } })
		if _, err := l.Acquire(t.Context()); err == nil {
			t.Error("granted without a value")
		}
		if n := r.held(t, ""); n != r.Nodes {
			t.Errorf("%d of %d nodes are free", n, r.Nodes)
		}
	})
}

func TestServerDown(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		l := r.locker(t)
		g := r.acquire(t, l)
		for _, s := range r.servers[:r.Quorum()] {
			s.Kill()
		}
		_, err := l.Acquire(t.Context())
		// One node: nothing was sent. Many: some may have heard of it, and redsync does not tell.
		nothing := r.Nodes == 1 && r.Name != "redsync-single"
		want(t, "acquire", err, locks.ErrUnavailable, nothing)
		_, err = g.Extend(t.Context())
		want(t, "extend", err, locks.ErrUnavailable, nothing)
		want(t, "release", g.Release(t.Context()), locks.ErrUnavailable, nothing)
	})
}

// A server that hangs may still do what it was asked for; one of many does not matter.
func TestServerHangs(t *testing.T) {
	eachOf(t, func(s locks.System) bool { return s.Nodes == 1 }, func(t *testing.T, r *rig) {
		l := r.locker(t)
		r.acquire(t, r.locker(t, func(c *locks.Config) { c.Name = "warm" }))
		r.servers[0].Stopped(t, func() {
			_, err := l.Acquire(t.Context())
			want(t, "acquire", err, locks.ErrUnavailable, false)
		})
		redistest.Until(t, "the server has done it all the same", func() bool {
			return r.servers[0].Value(t, "L") != "" || r.servers[0].Value(t, "L:token") != "" || r.Name == "redsync-single"
		})
	})
}

// go-redis sends a command again after a broken connection: when that is
// refused, the first may have been done.
func TestSentAndThenRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { // reads a command, and is gone
		conn, err := l.Accept()
		if err == nil {
			_, _ = conn.Read(make([]byte, 1024))
			l.Close()
			conn.Close()
		}
	}()
	client := goredislib.NewClient(&goredislib.Options{Addr: l.Addr().String(), DisableIdentity: true, Protocol: 2, DialerRetries: 1})
	defer client.Close()
	single, err := locks.Find("single")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{System: single, pools: []redis.Pool{goredis.NewPool(client)}}
	_, err = r.locker(t, func(c *locks.Config) { c.Options.MaxRetries = 0 }).Acquire(t.Context())
	want(t, "acquire", err, locks.ErrUnavailable, false)
}
