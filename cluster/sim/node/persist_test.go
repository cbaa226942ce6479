package node

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// synced sleeps until the next whole second.
func synced() {
	now := time.Now()
	time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
}

func TestCrash(t *testing.T) {
	for _, c := range []struct {
		persistence    string
		crash, noPower any // what is left of a fresh write
	}{
		{"", nil, nil},
		{PersistNone, nil, nil},
		{PersistEverySec, "v", nil},
		{PersistAlways, "v", "v"},
	} {
		bubble(t, c.persistence+" killed", func(t *testing.T) {
			n := New(Options{Persistence: c.persistence})
			n.Do("SET", "k", "v")
			n.Crash()
			n.Start()
			want(t, n, c.crash, "GET", "k")
		})
		bubble(t, c.persistence+" without power", func(t *testing.T) {
			n := New(Options{Persistence: c.persistence})
			n.Do("SET", "k", "v")
			n.PowerLoss()
			n.Start()
			want(t, n, c.noPower, "GET", "k")
		})
		bubble(t, c.persistence+" killed, then without power", func(t *testing.T) {
			n := New(Options{Persistence: c.persistence})
			n.Do("SET", "k", "v")
			n.Crash()
			n.PowerLoss()
			n.Start()
			want(t, n, c.noPower, "GET", "k")
		})
	}
}

func TestEverySecond(t *testing.T) {
	everySec := Options{Persistence: PersistEverySec}
	bubble(t, "what was written before the last whole second survives", func(t *testing.T) {
		n := New(everySec)
		n.Do("SET", "s", "old")
		n.Do("RPUSH", "l", 1, 2)
		n.Do("HSET", "h", "f", "old")
		n.Do("SET", "gone", "x")
		n.Do("SET", "ttl", "x", "PX", 100_000)
		before := dump(n)
		synced()
		n.Do("SET", "s", "new")
		n.Do("SET", "s", "newer")
		n.Do("RPUSH", "l", 3)
		n.Do("LPUSH", "l", 0)
		n.Do("HSET", "h", "f", "new", "g", "new")
		n.Do("HDEL", "h", "f")
		n.Do("DEL", "gone")
		n.Do("PERSIST", "ttl")
		n.Do("SET", "fresh", 1)
		n.Do("INCR", "fresh")
		n.PowerLoss()
		n.Start()
		if got := dump(n); got != before {
			t.Errorf("after the loss of power:\n%s\nwant\n%s", got, before)
		}
	})
	bubble(t, "the second before is safe", func(t *testing.T) {
		n := New(everySec)
		n.Do("SET", "k", "v")
		synced()
		n.PowerLoss()
		n.Start()
		want(t, n, "v", "GET", "k")
	})
	bubble(t, "a flush is lost, too", func(t *testing.T) {
		n := New(everySec)
		n.Do("SET", "k", "v")
		n.Do("HSET", "h", "f", 1)
		synced()
		n.Do("FLUSHALL")
		n.Do("SET", "k", "w")
		n.PowerLoss()
		n.Start()
		want(t, n, "v", "GET", "k")
		want(t, n, "1", "HGET", "h", "f")
	})
	bubble(t, "power is lost twice", func(t *testing.T) {
		n := New(everySec)
		n.Do("SET", "k", 1)
		synced()
		n.Do("SET", "k", 2)
		n.PowerLoss()
		n.Start()
		n.Do("SET", "k", 3)
		n.PowerLoss()
		n.Start()
		want(t, n, "1", "GET", "k")
	})
	// As of a redis-server whose clock is moved.
	for name, c := range map[string]struct {
		move func(*Node)
		want any
	}{
		"seconds are of the node's clock: a jump ends one":   {func(n *Node) { n.Jump(time.Hour) }, "v"},
		"one that is set back has no new second for a while": {func(n *Node) { n.Jump(-time.Hour); synced() }, nil},
		"one that is fast has more of them":                  {func(n *Node) { n.SetRate(10); time.Sleep(200 * time.Millisecond) }, "v"},
	} {
		bubble(t, name, func(t *testing.T) {
			n := New(everySec)
			n.Do("SET", "k", "v")
			c.move(n)
			n.PowerLoss()
			n.Start()
			want(t, n, c.want, "GET", "k")
		})
	}
}

func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := New(Options{Name: "n1", Seed: 7, Persistence: PersistAlways})
		first := n.RunID()
		info, _ := n.Do("INFO").(string)
		if len(first) != 40 || !strings.Contains(info, "run_id:"+first+"\r\n") {
			t.Errorf("run id %q, INFO %q", first, info)
		}
		n.Do("SET", "k", "v", "PX", 60_000)
		sha := n.Do("SCRIPT", "LOAD", "return math.random(1000)")
		draw := n.Do("EVALSHA", sha, 0)
		if draw != int64(397) { // as a fresh redis-server draws
			t.Errorf("the first random number is %v", draw)
		}
		n.Jump(time.Second)

		n.Crash()
		n.Crash()
		want(t, n, ErrDown, "PING")
		if n.Up() {
			t.Error("a node is up after a crash")
		}
		time.Sleep(2 * time.Second)
		n.Start()
		second := n.RunID()
		n.Start() // does nothing
		if n.RunID() != second || second == first || !n.Up() {
			t.Errorf("run ids %s, %s, %s", first, second, n.RunID())
		}
		want(t, n, int64(57_000), "PTTL", "k") // the clock has gone on, a second ahead
		want(t, n, errNoScript, "EVALSHA", sha, 0)
		want(t, n, draw, "EVAL", "return math.random(1000)", 0)

		same := New(Options{Name: "n1", Seed: 7})
		if same.RunID() != first || New(Options{Name: "n2", Seed: 7}).RunID() == first || New(Options{Name: "n1", Seed: 8}).RunID() == first {
			t.Error("run ids do not depend on name and seed, or on more")
		}
	})
}

func TestUnknownPersistence(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), `"sometimes"`) {
			t.Errorf("got %v", r)
		}
	}()
	New(Options{Persistence: "sometimes"})
}
