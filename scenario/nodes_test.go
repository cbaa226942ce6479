package scenario_test

import (
	"strings"
	"testing"

	"lockchaos/cluster"
	"lockchaos/scenario"
)

// group is a scenario of a lock with a failover.
const group = `lock: {system: sentinel, ttl: 1s, wait: 1}
nodes: {min_replicas: 1, prefer: n3}
hosts: 2
workload: {kind: counter, rounds: 1}
guards: [none]
faults:
  - {fault: failover, how: isolate, hosts: [w1], from: at 1s, for: 1s}
  - {fault: cut-replication, nodes: [n2, n3], from: at 1s, for: 1s}
  - {fault: partition, hosts: [n2, s1, w1], nodes: [n1, n2], from: at 1s, for: 1s}
  - {fault: partition, hosts: [w1], nodes: [s1, s2, s3, resource], from: at 1s, for: 1s}
expect: {none: {outcome: any}}
`

func TestGroup(t *testing.T) {
	s, err := scenario.Parse([]byte(group), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ext := strings.Replace(group, "system: sentinel, ttl: 1s, wait: 1", "system: external, ttl: 1s, command: [x], nodes: sentinel", 1)
	e, err := scenario.Parse([]byte(ext), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*scenario.Scenario{s, e} {
		var got []string
		for _, n := range s.NodeSpecs() {
			got = append(got, n.Name+n.Role)
			if data := n.Role != cluster.RoleSentinel; (n.MinReplicas == 1) != data || n.Prefer != (n.Name == "n3") {
				t.Errorf("%+v", n)
			}
		}
		const want = "n1 n2replica n3replica s1sentinel s2sentinel s3sentinel"
		if strings.Join(got, " ") != want || strings.Join(s.DataNodes(), " ") != "n1 n2 n3" || s.Quorum() != 1 {
			t.Errorf("%s: %v, data nodes %v, quorum %d; want %s", s.Lock.System, got, s.DataNodes(), s.Quorum(), want)
		}
	}
}

func TestBadGroups(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"min_replicas: 1", "min_replicas: 3", "x.yaml:2: nodes.min_replicas: 3, expected 0 to 2"},
		{"prefer: n3", "prefer: n1", `x.yaml:2: nodes.prefer: "n1", expected one of n2, n3`},
		{"wait: 1", "wait: 3", "x.yaml:1: lock: wait is 3, expected 0 to 2"},
		{"wait: 1", "wait_checked: true", "x.yaml:1: lock: wait_timeout and wait_checked"},
		{"how: isolate", "how: ask", `x.yaml:7: faults[0].how: "ask", expected one of kill, command, isolate`},
		{"how: isolate", "how: kill", "x.yaml:7: faults[0].hosts: hosts are those that stay"},
		{"how: isolate, hosts: [w1]", "how: kill, nodes: [n1]", "x.yaml:7: faults[0].nodes: failover takes no nodes"},
		{"fault: failover, how: isolate, hosts: [w1]", "fault: failover, how: isolate, hosts: [n1]", `x.yaml:7: faults[0].hosts[0]: host "n1", expected w1 to w2`},
		{"nodes: [n2, n3]", "nodes: [n2, s1]", `x.yaml:8: faults[1].nodes[1]: "s1", expected one of n1, n2, n3`},
		{"nodes: [n2, n3]", "nodes: [s4]", `x.yaml:8: faults[1].nodes[0]: node "s4", expected n1 to n3, s1 to s3, or resource`},
		{"nodes: [n1, n2]", "nodes: [n1, resource]", "x.yaml:9: faults[2].nodes[1]: there is no link from n2 to resource"},
		{"hosts: [n2, s1, w1], nodes: [n1, n2]", "hosts: [n1], nodes: [n1]", "x.yaml:9: faults[2].nodes[0]: there is no link from n1 to itself"},
		{"system: sentinel, ttl: 1s, wait: 1", "system: single, ttl: 1s", "x.yaml:2: nodes.min_replicas: only for a lock with replicas"},
		{"system: sentinel, ttl: 1s, wait: 1}\nnodes: {min_replicas: 1, prefer: n3}", "system: single, ttl: 1s}\nnodes: {prefer: n3}", "x.yaml:2: nodes.prefer: only for a lock with replicas"},
		{"system: sentinel, ttl: 1s, wait: 1}\nnodes: {min_replicas: 1, prefer: n3}", "system: single, ttl: 1s}", "x.yaml:6: faults[0].fault: failover needs replicas and Sentinels"},
		{group[strings.Index(group, "faults:"):strings.Index(group, "expect:")], "hammer: {for: 1s, weights: {failover: 1}}\n", "hammer.weights.failover: failover is not drawn"},
		{"faults:", "hammer: {for: 1s, weights: {pause-host: 1}}\nfaults:", "a hammer draws its own faults"},
	} {
		if strings.Count(group, c.old) != 1 {
			t.Fatalf("%q stands %d times", c.old, strings.Count(group, c.old))
		}
		_, err := scenario.Parse([]byte(strings.Replace(group, c.old, c.new, 1)), "x.yaml")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
}
