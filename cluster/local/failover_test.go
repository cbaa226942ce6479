package local

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/host"
	"lockchaos/locks"
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
		if err := c.await(deadline(t), c.member(old), "it is a replica", c.member(old).follows); err != nil {
			t.Fatal(err)
		}
		t.Logf("a replica in %v", time.Since(start))
	}
}

// A peer is known by its source address and goes through its own link; who is
// no peer is turned away.
func TestPeersGoThroughTheirLinks(t *testing.T) {
	t.Parallel()
	c := up(t, groupSpec("w1"))
	before := map[string]cluster.Counts{}
	for _, near := range []string{"n2", "n3", "s1", "s2", "s3"} {
		before[near] = c.Link(near, "n1").Counts()
		if before[near].Connections == 0 {
			t.Errorf("no connection from %s to n1 went through its link", near)
		}
	}
	if n := c.Link("n1", "n2").Counts().Connections; n != 0 {
		t.Errorf("the master has opened %d connections to its replica", n)
	}
	cut := c.Link("n2", "n1")
	if err := cut.Apply(deadline(t), "cut", cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
		t.Fatal(err)
	}
	n1 := c.nodes["n1"]
	set(t, c, "n1", "key", "value")
	until(t, "the replica that is not cut off has the value", func() bool { return get(t, c, "n3", "key") == "value" })
	if v := get(t, c, "n2", "key"); v != "" {
		t.Errorf("the replica that is cut off has %q", v)
	}
	if err := cut.Lift(deadline(t), "cut"); err != nil {
		t.Fatal(err)
	}
	until(t, "the other has it, too", func() bool { return get(t, c, "n2", "key") == "value" })

	if reply, err := ask(deadline(t), "", c.entrances["n1"].addr().String(), "PING"); err == nil {
		t.Errorf("who is no peer gets %q", reply)
	}
	if reply, err := ask(deadline(t), "", n1.port.addr(), "PING"); err != nil {
		t.Errorf("the node itself: %q, %v", reply, err)
	}
}

// The master of a host's failover client is the one of the time, through the
// host's own links, before a failover and after it.
func TestHostFollowsTheMaster(t *testing.T) {
	t.Parallel()
	c := up(t, groupSpec("w1"))
	pool := host.DialMaster(*c.sentinelInit("w1"), locks.Options{})
	sys, err := locks.Find("sentinel")
	if err != nil {
		t.Fatal(err)
	}
	l, err := sys.New(locks.Config{Pools: []redis.Pool{pool}, Name: "lock", TTL: time.Minute,
		Options: locks.Options{Wait: 2, WaitChecked: true, WaitTimeout: locks.Duration(2 * time.Second)}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := l.Acquire(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	if v := get(t, c, "n2", "lock"); v != g.Owner { // WAIT 2 has returned
		t.Errorf("the replica has %q, want %q", v, g.Owner)
	}
	if c.Link("w1", "n1").Counts().ReplyBytes == 0 || c.Link("w1", "n2").Counts().Connections != 0 {
		t.Errorf("w1 has not gone through its link to the master, or through another")
	}
	if at := answered(t, pool); at != c.links[pair{"w1", "n1"}].Addr() {
		t.Errorf("%q has answered, expected the link to n1", at)
	}
	if _, err := c.CrashNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitFailover(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
	now := master(t, c)
	until(t, "the client has found the new master", func() bool {
		_, err := g.Extend(deadline(t))
		return err == nil
	})
	if c.Link("w1", now).Counts().ReplyBytes == 0 {
		t.Errorf("w1 has not gone through its link to %s", now)
	}
	if at := answered(t, pool); at != c.links[pair{"w1", now}].Addr() {
		t.Errorf("%q has answered, expected the link to %s", at, now)
	}
	// One replica of two is left, and the other cannot answer.
	if err := g.Release(deadline(t)); err != nil {
		t.Fatal(err)
	}
	_, err = l.Acquire(deadline(t))
	if !errors.Is(err, locks.ErrUnavailable) || !strings.Contains(err.Error(), "1 of 2 replicas") {
		t.Errorf("an acquire that one of two replicas knows of: %v", err)
	}
	if v := get(t, c, now, "lock"); v != "" {
		t.Errorf("it was not given back: %q is there", v)
	}
}

// answered is who answers a command.
func answered(t *testing.T, pool redis.Pool) string {
	t.Helper()
	conn, err := pool.Get(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Eval(redis.NewScript(0, "return 1", "")); err != nil {
		t.Fatal(err)
	}
	return conn.(host.Answerer).Answered()
}

func TestNoFailover(t *testing.T) {
	t.Parallel()
	c := up(t, groupSpec())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if proof, err := c.AwaitFailover(ctx, "n1"); err == nil || !strings.Contains(err.Error(), "no failover from n1") {
		t.Errorf("nothing has happened: %q, %v", proof, err)
	}
	if _, err := c.AwaitFailover(deadline(t), "n9"); err == nil {
		t.Error("n9 was the master")
	}
	alone := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	if m, err := alone.Master(deadline(t)); err == nil {
		t.Errorf("without Sentinels %s is the master", m)
	}
}

func TestMasterWantsReplicas(t *testing.T) {
	t.Parallel()
	spec := groupSpec()
	for i := range spec.Nodes[:3] {
		spec.Nodes[i].MinReplicas = 1
	}
	spec.Nodes[2].Prefer = true
	c := up(t, spec)
	set(t, c, "n1", "key", "value")
	for _, n := range []string{"n2", "n3"} {
		if err := c.Link(n, "n1").Apply(deadline(t), "cut", cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the master refuses", func() bool {
		_, err := c.Command(deadline(t), "n1", "SET", "key", "other")
		return err != nil && strings.Contains(err.Error(), "NOREPLICAS")
	})
	if _, err := c.CrashNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AwaitFailover(deadline(t), "n1"); err != nil || master(t, c) != "n3" {
		t.Errorf("%s is the master, n3 was to be preferred: %v", master(t, c), err)
	}
}

func TestValidatePeers(t *testing.T) {
	two, none, odd := groupSpec(), groupSpec(), groupSpec()
	two.Nodes[1].Role, none.Nodes[0].Role, odd.Nodes[1].Role = "", cluster.RoleReplica, "spare"
	for want, spec := range map[string]cluster.Spec{
		"2 masters": two, "0 masters": none, `unknown role "spare"`: odd,
	} {
		if err := validate(spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
