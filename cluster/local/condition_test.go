package local

import (
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
	if median, err := medianPing(ctx, c.nodes["n1"].port.addr()); err != nil || median < latency {
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
		median, err := medianPing(ctx, c.nodes["n1"].port.addr())
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
	if median, err := slowed(deadline(t), addr, latency); err != nil || median < latency {
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
