package local

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

func oneNode(t *testing.T) *Cluster {
	t.Helper()
	return up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
}

func TestEvictKeys(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	ctx := deadline(t)
	if proof, err := c.EvictKeys(ctx, "n1"); !errors.Is(err, cluster.ErrIdle) {
		t.Errorf("without a key: %q, %v", proof, err)
	}
	set(t, c, "n1", "lock", "w1")
	set(t, c, "n1", "token", "7")
	proof, err := c.EvictKeys(ctx, "n1")
	if err != nil || proof != "evicted: lock, token" {
		t.Fatal(proof, err)
	}
	if get(t, c, "n1", "lock")+get(t, c, "n1", "token") != "" {
		t.Error("a key that was evicted is there")
	}
	set(t, c, "n1", "new", "v") // there is room for it
	for range 2 {
		proof, err = c.FreeMemory(ctx, "n1")
		if err != nil || !strings.Contains(proof, "without bound") {
			t.Fatal(proof, err)
		}
	}
	if n, err := c.Command(ctx, "n1", "DBSIZE"); err != nil || n.(int64) > 1 {
		t.Errorf("%v keys are left, %v", n, err)
	}
	if v, err := c.Command(ctx, "n1", "CONFIG", "GET", "maxmemory*"); err != nil || !strings.Contains(strings.Join(strs(v), " "), "noeviction") {
		t.Errorf("%v, %v", v, err)
	}
}

func strs(v any) []string {
	var out []string
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			out = append(out, x.(string))
		}
	case map[any]any:
		for k, x := range v {
			out = append(out, k.(string), x.(string))
		}
	}
	return out
}

// A key that goes by itself was not evicted.
func TestEvictKeysThatAreDeleted(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	client := c.pools.client(c.nodes["n1"].port.addr())
	e, err := newEviction(deadline(t), client, fillerPrefix)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if gone, err := e.fill(deadline(t), []string{"lock"}); err != nil || len(gone) != 0 {
		t.Errorf("evicted: %v, %v", gone, err)
	}
}

func TestSlowNode(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	ctx := deadline(t)
	const latency = 50 * time.Millisecond
	proof, err := c.SlowNode(ctx, "n1", latency)
	if err != nil || !strings.HasPrefix(proof, "PING took ") {
		t.Fatal(proof, err)
	}
	if _, err := c.SlowNode(ctx, "n1", latency); err == nil {
		t.Error("slowed twice")
	}
	// One that comes back at once does not slip through either.
	if median, err := medianPing(t, c); err != nil || median < latency {
		t.Error(median, err)
	}
	// A slow server that is killed is slow when it is back.
	if _, err := c.CrashNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartNode(ctx, "n1"); err != nil {
		t.Fatal(err)
	}
	until(t, "it is slow again", func() bool {
		median, err := medianPing(t, c)
		return err == nil && median >= latency
	})
	for range 2 {
		if proof, err = c.HurryNode(ctx, "n1"); err != nil || !strings.HasPrefix(proof, "PING took ") {
			t.Fatal(proof, err)
		}
	}
}

// What keeps a server busy may be late: the proof waits for it.
func TestSlowNodeIsSlowLater(t *testing.T) {
	t.Parallel()
	addr := oneNode(t).nodes["n1"].port.addr()
	const latency = 50 * time.Millisecond
	late := make(chan *slowness, 1)
	time.AfterFunc(4*latency, func() { late <- newSlowness(addr, latency) })
	if median, err := slowedAt(t, addr, latency); err != nil || median < latency {
		t.Error(median, err)
	}
	(<-late).end()
}

// A server that stays slow is seen: hurried does not believe that it was told to hurry.
func TestHurryNodeIsProved(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	ctx := deadline(t)
	if _, err := c.SlowNode(ctx, "n1", 300*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if median, err := hurried(ctx, c.nodes["n1"].port.addr(), 300*time.Millisecond); err == nil || !strings.Contains(err.Error(), "still takes") {
		t.Error(median, err)
	}
}

func TestUnknownNodes(t *testing.T) {
	t.Parallel()
	c := oneNode(t)
	ctx := deadline(t)
	for name, err := range map[string]error{
		"sync": second(c.SyncNode(ctx, "n9")), "cut": second(c.CutPower(ctx, "n9")),
		"evict": second(c.EvictKeys(ctx, "n9")), "free": second(c.FreeMemory(ctx, "n9")),
		"slow": second(c.SlowNode(ctx, "n9", time.Second)), "hurry": second(c.HurryNode(ctx, "n9")),
	} {
		if err == nil || !strings.Contains(err.Error(), `there is no node "n9"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func second(_ string, err error) error { return err }

// medianPing is what PINGs take.
func medianPing(t *testing.T, c *Cluster) (time.Duration, error) {
	t.Helper()
	p, err := dialPinger(deadline(t), c.nodes["n1"].port.addr())
	if err != nil {
		return 0, err
	}
	defer p.close()
	return p.median(5, apart)
}

func slowedAt(t *testing.T, addr string, latency time.Duration) (time.Duration, error) {
	t.Helper()
	p, err := dialPinger(deadline(t), addr)
	if err != nil {
		return 0, err
	}
	defer p.close()
	return p.slowed(latency)
}

// A stopped server goes on when it is told to, whatever waits for its answer; and its
// clock is set right meanwhile.
func TestResumeWaitsForNobody(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(context.Context, *Cluster) (string, error){
		"slow": func(ctx context.Context, c *Cluster) (string, error) {
			return c.SlowNode(ctx, "n1", 10*time.Millisecond)
		},
		"jump": func(ctx context.Context, c *Cluster) (string, error) { return c.JumpClock(ctx, "n1", time.Second) },
		"rate": func(ctx context.Context, c *Cluster) (string, error) { return c.SetClockRate(ctx, "n1", 1.002) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clocked(t, "")
			for _, wait := range []time.Duration{0, 20 * time.Millisecond} { // before and after it is asked
				over := make(chan error, 1)
				go func() { over <- second(ask(deadline(t), c)) }()
				time.Sleep(wait)
				if _, err := c.PauseNode(deadline(t), "n1"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
				start := time.Now()
				if _, err := c.ResumeNode(deadline(t), "n1"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took > time.Second {
					t.Errorf("to let it go on took %s", took)
				}
				if err := <-over; err != nil && !errors.Is(err, errHalted) {
					t.Error(err)
				}
				if _, err := c.HurryNode(deadline(t), "n1"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestClockOfASilentNode(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]struct {
		silence, answer func(*Cluster, context.Context, string) (string, error)
	}{
		"stopped": {(*Cluster).PauseNode, (*Cluster).ResumeNode},
		"down":    {(*Cluster).CrashNode, (*Cluster).StartNode},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := clocked(t, "")
			rate(t, c, 50)
			if _, err := how.silence(c, deadline(t), "n1"); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if proof, err := c.SetClockRate(deadline(t), "n1", 1); err == nil || time.Since(start) > time.Second {
				t.Errorf("%q, %v, after %s", proof, err, time.Since(start))
			}
			if proof, err := c.JumpClock(deadline(t), "n1", time.Hour); err == nil {
				t.Error("it jumped:", proof)
			}
			if _, err := how.answer(c, deadline(t), "n1"); err != nil {
				t.Fatal(err)
			}
			a, err := tell(t, c).best()
			time.Sleep(100 * time.Millisecond)
			b, err2 := tell(t, c).best()
			if gained := b.ahead() - a.ahead(); errors.Join(err, err2) != nil || gained.Abs() > 50*time.Millisecond || b.ahead() > time.Minute {
				t.Errorf("it is %s ahead, %s more than before, %v, %v", b.ahead(), gained, err, err2)
			}
		})
	}
}
