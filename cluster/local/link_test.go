package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockchaos/cluster"
)

func TestHold(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	a := dial(t, c, "w1", "n1")

	apply(t, l, "q", cluster.Rule{Direction: cluster.Requests})
	a.send("SET", "a", "1")
	a.send("SET", "a", "2")
	until(t, "both are held", func() bool { return l.Counts().HeldCommands == 2 })
	if got := get(t, c, "n1", "a"); got != "" {
		t.Errorf("a held request has reached the node: %q", got)
	}
	lift(t, l, "q")
	lift(t, l, "q")
	a.expect("+OK", "+OK")
	if got := get(t, c, "n1", "a"); got != "2" {
		t.Errorf("out of order: %q", got)
	}

	apply(t, l, "p", cluster.Rule{Direction: cluster.Replies})
	a.send("SET", "a", "3")
	until(t, "the request is there", func() bool { return get(t, c, "n1", "a") == "3" })
	a.silent()
	lift(t, l, "p")
	a.expect("+OK")

	apply(t, l, "b", cluster.Rule{Direction: cluster.Both})
	b := dial(t, c, "w1", "n1") // a connection that comes later
	b.send("PING")
	b.silent()
	lift(t, l, "b")
	b.expect("+PONG")

	sent := int64(3*len(request("SET", "a", "1")) + len(request("PING")))
	want := cluster.Counts{
		RequestBytes: sent, ReplyBytes: 3*5 + 7, Connections: 2, HeldCommands: 3,
		HeldBytes: sent - int64(len(request("SET", "a", "3"))) + 5,
	}
	if got := l.Counts(); got != want {
		t.Errorf("counts are %+v, want %+v", got, want)
	}
}

func TestHoldCommands(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	apply(t, l, "set", cluster.Rule{Commands: []string{"SET", "evalsha"}})
	a, b := dial(t, c, "w1", "n1"), dial(t, c, "w1", "n1")

	a.raw(request("PING") + request("set", "a", "1") + request("PING") + "PING\r\n")
	a.expect("+PONG")
	a.silent() // what is behind waits with it
	b.send("PING")
	b.expect("+PONG")
	b.send("EVAL", "return 7", "0")
	b.expect(":7")
	for _, part := range []string{"*3\r", "\n$7\r\nEVA", "LSHA\r\n$1\r\nx\r", "\n$1\r\n0\r\n"} {
		b.raw(part)
		b.silent()
	}
	if n := l.Counts().HeldCommands; n != 2 {
		t.Errorf("%d commands were held, want 2", n)
	}
	if got := get(t, c, "n1", "a"); got != "" {
		t.Errorf("a held request has reached the node: %q", got)
	}
	lift(t, l, "set")
	a.expect("+OK", "+PONG", "+PONG")
	if got, _ := b.line(time.Second); !strings.HasPrefix(got, "-NOSCRIPT") {
		t.Errorf("got %q", got)
	}
}

// TestRuleInTheMiddle: a request that has begun before a rule on commands goes on.
func TestRuleInTheMiddle(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	a := dial(t, c, "w1", "n1")
	whole := request("SET", "a", "1")
	for i := 1; i < len(whole); i++ {
		before := l.Counts().RequestBytes
		a.raw(whole[:i])
		until(t, "the start is delivered", func() bool { return l.Counts().RequestBytes == before+int64(i) })
		apply(t, l, "set", cluster.Rule{Commands: []string{"SET"}})
		a.raw(whole[i:])
		a.expect("+OK")
		a.send("SET", "a", "2")
		a.silent()
		lift(t, l, "set")
		a.expect("+OK")
	}
}

// TestRulesTogether: a request waits for the last rule that holds it.
func TestRulesTogether(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	a := dial(t, c, "w1", "n1")
	apply(t, l, "all", cluster.Rule{Direction: cluster.Requests})
	a.send("PING")
	a.send("SET", "a", "1")
	until(t, "both are held", func() bool { return l.Counts().HeldCommands == 2 })
	apply(t, l, "set", cluster.Rule{Commands: []string{"SET"}})
	if err := l.Apply(deadline(t), "set", cluster.Rule{}); err == nil {
		t.Error("an id was taken twice")
	}
	lift(t, l, "all")
	a.expect("+PONG")
	a.silent()
	lift(t, l, "set")
	a.expect("+OK")

	for _, r := range []cluster.Rule{
		{Direction: cluster.Replies, Commands: []string{"SET"}}, {Direction: cluster.Both, Commands: []string{"SET"}},
		{Direction: "sideways"},
	} {
		if err := l.Apply(deadline(t), "bad", r); err == nil {
			t.Errorf("%+v was taken", r)
		}
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	for _, r := range []cluster.Rule{
		{Drop: true, Direction: cluster.Requests}, {Drop: true, Direction: cluster.Replies},
		{Drop: true}, {Drop: true, Commands: []string{"SET"}},
	} {
		t.Run(fmt.Sprint(r.Direction, r.Commands), func(t *testing.T) {
			t.Parallel()
			c, l := linked(t)
			a, idle := dial(t, c, "w1", "n1"), dial(t, c, "w1", "n1")
			idle.send("PING")
			idle.expect("+PONG")
			apply(t, l, "cut", r)
			apply(t, l, "other", r)
			a.raw(request("SET", "a", "1") + request("PING"))
			a.silent()
			if l.Counts().DroppedBytes == 0 {
				t.Error("nothing was dropped")
			}
			lift(t, l, "cut")
			a.silent() // cut still, so it must not learn of it
			lift(t, l, "other")
			if got, err := a.line(5 * time.Second); err == nil || isTimeout(err) {
				t.Errorf("got %q, %v; want the end of a connection that has lost bytes", got, err)
			}
			idle.send("PING")
			idle.expect("+PONG")
			if got := get(t, c, "n1", "a"); (got == "1") != (r.Direction == cluster.Replies) {
				t.Errorf("the node has a=%q", got)
			}
		})
	}
}

// TestCutIsComplete: what is on its way, behind a delay, is dropped too.
func TestCutIsComplete(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	ctx := deadline(t)
	a := dial(t, c, "w1", "n1")
	a.send("PING")
	a.expect("+PONG")
	if err := l.Delay(ctx, "slow", 50*time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	before := l.Counts()
	a.send("SET", "a", "1")
	apply(t, l, "cut", cluster.Rule{Drop: true})
	until(t, "it is dropped", func() bool { return l.Counts().DroppedBytes > 0 })
	if now := l.Counts(); now.RequestBytes != before.RequestBytes {
		t.Errorf("%+v → %+v", before, now)
	}
	lift(t, l, "cut")
	if got, err := a.line(5 * time.Second); err == nil || isTimeout(err) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestLateMessage: held requests reach the node after their client has gone.
func TestLateMessage(t *testing.T) {
	t.Parallel()
	const many = 200
	leave := map[string]func(*client){
		"closed": func(a *client) { a.Close() },
		"reset":  func(a *client) { _ = a.Conn.(*net.TCPConn).SetLinger(0); a.Close() },
	}
	for how, f := range leave {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c, l := linked(t)
			for range 5 {
				late(t, c, l, many, f)
			}
			until(t, "the connections are forgotten", func() bool { return len(l.open()) == 0 })
		})
	}
}

func late(t *testing.T, c *Cluster, l *Link, many int, leave func(*client)) {
	set(t, c, "n1", "a", "0")
	a := dial(t, c, "w1", "n1")
	a.send("INCR", "a")
	a.expect(":1")
	before := l.Counts().HeldCommands
	apply(t, l, "hold", cluster.Rule{Direction: cluster.Requests})
	for range many {
		a.send("INCR", "a")
	}
	until(t, "all are held", func() bool { return l.Counts().HeldCommands == before+int64(many) })
	leave(a)
	until(t, "the client has gone", func() bool { return l.open()[0].clientGone.Load() })
	if err := l.Delay(deadline(t), "interrupt", time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	if err := l.Undelay(deadline(t), "interrupt"); err != nil {
		t.Fatal(err)
	}
	if n, _ := l.Reset(deadline(t)); n != 0 {
		t.Errorf("%d connections reset, though none is open", n)
	}
	if got := get(t, c, "n1", "a"); got != "1" {
		t.Errorf("the node has %s", got)
	}
	lift(t, l, "hold")
	until(t, "all have arrived", func() bool { return get(t, c, "n1", "a") == fmt.Sprint(many+1) })
}

func TestDelay(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	ctx := deadline(t)
	stop := make(chan struct{})
	defer close(stop)
	for range 4 {
		a := dial(t, c, "w1", "n1")
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				_, _ = io.WriteString(a, "PING\r\n")
				if got, err := a.line(5 * time.Second); got != "+PONG" && err == nil {
					t.Errorf("got %q", got)
				}
			}
		}()
	}
	for i := range 5 {
		if err := l.Delay(ctx, "slow/1", 20*time.Millisecond, 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if err := l.Delay(ctx, "slow/1", time.Second, 0); err == nil {
			t.Error("an id was taken twice")
		}
		if rtt, err := l.Probe(ctx); err != nil || rtt < 30*time.Millisecond {
			t.Errorf("round %d: delayed probe took %v, %v", i, rtt, err)
		}
		for range 2 {
			if err := l.Undelay(ctx, "slow/1"); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "probes are fast again", func() bool {
			rtt, err := l.Probe(ctx)
			return err == nil && rtt < 25*time.Millisecond
		})
	}
	if err := l.Delay(ctx, "no", 0, 0); err == nil {
		t.Error("a delay of nothing was taken")
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	a, b, gone := dial(t, c, "w1", "n1"), dial(t, c, "w1", "n1"), dial(t, c, "w1", "n1")
	for _, conn := range []*client{a, b, gone} {
		conn.send("PING")
		conn.expect("+PONG")
	}
	gone.Close()
	until(t, "one has gone", func() bool { return len(l.open()) == 2 })
	apply(t, l, "hold", cluster.Rule{})
	b.send("SET", "a", "1")
	until(t, "it is held", func() bool { return l.Counts().HeldBytes > 0 })
	if n, err := l.Reset(deadline(t)); n != 2 || err != nil {
		t.Errorf("%d were reset, %v; want 2", n, err)
	}
	for _, conn := range []*client{a, b} {
		if _, err := conn.line(5 * time.Second); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("got %v; want a reset", err)
		}
	}
	lift(t, l, "hold")
	until(t, "the connections are forgotten", func() bool { return len(l.open()) == 0 })
	if got := get(t, c, "n1", "a"); got != "" {
		t.Errorf("a request of a broken connection has arrived: %q", got)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	ctx := deadline(t)
	if rtt, err := l.Probe(ctx); err != nil || rtt <= 0 {
		t.Error(rtt, err)
	}
	for _, r := range []cluster.Rule{{}, {Drop: true}} {
		apply(t, l, "r", r)
		short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
		if _, err := l.Probe(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Error("want the deadline:", err)
		}
		cancel()
		lift(t, l, "r")
	}
	if _, err := c.CrashNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Probe(ctx); err == nil || !strings.Contains(err.Error(), "w1→n1") {
		t.Error("want an error that names the link:", err)
	}
	if _, err := c.StartNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Probe(ctx); err != nil {
		t.Error(err)
	}
	if got := l.Counts(); got != (cluster.Counts{}) {
		t.Errorf("probes were counted: %+v", got)
	}
}

// TestBlockedWrite: the node reads no more and the way is full; yet a control
// call ends, at the price of the connections.
func TestBlockedWrite(t *testing.T) {
	t.Parallel()
	c, l := linked(t)
	ctx := deadline(t)
	if err := l.Delay(ctx, "slow", time.Millisecond, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.PauseNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	a := dial(t, c, "w1", "n1")
	block := request("SET", "a", strings.Repeat("x", 1<<20))
	for {
		_ = a.SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		if _, err := io.WriteString(a, block); err != nil {
			break
		}
	}
	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_ = l.Undelay(short, "slow")
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the call took %v", took)
	}
	if _, err := c.ResumeNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if err := l.Undelay(ctx, "slow"); err != nil {
		t.Error(err)
	}
	if _, err := l.Probe(ctx); err != nil {
		t.Error(err)
	}
}
