package node

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// want runs a command and compares the reply.
func want(t *testing.T, n *Node, reply any, args ...any) {
	t.Helper()
	if got := n.Do(args...); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", reply) {
		t.Errorf("%v: got %#v, want %#v", args, got, reply)
	}
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func TestExpiry(t *testing.T) {
	bubble(t, "a key lives through its last millisecond", func(t *testing.T) {
		n := New(Options{})
		want(t, n, ok, "SET", "k", "v", "PX", 100)
		time.Sleep(100 * time.Millisecond)
		want(t, n, int64(0), "PTTL", "k")
		want(t, n, "v", "GET", "k")
		time.Sleep(time.Millisecond)
		want(t, n, nil, "GET", "k")
		want(t, n, int64(-2), "PTTL", "k")
		want(t, n, ok, "SET", "k", "w", "NX")
	})
	bubble(t, "each way to set it", func(t *testing.T) {
		n := New(Options{})
		at := time.Now().UnixMilli() + 5000
		for _, args := range [][]any{
			{"SET", "k", "v", "PX", 5000}, {"SET", "k", "v", "EX", 5}, {"SET", "k", "v", "PXAT", at}, {"SET", "k", "v", "EXAT", at / 1000},
			{"SETEX", "k", 5, "v"}, {"PSETEX", "k", 5000, "v"}, {"EXPIRE", "k", 5}, {"PEXPIRE", "k", 5000}, {"EXPIREAT", "k", at / 1000}, {"PEXPIREAT", "k", at},
		} {
			n.Do("SET", "k", "v")
			n.Do(args...)
			want(t, n, int64(5000), "PTTL", "k")
			want(t, n, at, "PEXPIRETIME", "k")
		}
	})
	bubble(t, "seconds are rounded", func(t *testing.T) {
		n := New(Options{})
		for ms, s := range map[int]int64{1: 0, 499: 0, 500: 1, 1499: 1, 1500: 2} {
			n.Do("SET", "k", "v", "PX", ms)
			want(t, n, s, "TTL", "k")
			want(t, n, (time.Now().UnixMilli()+int64(ms)+500)/1000, "EXPIRETIME", "k")
		}
		n.Do("PEXPIREAT", "k", math.MaxInt64)
		want(t, n, int64(9223372036854776), "EXPIRETIME", "k")
	})
	bubble(t, "what keeps a TTL and what does not", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", 1, "PX", 5000)
		n.Do("INCR", "k")
		want(t, n, int64(5000), "PTTL", "k")
		n.Do("SET", "k", 1, "KEEPTTL")
		want(t, n, int64(5000), "PTTL", "k")
		n.Do("SET", "k", 1)
		want(t, n, int64(-1), "PTTL", "k")
	})
	bubble(t, "an expired key is replaced by another type", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", 1, "PX", 1)
		time.Sleep(2 * time.Millisecond)
		want(t, n, int64(1), "RPUSH", "k", "a")
		want(t, n, int64(-1), "PTTL", "k")
	})
	bubble(t, "no time passes in a script", func(t *testing.T) {
		n := New(Options{})
		want(t, n, int64(1), "EVAL", `redis.call("SET", "k", 1, "PX", 1); return redis.call("EXISTS", "k")`, 0)
	})
}

func TestJump(t *testing.T) {
	bubble(t, "forward expires", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", "v", "PX", 10_000)
		before := n.Now()
		n.Jump(10*time.Second + time.Millisecond)
		if got := n.Now().Sub(before); got != 10*time.Second+time.Millisecond {
			t.Errorf("the clock jumped by %s", got)
		}
		want(t, n, nil, "GET", "k")
	})
	bubble(t, "back prolongs", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", "v", "PX", 10_000)
		n.Jump(-time.Minute)
		want(t, n, int64(70_000), "PTTL", "k")
		time.Sleep(69 * time.Second)
		want(t, n, "v", "GET", "k")
		time.Sleep(time.Second + time.Millisecond)
		want(t, n, nil, "GET", "k")
	})
	bubble(t, "there and back before anybody looks", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", "v", "PX", 10_000)
		n.Jump(time.Hour)
		n.Jump(-time.Hour)
		want(t, n, int64(10_000), "PTTL", "k")
	})
	bubble(t, "TIME shows it", func(t *testing.T) {
		n := New(Options{})
		n.Jump(1500 * time.Millisecond)
		at := time.Now().Add(1500 * time.Millisecond)
		want(t, n, []any{fmt.Sprint(at.Unix()), "500000"}, "TIME")
	})
	bubble(t, "other nodes keep their time", func(t *testing.T) {
		n, other := New(Options{}), New(Options{})
		n.Jump(time.Hour)
		if !other.Now().Equal(time.Now()) {
			t.Errorf("the other's clock shows %s at %s", other.Now(), time.Now())
		}
	})
}

func TestRate(t *testing.T) {
	bubble(t, "ten times as fast", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", "v", "PX", 10_000)
		n.SetRate(10)
		want(t, n, int64(10_000), "PTTL", "k") // it does not jump
		time.Sleep(time.Second)
		want(t, n, int64(0), "PTTL", "k")
		time.Sleep(time.Millisecond)
		want(t, n, nil, "GET", "k")
	})
	bubble(t, "stopped, and on again", func(t *testing.T) {
		n := New(Options{})
		n.Do("SET", "k", "v", "PX", 10_000)
		n.SetRate(0)
		time.Sleep(time.Hour)
		want(t, n, int64(10_000), "PTTL", "k")
		n.SetRate(1)
		time.Sleep(4 * time.Second)
		want(t, n, int64(6_000), "PTTL", "k")
	})
	bubble(t, "changes and jumps add up", func(t *testing.T) {
		n := New(Options{})
		start := n.Now()
		n.SetRate(2)
		time.Sleep(3 * time.Second)
		n.SetRate(0.5)
		time.Sleep(4 * time.Second)
		n.Jump(-time.Second)
		n.SetRate(1)
		time.Sleep(time.Second)
		if got := n.Now().Sub(start); got != 8*time.Second {
			t.Errorf("the clock went on by %s, want 8s", got)
		}
	})
}
