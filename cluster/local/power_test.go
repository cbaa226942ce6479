package local

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// What is written before SyncNode survives the loss of power, what is written
// after it does not: but for a server that syncs each write, and one that keeps nothing.
func TestCutPower(t *testing.T) {
	t.Parallel()
	for persistence, want := range map[string]struct{ before, after, proof string }{
		cluster.PersistNone:     {"", "", "nothing was on disk"},
		cluster.PersistEverySec: {"kept", "", "bytes cut"},
		cluster.PersistAlways:   {"kept", "kept", "0 bytes"},
	} {
		t.Run(persistence, func(t *testing.T) {
			t.Parallel()
			c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: persistence}}})
			ctx := deadline(t)
			set(t, c, "n1", "before", "kept")
			if proof, err := c.SyncNode(ctx, "n1"); err != nil || proof == "" {
				t.Fatal(proof, err)
			}
			set(t, c, "n1", "after", "kept")
			id := c.RunID("n1")
			proof, err := c.CutPower(ctx, "n1")
			if err != nil || !strings.Contains(proof, "signal: killed") || !strings.Contains(proof, want.proof) {
				t.Fatal(proof, err)
			}
			if _, err := c.StartNode(ctx, "n1"); err != nil {
				t.Fatal(err)
			}
			if c.RunID("n1") == id {
				t.Error("the run id is the same")
			}
			if before, after := get(t, c, "n1", "before"), get(t, c, "n1", "after"); before != want.before || after != want.after {
				t.Errorf("before %q, after %q, want %+v", before, after, want)
			}
		})
	}
}

// The power is cut with nothing to lose, too late, and without SyncNode: nothing is cut.
func TestCutPowerWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*testing.T, *Cluster)
		want    string
		idle    bool
	}{
		"nothing written": {func(t *testing.T, c *Cluster) { syncNode(t, c) }, "nothing was written", true},
		"too late": {func(t *testing.T, c *Cluster) {
			syncNode(t, c)
			set(t, c, "n1", "k", "v")
			c.nodes["n1"].synced.until = time.Now()
		}, "late", true},
		"another file": {func(t *testing.T, c *Cluster) {
			syncNode(t, c)
			if err := c.pools.client(c.nodes["n1"].port.addr()).BgRewriteAOF(deadline(t)).Err(); err != nil {
				t.Fatal(err)
			}
			old := c.nodes["n1"].synced.file
			until(t, "another file is there", func() bool { f, _, err := c.nodes["n1"].aof(); return err == nil && f != old })
		}, "begun the file", false},
		"never synced": {func(t *testing.T, c *Cluster) { set(t, c, "n1", "k", "v") }, "never seen to sync", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: cluster.PersistEverySec}}})
			c.prepare(t, cl)
			file, size, err := cl.nodes["n1"].aof()
			if err != nil {
				t.Fatal(err)
			}
			proof, err := cl.CutPower(deadline(t), "n1")
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, cluster.ErrIdle) != c.idle {
				t.Errorf("%q, %v: want an error with %q, idle: %v", proof, err, c.want, c.idle)
			}
			if st, err := os.Stat(file); err != nil || st.Size() != size {
				t.Errorf("the file had %d bytes and has now %v, %v", size, st, err)
			}
			if _, err := cl.StartNode(deadline(t), "n1"); err != nil {
				t.Error("start:", err)
			}
		})
	}
}

func syncNode(t *testing.T, c *Cluster) {
	t.Helper()
	if _, err := c.SyncNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
}

// A cut in the middle of a command loses that command, and no other.
func TestCutWithinACommand(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: cluster.PersistEverySec}}})
	syncNode(t, c)
	set(t, c, "n1", "first", "v")
	_, size, err := c.nodes["n1"].aof()
	if err != nil {
		t.Fatal(err)
	}
	set(t, c, "n1", "second", "v")
	c.nodes["n1"].synced.size = size + 7
	if proof, err := c.CutPower(deadline(t), "n1"); err != nil {
		t.Fatal(proof, err)
	}
	if _, err := c.StartNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%q %q", get(t, c, "n1", "first"), get(t, c, "n1", "second")); got != `"v" ""` {
		t.Errorf("got %s", got)
	}
}

// The clock that INFO shows is not behind: the end of a second is reckoned from it.
func TestServerClockIsFresh(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: cluster.PersistEverySec}}})
	for range 50 {
		asked := time.Now()
		second, into, _, err := c.nodes["n1"].syncClock(deadline(t))
		if err != nil {
			t.Fatal(err)
		}
		if at := time.Unix(second, int64(into)); at.Before(asked.Add(-time.Millisecond)) {
			t.Fatalf("INFO was asked at %s and shows %s", asked, at)
		}
	}
}

// The server syncs by its own clock. Where that was set before, it goes by it; where it
// is set meanwhile, or runs at another rate, nothing is cut.
func TestCutPowerByTheNodesClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after func(*testing.T, *Cluster)
		sync, cut     string // what is said of it; nothing where it works
	}{
		"set before":      {before: func(t *testing.T, c *Cluster) { jump(t, c, 700*time.Millisecond) }},
		"set back before": {before: func(t *testing.T, c *Cluster) { jump(t, c, -300*time.Millisecond) }},
		"set meanwhile":   {after: func(t *testing.T, c *Cluster) { jump(t, c, 10*time.Second) }, cut: "its clock was set meanwhile"},
		"too fast":        {before: func(t *testing.T, c *Cluster) { rate(t, c, 10) }, sync: errRate.Error()},
		"right again":     {before: func(t *testing.T, c *Cluster) { rate(t, c, 10); rate(t, c, 1) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cl := clocked(t, cluster.PersistEverySec)
			if c.before != nil {
				c.before(t, cl)
			}
			_, err := cl.SyncNode(deadline(t), "n1")
			if c.sync != "" {
				if err == nil || !strings.Contains(err.Error(), c.sync) {
					t.Errorf("sync: %v, want %q", err, c.sync)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			set(t, cl, "n1", "k", "v")
			if c.after != nil {
				c.after(t, cl)
			}
			proof, err := cl.CutPower(deadline(t), "n1")
			if c.cut == "" && err != nil || c.cut != "" && (err == nil || !strings.Contains(err.Error(), c.cut)) {
				t.Errorf("cut: %q, %v, want %q", proof, err, c.cut)
			}
		})
	}
}
