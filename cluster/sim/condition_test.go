package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
)

// simulated is a cluster of one node and two hosts in a bubble.
func simulated(t *testing.T, persistence string, f func(t *testing.T, ctx context.Context, c *Cluster)) {
	t.Helper()
	Bubble(t, func() {
		c := Up(cluster.Spec{
			Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: persistence}},
			Hosts: []cluster.HostSpec{{Name: "w1"}, {Name: "w2"}},
		}, DefaultLatency)
		defer c.Close()
		f(t, context.Background(), c)
	})
}

func do(t *testing.T, c *Cluster, args ...any) any {
	t.Helper()
	v, err := c.Command(context.Background(), "n1", args...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCutPower(t *testing.T) {
	for persistence, want := range map[string]struct{ before, after any }{
		cluster.PersistNone: {nil, nil}, cluster.PersistEverySec: {"kept", nil}, cluster.PersistAlways: {"kept", "kept"},
	} {
		simulated(t, persistence, func(t *testing.T, ctx context.Context, c *Cluster) {
			time.Sleep(400 * time.Millisecond) // too late in the second
			do(t, c, "SET", "before", "kept")
			if proof, err := c.SyncNode(ctx, "n1"); err != nil || proof == "" {
				t.Fatal(proof, err)
			}
			do(t, c, "SET", "after", "kept")
			time.Sleep(600 * time.Millisecond)
			if proof, err := c.CutPower(ctx, "n1"); err != nil || proof == "" {
				t.Fatal(proof, err)
			}
			if _, err := c.CutPower(ctx, "n1"); err == nil {
				t.Error("the power was cut twice")
			}
			if _, err := c.StartNode(ctx, "n1"); err != nil {
				t.Fatal(err)
			}
			if before, after := do(t, c, "GET", "before"), do(t, c, "GET", "after"); before != want.before || after != want.after {
				t.Errorf("%s: before %v, after %v, want %+v", persistence, before, after, want)
			}
		})
	}
}

// With nothing written since the last sync there is nothing to lose: also when
// a whole second has come meanwhile.
func TestCutPowerWithoutEffect(t *testing.T) {
	for _, late := range []time.Duration{0, time.Second} {
		simulated(t, cluster.PersistEverySec, func(t *testing.T, ctx context.Context, c *Cluster) {
			do(t, c, "SET", "k", "v")
			if _, err := c.SyncNode(ctx, "n1"); err != nil {
				t.Fatal(err)
			}
			if late > 0 {
				do(t, c, "SET", "k", "w")
				time.Sleep(late)
			}
			if proof, err := c.CutPower(ctx, "n1"); !errors.Is(err, cluster.ErrIdle) {
				t.Errorf("%s later: %q, %v", late, proof, err)
			}
		})
	}
}

// The seconds of an append-only file are those of the node's clock. Where that was set
// before, it goes by it; where it is set meanwhile, or runs at another rate, nothing is claimed.
func TestCutPowerByTheNodesClock(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(*node.Node)
		sync          error
		cut           error
		want          any
	}{
		"set before":      {before: func(n *node.Node) { n.Jump(700 * time.Millisecond) }, want: "v"},
		"set back before": {before: func(n *node.Node) { n.Jump(-300 * time.Millisecond) }, want: "v"},
		"set meanwhile":   {after: func(n *node.Node) { n.Jump(10 * time.Second) }, cut: cluster.ErrIdle, want: "w"},
		"too fast":        {before: func(n *node.Node) { n.SetRate(10) }, sync: errRate},
		"right again":     {before: func(n *node.Node) { n.SetRate(10); time.Sleep(77 * time.Millisecond); n.SetRate(1) }, want: "v"},
	} {
		simulated(t, cluster.PersistEverySec, func(t *testing.T, ctx context.Context, cl *Cluster) {
			n := cl.servers["n1"].node
			if c.before != nil {
				c.before(n)
			}
			do(t, cl, "SET", "k", "v")
			if _, err := cl.SyncNode(ctx, "n1"); !errors.Is(err, c.sync) || err != nil {
				if !errors.Is(err, c.sync) {
					t.Errorf("%s: %v, want %v", name, err, c.sync)
				}
				return
			}
			if into := time.Duration(n.Now().Nanosecond()); into > early {
				t.Errorf("%s: by its clock the node was synced %s into a second", name, into)
			}
			time.Sleep(600 * time.Millisecond)
			do(t, cl, "SET", "k", "w")
			if c.after != nil {
				c.after(n)
			}
			if proof, err := cl.CutPower(ctx, "n1"); !errors.Is(err, c.cut) {
				t.Errorf("%s: %q, %v, want %v", name, proof, err, c.cut)
			}
			if _, err := cl.StartNode(ctx, "n1"); err != nil {
				t.Fatal(err)
			}
			if got := do(t, cl, "GET", "k"); got != c.want {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		})
	}
}

func TestEvictKeys(t *testing.T) {
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		if _, err := c.EvictKeys(ctx, "n1"); !errors.Is(err, cluster.ErrIdle) {
			t.Error("without a key:", err)
		}
		do(t, c, "SET", "token", 7)
		do(t, c, "SET", "lock", "w1", "PX", 1000)
		do(t, c, "SET", "gone", 1, "PX", 1)
		time.Sleep(2 * time.Millisecond)
		if proof, err := c.EvictKeys(ctx, "n1"); err != nil || proof != "evicted: lock, token" {
			t.Error(proof, err)
		}
		if n := do(t, c, "DBSIZE"); n != int64(0) {
			t.Errorf("%v keys are left", n)
		}
		if proof, err := c.FreeMemory(ctx, "n1"); err != nil || proof == "" {
			t.Error(proof, err)
		}
	})
}

// It is writing that fills the memory: where no write is taken no key goes.
func TestEvictKeysOfReadOnlyNode(t *testing.T) {
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		do(t, c, "SET", "lock", "w1")
		do(t, c, "REPLICAOF", "127.0.0.1", 1)
		if proof, err := c.EvictKeys(ctx, "n1"); err == nil || !strings.Contains(err.Error(), "READONLY") {
			t.Errorf("%q, %v", proof, err)
		}
		if n := do(t, c, "DBSIZE"); n != int64(1) {
			t.Errorf("%v keys are left", n)
		}
	})
}

// A slow server does one command at a time, whoever sends it.
func TestSlowNode(t *testing.T) {
	const latency = 50 * time.Millisecond
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		proof, err := c.SlowNode(ctx, "n1", latency)
		if err != nil || !strings.HasPrefix(proof, "PING took 5") {
			t.Fatal(proof, err)
		}
		if _, err := c.SlowNode(ctx, "n1", latency); err == nil {
			t.Error("slowed twice")
		}
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				if _, err := c.Link(fmt.Sprintf("w%d", i%2+1), "n1").Probe(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); took < 4*latency || took > 5*latency {
			t.Errorf("4 commands at once took %s, want 4 times %s", took, latency)
		}
		if proof, err := c.HurryNode(ctx, "n1"); err != nil || proof == "" {
			t.Error(proof, err)
		}
	})
}

// What waits at a slow server is not lost when it is stopped, and is when it
// crashes; and all of it is done when the server is fast again.
func TestSlowNodeAndOtherFaults(t *testing.T) {
	const latency = 50 * time.Millisecond
	probe := func(ctx context.Context, c *Cluster) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := c.Link("w1", "n1").Probe(ctx)
			done <- err
		}()
		time.Sleep(latency / 2) // it waits at the server now
		return done
	}
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		if _, err := c.SlowNode(ctx, "n1", latency); err != nil {
			t.Fatal(err)
		}
		for name, x := range map[string]struct {
			do   func() error
			want bool
		}{
			"stopped": {func() error {
				_, err := c.PauseNode(ctx, "n1")
				time.Sleep(2 * latency)
				_, err2 := c.ResumeNode(ctx, "n1")
				return errors.Join(err, err2)
			}, true},
			"crashed": {func() error {
				_, err := c.CrashNode(ctx, "n1")
				_, err2 := c.StartNode(ctx, "n1")
				return errors.Join(err, err2)
			}, false},
		} {
			done := probe(ctx, c)
			if err := x.do(); err != nil {
				t.Fatal(name, err)
			}
			if err := <-done; (err == nil) != x.want {
				t.Errorf("%s: answered: %v, want %v", name, err, x.want)
			}
		}
		done := probe(ctx, c)
		start := time.Now()
		if _, err := c.HurryNode(ctx, "n1"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil || time.Since(start) > latency {
			t.Errorf("after %s: %v", time.Since(start), err)
		}
	})
}

// go-redis takes READONLY for something that passes, and tries again.
func TestReadOnlyIsTriedAgain(t *testing.T) {
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		do(t, c, "REPLICAOF", "127.0.0.1", 1)
		time.AfterFunc(5*time.Millisecond, func() { do(t, c, "REPLICAOF", "NO", "ONE") })
		cl := &client{link: c.link("w1", "n1"), retries: maxRetries}
		if v, err := cl.do(ctx, "SET", "k", "v"); err != nil || v != "OK" {
			t.Errorf("%v, %v", v, err)
		}
		do(t, c, "REPLICAOF", "127.0.0.1", 1)
		if v, err := cl.do(ctx, "SET", "k", "w"); err == nil || !strings.HasPrefix(err.Error(), "READONLY") {
			t.Errorf("%v, %v", v, err)
		}
	})
}
