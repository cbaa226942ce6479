package node

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Effects as they reach a replica, one command after the other.
func TestEffects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		n := New(Options{OnWrite: func(args []string) { got = append(got, strings.Join(args, " ")) }})
		ms := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).UnixMilli()) }
		for _, c := range []struct {
			args    []any
			effects string
		}{
			{[]any{"SET", "k", "v"}, "SET k v"},
			{[]any{"SET", "k", "v", "NX"}, ""},
			{[]any{"SET", "k", "v", "PX", 1000, "GET"}, "SET k v PXAT " + ms(time.Second)},
			{[]any{"SET", "k", "w", "XX", "KEEPTTL"}, "SET k w KEEPTTL"},
			{[]any{"SETEX", "k", 2, "v"}, "SET k v PXAT " + ms(2*time.Second)},
			{[]any{"SETNX", "n", 1}, "SET n 1"},
			{[]any{"INCRBY", "n", 5}, "INCRBY n 5"},
			{[]any{"EXPIRE", "n", 3}, "PEXPIREAT n " + ms(3*time.Second)},
			{[]any{"EXPIRE", "n", 3, "NX"}, ""},
			{[]any{"PERSIST", "n"}, "PERSIST n"},
			{[]any{"PERSIST", "n"}, ""},
			{[]any{"PEXPIREAT", "n", 1}, "DEL n"},
			{[]any{"GETDEL", "k"}, "DEL k"},
			{[]any{"DEL", "k", "n"}, ""},
			{[]any{"HSET", "h", "f", 1, "g", 2}, "HSET h f 1 g 2"},
			{[]any{"HDEL", "h", "x"}, ""},
			{[]any{"HDEL", "h", "f", "g"}, "HDEL h f g"},
			{[]any{"RPUSH", "l", 1, 2}, "RPUSH l 1 2"},
			{[]any{"UNLINK", "l", "none"}, "DEL l"},
			{[]any{"INCR", "t"}, "INCR t"},
			{[]any{"EVAL", acquireSource, 2, "L", "t", "w1", 500}, "SET L w1 PXAT " + ms(500*time.Millisecond) + "; INCR t"},
			{[]any{"EVAL", acquireSource, 2, "L", "t", "w2", 500}, ""},
			{[]any{"EVAL", `redis.call("SET", "a", 1); redis.call("INCR", "l", 1)`, 0}, "SET a 1"},
			{[]any{"FLUSHDB", "ASYNC"}, "FLUSHDB"},
		} {
			got = nil
			n.Do(c.args...)
			if all := strings.Join(got, "; "); all != c.effects {
				t.Errorf("%v: effects %q, want %q", c.args, all, c.effects)
			}
		}

		n.Do("SET", "b", 1, "PX", 5)
		n.Do("SET", "a", 1, "PX", 5)
		n.Do("SET", "c", 1, "PX", 5)
		time.Sleep(6 * time.Millisecond)
		got = nil
		want(t, n, nil, "GET", "c")
		want(t, n, int64(0), "DBSIZE")
		if all := strings.Join(got, "; "); all != "DEL c; DEL a; DEL b" {
			t.Errorf("expiry has effects %q", all)
		}
	})
}

func TestWait(t *testing.T) {
	want(t, New(Options{}), int64(0), "WAIT", 1, 1000)
	synctest.Test(t, func(t *testing.T) {
		var n *Node
		n = New(Options{Wait: func(replicas int64, timeout time.Duration) int64 {
			time.Sleep(timeout)
			n.Do("SET", "k", "while waiting") // the node is not locked
			return replicas - 1
		}})
		start := time.Now()
		want(t, n, int64(2), "WAIT", 3, 250)
		if d := time.Since(start); d != 250*time.Millisecond {
			t.Errorf("WAIT took %s", d)
		}
		want(t, n, errNegTimeout, "WAIT", 1, -1)
	})
}

// Many goroutines on a few nodes: for the race detector, and as locks would.
func TestConcurrent(t *testing.T) {
	nodes := []*Node{New(Options{}), New(Options{}), New(Options{})}
	var wg sync.WaitGroup
	const goroutines, rounds = 8, 300
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				n := nodes[(g+i)%len(nodes)]
				n.Do("EVAL", acquireSource, 2, fmt.Sprint("L", i), "token", g, 10_000)
				n.Do("INCR", "count")
				n.Jump(time.Microsecond)
				_ = n.Now()
			}
		})
	}
	wg.Wait()
	total := int64(0)
	for _, n := range nodes {
		v, _ := integer(n.Do("GET", "count").(string))
		total += v
	}
	if total != goroutines*rounds {
		t.Errorf("counted %d, want %d", total, goroutines*rounds)
	}
}
