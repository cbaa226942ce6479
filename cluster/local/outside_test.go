package local

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	"lockchaos/cluster"
	"lockchaos/internal/redistest"
)

// A node that somebody else runs is reached through links like any other, and
// one that is gone refuses.
func TestOutside(t *testing.T) {
	t.Parallel()
	far := redistest.Start(t)
	m := open(t)
	var dials atomic.Int32
	server := Server{RunID: func() string { return "far" }, Dial: func(ctx context.Context) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, "tcp", far.Addr)
	}}
	c, err := m.UpWith(deadline(t), cluster.Spec{
		Name: "outside", Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: cluster.Resource}}, Hosts: []cluster.HostSpec{{Name: "w1"}},
	}, Outside{Servers: map[string]Server{"n1": server}})
	if err != nil {
		t.Fatal(err)
	}
	set(t, c, "n1", "key", "value")
	if v := far.Value(t, "key"); v != "value" {
		t.Errorf("the server has %q", v)
	}
	if c.RunID("n1") != "far" || c.RunID(cluster.Resource) == "" {
		t.Errorf("run ids %q and %q", c.RunID("n1"), c.RunID(cluster.Resource))
	}
	if _, err := c.CrashNode(deadline(t), "n1"); err == nil {
		t.Error("a server that is not ours can be crashed")
	}
	link := c.Link("w1", "n1")
	if _, err := link.Probe(deadline(t)); err != nil {
		t.Error(err)
	}
	if err := link.Apply(deadline(t), "cut", cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
		t.Fatal(err)
	}
	if _, err := link.Probe(briefly(t)); err == nil {
		t.Error("a link that is cut answers")
	}
	if err := link.Lift(deadline(t), "cut"); err != nil {
		t.Fatal(err)
	}
	far.Kill()
	if _, err := link.Probe(deadline(t)); err == nil {
		t.Error("a link to a server that is gone answers")
	}
	if n := dials.Load(); n < 3 {
		t.Errorf("dialled %d times", n)
	}
}
