package local

import (
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// groupSpec is one master, two replicas and three Sentinels.
func groupSpec(hosts ...string) cluster.Spec {
	s := cluster.Spec{Name: "group", Nodes: []cluster.NodeSpec{
		{Name: "n1"},
		{Name: "n2", Role: cluster.RoleReplica}, {Name: "n3", Role: cluster.RoleReplica},
		{Name: "s1", Role: cluster.RoleSentinel}, {Name: "s2", Role: cluster.RoleSentinel}, {Name: "s3", Role: cluster.RoleSentinel},
		{Name: cluster.Resource},
	}}
	for _, h := range hosts {
		s.Hosts = append(s.Hosts, cluster.HostSpec{Name: h})
	}
	return s
}

func master(t *testing.T, c *Cluster) string {
	t.Helper()
	m, err := c.Master(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Two failovers in one life, each by the death of the master: Sentinels make
// another the master, and the old one comes back as its replica.
func TestFailover(t *testing.T) {
	t.Parallel()
	start := time.Now()
	c := up(t, groupSpec())
	t.Logf("up in %v", time.Since(start))
	for range 2 {
		old := master(t, c)
		set(t, c, old, "key", old)
		if _, err := c.CrashNode(deadline(t), old); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		proof, err := c.AwaitFailover(deadline(t), old)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v: %s", time.Since(start), proof)
		now := master(t, c)
		if now == old || !strings.Contains(proof, old+" (run id "+c.RunID(old)[:8]) || !strings.Contains(proof, now+" (run id "+c.RunID(now)[:8]) {
			t.Errorf("the master was %s and is %s, and the proof is %q", old, now, proof)
		}
		start = time.Now()
		if _, err := c.StartNode(deadline(t), old); err != nil {
			t.Fatal(err)
		}
		if err := c.await(deadline(t), c.nodes[old], "it is a replica", c.nodes[old].follows); err != nil {
			t.Fatal(err)
		}
		t.Logf("a replica in %v", time.Since(start))
	}
}
