package sim

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/cluster"
)

func bubble(t *testing.T, f func(t *testing.T, c *Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := Up(cluster.Spec{Seed: 1, Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: "n2"}}}, DefaultLatency)
		defer c.Close()
		f(t, c)
	})
}

func pttl(t *testing.T, c *Cluster, node string) any {
	t.Helper()
	v, err := c.Command(t.Context(), node, "PTTL", "lock")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A clock jumps forward and back, is kept over a restart, and no other clock moves.
func TestClockJumps(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cluster) {
		for _, n := range []string{"n1", "n2"} {
			if _, err := c.Command(t.Context(), n, "SET", "lock", "w1", "PX", 10_000); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range []struct {
			by   time.Duration
			left string
		}{{4 * time.Second, "6000"}, {-90 * time.Second, "96000"}, {96*time.Second + time.Millisecond, "-2"}} {
			proof, err := c.JumpClock(t.Context(), "n1", x.by)
			if err != nil || !strings.Contains(proof, "TIME ahead by") {
				t.Errorf("jump by %s: %q, %v", x.by, proof, err)
			}
			if got := fmt.Sprint(pttl(t, c, "n1")); got != x.left {
				t.Errorf("after a jump by %s the lock has %s ms, want %s", x.by, got, x.left)
			}
		}
		if got := fmt.Sprint(pttl(t, c, "n2")); got != "10000" {
			t.Errorf("on the other node the lock has %s ms", got)
		}
		if _, err := c.CrashNode(t.Context(), "n1"); err != nil {
			t.Fatal(err)
		}
		if proof, err := c.JumpClock(t.Context(), "n1", time.Second); err == nil {
			t.Errorf("the clock of a node that is down jumped: %q", proof)
		}
		for _, rate := range []float64{2, 1} { // set it is, as it is the machine's; but nothing shows it
			if proof, err := c.SetClockRate(t.Context(), "n1", rate); err == nil || c.servers["n1"].node.Rate() != rate {
				t.Errorf("the clock of a node that is down is to run at %g: %q", rate, proof)
			}
		}
		if _, err := c.StartNode(t.Context(), "n1"); err != nil {
			t.Fatal(err)
		}
		if ahead, err := c.ahead(c.servers["n1"]); err != nil || ahead != 10*time.Second+time.Millisecond {
			t.Errorf("after a restart the clock is %s ahead, %v", ahead, err)
		}
	})
}

func TestClockRate(t *testing.T) {
	bubble(t, func(t *testing.T, c *Cluster) {
		if _, err := c.Command(t.Context(), "n1", "SET", "lock", "w1", "PX", 10_000); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		for _, rate := range []float64{1.1, 0.9, 1, 1} {
			if proof, err := c.SetClockRate(t.Context(), "n1", rate); err != nil || proof == "" {
				t.Errorf("rate %g: %q, %v", rate, proof, err)
			}
		}
		if _, err := c.SetClockRate(t.Context(), "n1", 2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Second - time.Since(start))
		if got := pttl(t, c, "n1").(int64); got < 0 || got > 50 {
			t.Errorf("at twice the rate %d ms are left after half the time", got)
		}
		// A jump within the time in which a rate is watched spoils its proof.
		time.AfterFunc(rateWindow/2, func() { c.servers["n1"].node.Jump(time.Second) })
		if proof, err := c.SetClockRate(t.Context(), "n1", 1.1); err == nil {
			t.Errorf("proved %q", proof)
		}
		if _, err := c.JumpClock(t.Context(), "n9", time.Second); err == nil {
			t.Error("an unknown node has a clock")
		}
	})
}
