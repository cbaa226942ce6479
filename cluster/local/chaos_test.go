package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"lockchaos/cluster"
)

// TestRandomOperations does all that can be done to a link, in random order
// and under traffic, and then looks whether traffic flows as before. In all
// that time no connection may carry a reply that is not the next one.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("LOCKCHAOS_TEST_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("LOCKCHAOS_TEST_SEED=%d", seed)

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() { traffic(t, ctx, l.Addr(), rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	for i := range 3 {
		wg.Go(func() { disturb(t, ctx, l, fmt.Sprint(i), rand.New(rand.NewPCG(seed, uint64(100+i)))) })
	}
	wg.Wait()

	start := time.Now()
	for i := range 3 {
		for j := range 2 {
			id := fmt.Sprintf("%d.%d", i, j)
			lift(t, l, id)
			if err := l.Undelay(deadline(t), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := l.Probe(deadline(t)); err != nil {
		t.Error(err)
	}
	a := dial(t, c, "w1", "n1")
	a.send("ECHO", "well")
	a.expect("$4", "well")
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("recovery took %v", took)
	}
	a.Close()
	until(t, "all connections are forgotten", func() bool { return len(l.open()) == 0 })
	t.Logf("%+v", l.Counts())
}

// disturb does random things until ctx ends, and heals only some of them.
func disturb(t *testing.T, ctx context.Context, l *Link, who string, r *rand.Rand) {
	fail := func(err error) {
		if err != nil && ctx.Err() == nil && !strings.Contains(err.Error(), "in force already") {
			t.Error(err)
		}
	}
	long := context.Background()
	for ctx.Err() == nil {
		id := fmt.Sprintf("%s.%d", who, r.IntN(2))
		pace := time.NewTimer(time.Duration(r.IntN(2000)) * time.Microsecond)
		<-pace.C // let traffic flow between
		switch r.IntN(12) {
		case 0:
			fail(l.Apply(long, id, randomRule(r)))
		case 1, 2, 3, 4, 5, 6:
			fail(l.Lift(long, id))
		case 7:
			fail(l.Delay(long, id, time.Duration(1+r.IntN(5))*time.Millisecond, time.Duration(r.IntN(3))*time.Millisecond))
		case 8, 9:
			fail(l.Undelay(long, id))
		case 10:
			if r.IntN(4) == 0 {
				_, err := l.Reset(long)
				fail(err)
			}
		case 11:
			short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			_, _ = l.Probe(short) // it may well be held
			cancel()
		}
	}
}

func randomRule(r *rand.Rand) cluster.Rule {
	rule := cluster.Rule{
		Drop:      r.IntN(3) == 0,
		Direction: []cluster.Direction{cluster.Requests, cluster.Replies, cluster.Both}[r.IntN(3)],
	}
	if r.IntN(2) == 0 {
		rule.Direction, rule.Commands = cluster.Requests, []string{"ECHO", "EVAL"}
	}
	return rule
}

// traffic opens connections and sends numbered requests, pipelined and cut anywhere.
func traffic(t *testing.T, ctx context.Context, addr string, r *rand.Rand) {
	for ctx.Err() == nil {
		conn, err := net.Dial("tcp4", addr)
		if errors.Is(err, syscall.ECONNRESET) {
			continue // a Reset was faster than the dial
		}
		if err != nil {
			t.Error(err)
			return
		}
		session(t, ctx, &client{Conn: conn, t: t, in: bufio.NewReader(conn)}, r)
		conn.Close()
	}
}

func session(t *testing.T, ctx context.Context, c *client, r *rand.Rand) {
	next, expected := 0, 0
	for ctx.Err() == nil {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			b.WriteString(request([]string{"ECHO", "echo"}[r.IntN(2)], fmt.Sprint(next)))
			next++
		}
		for s := b.String(); s != ""; {
			n := 1 + r.IntN(len(s))
			if _, err := io.WriteString(c, s[:n]); err != nil {
				return
			}
			s = s[n:]
		}
		for ; expected < next; expected++ {
			length, err := c.line(100 * time.Millisecond)
			if err != nil {
				return
			}
			got, err := c.line(100 * time.Millisecond)
			if err != nil {
				return
			}
			if want := fmt.Sprint(expected); got != want || length != fmt.Sprintf("$%d", len(want)) {
				t.Errorf("got %q %q, want %q", length, got, want)
				return
			}
		}
	}
}
