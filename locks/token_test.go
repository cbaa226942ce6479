package locks_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"lockchaos/locks"
)

// minting is a locker of the rig with a way to get tokens, while some nodes are away.
func (r *rig) minting(t *testing.T, token string, gone ...int) locks.Locker {
	t.Helper()
	return r.locker(t, func(c *locks.Config) {
		c.Options.Token, c.Options.TimeoutFactor = token, ptr(0.5)
		c.Pools = append(c.Pools[:0:0], c.Pools...)
		for i := range c.Pools {
			for _, n := range gone {
				if i == n-1 {
					c.Pools[i] = away{}
				}
			}
		}
	})
}

// token acquires while some nodes are away, and releases.
func (r *rig) token(t *testing.T, token string, gone ...int) int64 {
	t.Helper()
	g := r.acquire(t, r.minting(t, token, gone...))
	if err := g.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g.Token
}

// counters are the counters of the nodes.
func (r *rig) counters(t *testing.T) string {
	t.Helper()
	var all []string
	for _, s := range r.servers {
		all = append(all, s.Value(t, "L:token"))
	}
	return strings.Join(all, ",")
}

// Which majorities answer decides what the counters of the nodes are.
func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		token    string
		last     int64
		counters string
	}{
		{locks.TokenNone, 0, ",,,,"},
		{locks.TokenNaive, 3, "4,3,3,3,2"}, // after a 4
		{locks.TokenQuorum, 5, "4,5,5,5,4"},
	} {
		r := redlock(t)
		one, two := []int{4, 5}, []int{2, 3}
		for i, gone := range [][]int{one, two, one, two} {
			want := int64(i + 1)
			if c.token == locks.TokenNone {
				want = 0
			}
			if got := r.token(t, c.token, gone...); got != want {
				t.Errorf("%s: grant %d has the token %d", c.token, i+1, got)
			}
		}
		if got := r.token(t, c.token, 1, 5); got != c.last {
			t.Errorf("%s: the last grant has the token %d, want %d", c.token, got, c.last)
		}
		if got := r.counters(t); got != c.counters {
			t.Errorf("%s: the counters are %s, want %s", c.token, got, c.counters)
		}
	}
}

// Two majorities share one node. If that forgets, both get one token.
func TestTokenForgotten(t *testing.T) {
	t.Parallel()
	for _, forgets := range []bool{false, true} {
		r := redlock(t)
		want := int64(2)
		if one := r.token(t, locks.TokenQuorum, 4, 5); one != 1 {
			t.Fatalf("the first token is %d", one)
		}
		if forgets {
			want = 1
			if err := r.servers[2].FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if two := r.token(t, locks.TokenQuorum, 1, 2); two != want {
			t.Errorf("node 3 forgets %v: the second token is %d, want %d", forgets, two, want)
		}
	}
}

// Without a majority for the token there is no grant, and nothing is left of it.
func TestTokenWithoutMajority(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ token, value, says string }{
		{locks.TokenNaive, "no number", "the counter was raised on 2 of 5 nodes, 3 are needed"},
		{locks.TokenQuorum, "no number", "the counter was read on 2 of 5 nodes, 3 are needed"},
	} {
		r := redlock(t)
		for _, s := range r.servers[:3] {
			if err := s.Set(t.Context(), "L:token", c.value, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
		_, err := r.minting(t, c.token).Acquire(t.Context())
		want(t, c.token, err, locks.ErrUnavailable, false)
		if err == nil || !strings.HasSuffix(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", c.token, err, c.says)
		}
		if n := r.held(t, ""); n != r.Nodes {
			t.Errorf("%s: %d nodes are free", c.token, n)
		}
	}
}

// A token is stored only where this grant holds the lock, and above what is there.
func TestStoreToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lose, jump int // nodes that lose the lock, or whose counter has moved on, after the read
		granted    bool
	}{
		"all hold it":                 {0, 0, true},
		"two have lost it":            {2, 0, true},
		"three have lost it":          {3, 0, false},
		"two counters have moved":     {0, 2, true},
		"three counters have moved":   {0, 3, false},
		"one lost it and two have it": {1, 2, false},
	} {
		r := redlock(t)
		l := r.locker(t, func(conf *locks.Config) {
			conf.Options.Token, conf.Options.TimeoutFactor = locks.TokenQuorum, ptr(0.5)
			conf.Pools = nil
			for i, p := range r.pools {
				s, lose, jump := r.servers[i], i < c.lose, i >= r.Nodes-c.jump
				conf.Pools = append(conf.Pools, &meddled{Pool: p, n: 3, meddle: func() {
					if lose {
						s.Del(t.Context(), "L")
					}
					if jump {
						s.Set(t.Context(), "L:token", "1", 0)
					}
				}})
			}
		})
		g, err := l.Acquire(t.Context())
		if c.granted != (err == nil) || err == nil && g.Token != 1 {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
		if err != nil {
			want(t, name, err, locks.ErrUnavailable, false)
		}
	}
}

// The token of a second command goes to the stale holder where the lease ends
// before it; one that was asked for first is older than that of a later grant.
func TestMintApart(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]int64{"single-mint-after": {2, 1}, "single-mint-before": {1, 2}} {
		s, err := locks.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, s)
		var second *locks.Grant
		first, err := r.locker(t, func(c *locks.Config) {
			c.Pools = append(c.Pools[:0:0], &meddled{Pool: c.Pools[0], n: 2, meddle: func() {
				r.expire(t)
				second = r.acquire(t, r.locker(t))
				if name == "single-mint-before" {
					r.expire(t)
				}
			}})
		}).Acquire(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := [2]int64{first.Token, second.Token}; got != want {
			t.Errorf("%s: tokens %v, want %v", name, got, want)
		}
	}
}

// What a token takes is taken off the lease, too.
func TestTokenTooLate(t *testing.T) {
	s, err := locks.Find("redlock")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := &rig{System: s}
		for range s.Nodes {
			r.pools = append(r.pools, slow{takes: ttl / 2})
		}
		_, err := r.minting(t, locks.TokenNaive).Acquire(t.Context())
		want(t, "acquire", err, locks.ErrTooLate, false)
	})
}

// If the token does not come, the lock is given back.
func TestMintAfterFails(t *testing.T) {
	t.Parallel()
	s, err := locks.Find("single-mint-after")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, s)
	if err := r.servers[0].Set(t.Context(), "L:token", "no number", 0).Err(); err != nil {
		t.Fatal(err)
	}
	_, err = r.locker(t).Acquire(t.Context())
	want(t, "acquire", err, locks.ErrUnavailable, false)
	if v := r.servers[0].Value(t, "L"); v != "" {
		t.Errorf("the lock is left to %q", v)
	}
}
