package sim

import (
	"context"
	"testing"
)

// A server that dies closes its connections: there is none to break until a client
// has opened one to the server that came after it.
func TestResetOfDeadNode(t *testing.T) {
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		ask := func() {
			conn, err := c.Pool("w1", "n1").Get(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = conn.Get("k") // refused where the node is down
		}
		broken := func(when string, want int) {
			t.Helper()
			if n, err := c.Link("w1", "n1").Reset(ctx); n != want || err != nil {
				t.Errorf("%s: %d connections broken, %v; want %d", when, n, err, want)
			}
		}
		broken("before any command", 0)
		ask()
		broken("after one", 1)
		if _, err := c.CrashNode(ctx, "n1"); err != nil {
			t.Fatal(err)
		}
		broken("after the crash", 0)
		ask()
		broken("after a refused command", 0)
		if _, err := c.StartNode(ctx, "n1"); err != nil {
			t.Fatal(err)
		}
		broken("after the start", 0)
		ask()
		broken("after another command", 1)
	})
}
