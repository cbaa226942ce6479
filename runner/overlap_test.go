package runner

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/scenario"
)

// overlaps are faults that act at the same time, and what is to come of the one that
// does not go as it does alone.
var overlaps = []struct {
	name, faults string
	want         string // a step of a fault; none is bad where it is empty
}{
	{"read-only twice", `read-only, nodes: [n1], from: at 100ms, for: 300ms
		read-only, nodes: [n1], from: at 200ms, for: 1s`, "f2 error n1: f1 (read-only) still acts on it"},
	{"clock-rate twice", `clock-rate, nodes: [n1], rate: 10, from: at 100ms, for: 300ms
		clock-rate, nodes: [n1], rate: 20, from: at 250ms, for: 1s`, "f2 error n1: f1 (clock-rate) still acts on it"},
	{"slow twice", `slow, nodes: [n1], latency: 40ms, from: at 100ms, for: 500ms
		slow, nodes: [n1], latency: 40ms, from: at 400ms, for: 1s`, "f2 error n1: f1 (slow) still acts on it"},
	{"pause-node twice", `pause-node, nodes: [n1], from: at 100ms, for: 300ms
		pause-node, nodes: [n1], from: at 200ms, for: 1s`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"restart-node of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 1s
		restart-node, nodes: [n1], from: at 300ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"restart-node of a node that is read-only", `read-only, nodes: [n1], from: at 100ms, for: 1s
		restart-node, nodes: [n1], from: at 300ms`, "f2 error n1: f1 (read-only) still acts on it"},
	{"pause-host twice", `pause-host, hosts: [w1], from: at 100ms, for: 300ms
		pause-host, hosts: [w1], from: at 200ms, for: 1s`, "f2 error w1: f1 (pause-host) still acts on it"},
	{"evict twice", `evict, nodes: [n1], from: at 100ms, for: 300ms
		evict, nodes: [n1], from: at 200ms, for: 1s`, "f2 error n1: f1 (evict) still acts on it"},
	{"optional", `read-only, nodes: [n1], from: at 100ms, for: 300ms
		read-only, nodes: [n1], from: at 200ms, for: 1s, optional: true`, "f2 idle n1: f1 (read-only) still acts on it"},
	{"one after the other", `read-only, nodes: [n1], from: at 100ms, for: 100ms
		read-only, nodes: [n1], from: at 300ms, for: 100ms`, ""},
	{"what legitimately combines", `clock-rate, nodes: [n1], rate: 2, from: at 100ms, for: 500ms
		clock-jump, nodes: [n1], by: 1s, from: at 200ms
		slow, nodes: [n1], latency: 20ms, from: at 250ms, for: 800ms
		pause-node, nodes: [n1], from: at 700ms, for: 100ms`, ""},

	{"failover of a master that is being replaced: isolate", `failover, how: kill, from: at 100ms, for: 4s
		failover, how: isolate, hosts: [w2], from: at 1s, for: 4s`, "f2 error n1: f1 (failover) still acts on it"},
	{"failover of a master that is being replaced: command", `failover, how: kill, from: at 100ms, for: 4s
		failover, how: command, from: at 1s, for: 4s`, "f2 error n1: f1 (failover) still acts on it"},
	{"failover of a master that is being replaced: kill", `failover, how: kill, from: at 100ms, for: 4s
		failover, how: kill, from: at 1s, for: 4s`, "f2 error n1: f1 (failover) still acts on it"},
	{"failover of a master that has crashed", `crash-node, nodes: [n1], from: at 100ms, for: 4s
		failover, how: isolate, from: at 300ms, for: 4s`, "f2 error n1: f1 (crash-node) still acts on it"},
	{"crash-node of a master that is being replaced", `failover, how: command, from: at 100ms, for: 4s
		crash-node, nodes: [n1], from: at 101ms, for: 4s`, "f2 error n1: f1 (failover) still acts on it"},
	{"failover of the next master", `failover, how: kill, from: at 100ms, for: 6s
		failover, how: kill, from: at 5s, for: 6s`, ""},

	{"partition that ends while its node is down", `partition, hosts: [w2], nodes: [n1], from: at 100ms, for: 300ms
		crash-node, nodes: [n1], from: at 200ms, for: 1s`, "f1 healed f2 (crash-node) still acts on n1"},
	{"delay that ends while its node is paused", `delay, nodes: [n1], latency: 10ms, from: at 100ms, for: 300ms
		pause-node, nodes: [n1], from: at 350ms, for: 3s`, "f1 healed f2 (pause-node) still acts on n1"},
	{"partition that ends while another cuts the link", `partition, hosts: [w2], nodes: [n1], from: at 100ms, for: 300ms
		partition, hosts: [w2], nodes: [n1], direction: replies, from: at 200ms, for: 4s`, "f1 healed f2 (partition) still acts on w2>n1"},
	{"partition that ends just before another", `partition, hosts: [w2], nodes: [n1], from: at 100ms, for: 300ms
		partition, hosts: [w2], nodes: [n1], direction: replies, from: at 200ms, for: 210ms`, "f1 healed PING answered again"},
	{"slow that ends while its node is down", `slow, nodes: [n1], latency: 10ms, from: at 100ms, for: 300ms
		crash-node, nodes: [n1], from: at 300ms, for: 1s`, "f1 healed f2 (crash-node) still acts on n1"},
	{"partition that ends while the master is isolated", `partition, hosts: [w2], nodes: [n1], from: at 100ms, for: 500ms
		failover, how: isolate, from: at 300ms, for: 8s`, "f1 healed f2 (failover) still acts on w2>n1"},
	{"cut-replication that ends while the replica is down", `cut-replication, nodes: [n2], from: at 100ms, for: 500ms
		crash-node, nodes: [n2], from: at 300ms, for: 20s, most: 20s`, "f1 healed f2 (crash-node) still acts on n2"},
	{"clock-rate of a slow node", `slow, nodes: [n1], latency: 20ms, from: at 100ms, for: 600ms
		clock-rate, nodes: [n1], rate: 2, from: at 300ms, for: 200ms`, "f2 error n1: f1 (slow) still acts on it"},
	{"power-loss of a slow node, optional", `slow, nodes: [n1], latency: 20ms, from: at 100ms, for: 600ms
		power-loss, nodes: [n1], from: at 300ms, for: 200ms, optional: true`, "f2 idle n1: f1 (slow) still acts on it"},
	{"evict of a node that another makes slow", `evict, nodes: [n1], from: at 100ms, for: 400ms
		slow, nodes: [n1], latency: 20ms, from: at 300ms, for: 600ms`, ""},
	{"slow of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		slow, nodes: [n1], latency: 20ms, from: at 300ms, for: 600ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"slow of a paused node, optional", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		slow, nodes: [n1], latency: 20ms, from: at 300ms, for: 600ms, optional: true`, "f2 idle n1: f1 (pause-node) still acts on it"},
	{"slow of a node that is down", `crash-node, nodes: [n1], from: at 100ms, for: 600ms
		slow, nodes: [n1], latency: 20ms, from: at 300ms, for: 600ms`, "f2 error n1: f1 (crash-node) still acts on it"},
	{"slow of a node that is to be started again", `restart-node, nodes: [n1], from: at 100ms, down: 600ms
		slow, nodes: [n1], latency: 20ms, from: at 300ms, for: 600ms`, "f2 error n1: f1 (restart-node) still acts on it"},
	{"clock-jump of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		clock-jump, nodes: [n1], by: 1s, from: at 300ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"clock-jump of a node that is down", `crash-node, nodes: [n1], from: at 100ms, for: 600ms
		clock-jump, nodes: [n1], by: 1s, from: at 300ms`, "f2 error n1: f1 (crash-node) still acts on it"},
	{"clock-rate of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		clock-rate, nodes: [n1], rate: 1.5, from: at 300ms, for: 600ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"evict of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		evict, nodes: [n1], from: at 300ms, for: 600ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"flush-scripts of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		flush-scripts, nodes: [n1], from: at 300ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"read-only of a paused node", `pause-node, nodes: [n1], from: at 100ms, for: 600ms
		read-only, nodes: [n1], from: at 300ms, for: 600ms`, "f2 error n1: f1 (pause-node) still acts on it"},
	{"pause-node while a clock is watched", `clock-rate, nodes: [n1], rate: 1.5, from: at 100ms, for: 600ms
		pause-node, nodes: [n1], from: at 105ms, for: 200ms`, ""},
	{"clock-rate that ends while its node is paused", `clock-rate, nodes: [n1], rate: 1.5, from: at 100ms, for: 300ms
		pause-node, nodes: [n1], from: at 200ms, for: 1s`, "f1 healed lifted; f2 (pause-node) still acts on n1"},
	{"clock-rate that ends while its node is down", `clock-rate, nodes: [n1], rate: 1.5, from: at 100ms, for: 300ms
		crash-node, nodes: [n1], from: at 200ms, for: 1s`, "f1 healed lifted; f2 (crash-node) still acts on n1"},
	{"read-only that ends while its node is paused", `read-only, nodes: [n1], from: at 100ms, for: 300ms
		pause-node, nodes: [n1], from: at 200ms, for: 1s`, "f1 healed n1: a write is accepted"},
	{"evict that ends while its node is paused", `evict, nodes: [n1], from: after w1 acquired, for: 300ms
		pause-node, nodes: [n1], from: at 200ms, for: 1s`, "f1 healed n1: nothing is evicted any more"},
	{"slow that a crash meets", `slow, nodes: [n1], latency: 30ms, from: at 100ms, for: 600ms
		crash-node, nodes: [n1], from: at 170ms, for: 100ms`, "f1 unproved EOF: f2 (crash-node) still acts on n1"},
	{"slow that a crash meets, optional", `slow, nodes: [n1], latency: 30ms, from: at 100ms, for: 600ms, optional: true
		crash-node, nodes: [n1], from: at 170ms, for: 100ms`, "f1 idle EOF: f2 (crash-node) still acts on n1"},
	{"slow that a pause meets", `slow, nodes: [n1], latency: 30ms, from: at 100ms, for: 600ms
		pause-node, nodes: [n1], from: at 170ms, for: 1s`, ""},
	{"slow that a pause meets that ends at a later step", `slow, nodes: [n1], latency: 30ms, from: after w1 acquired, for: 600ms
		pause-node, nodes: [n1], from: at 50ms, until: after w1 released`, "f1 unproved context canceled: f2 (pause-node) still acts on n1"},
	{"slow that ends while its node is paused for long", `slow, nodes: [n1], latency: 10ms, from: at 100ms, for: 600ms
		pause-node, nodes: [n1], from: at 600ms, for: 9s`, "f1 healed lifted; f2 (pause-node) still acts on n1"},
	{"slow that ends while its node is paused", `slow, nodes: [n1], latency: 10ms, from: at 100ms, for: 600ms
		pause-node, nodes: [n1], from: at 600ms, for: 1s`, "f1 healed n1: PING took"},
	{"delay that a crash meets", `delay, nodes: [n1], latency: 30ms, from: at 100ms, for: 600ms
		crash-node, nodes: [n1], from: at 120ms, for: 100ms`, "f1 unproved f2 (crash-node) still acts on n1"},
	{"delay whose PING a reset breaks", `delay, hosts: [w1], nodes: [n1], latency: 30ms, from: at 100ms, for: 600ms
		reset, nodes: [n1], from: at 120ms`, ""},
	{"delay whose last PING a reset breaks", `delay, hosts: [w1], nodes: [n1], latency: 30ms, from: at 100ms, for: 300ms
		delay, hosts: [w1], nodes: [n1], latency: 30ms, from: at 200ms, for: 1s
		reset, nodes: [n1], from: at 430ms`, ""},

	{"power-loss while a clock runs too fast", `clock-rate, nodes: [n1], rate: 10, from: at 100ms, for: 3s
		power-loss, nodes: [n1], from: at 300ms, for: 500ms`, "f2 error n1: f1 (clock-rate) still acts on it"},
	{"clock-rate while power-loss waits", `power-loss, nodes: [n1], from: at 400ms, for: 500ms
		clock-rate, nodes: [n1], rate: 10, from: at 500ms, for: 3s`, "f2 error n1: f1 (power-loss) still acts on it"},
	{"clock-rate while power-loss acts", `power-loss, nodes: [n1], from: at 100ms, for: 500ms
		clock-rate, nodes: [n1], rate: 10, from: at 300ms, for: 3s`, "f2 error n1: f1 (power-loss) still acts on it"},
	{"clock-jump while power-loss waits", `power-loss, nodes: [n1], from: at 400ms, for: 500ms
		clock-jump, nodes: [n1], by: 10s, from: at 500ms`, "f2 error n1: f1 (power-loss) still acts on it"},
	{"clock-jump while power-loss acts", `power-loss, nodes: [n1], from: at 100ms, for: 500ms
		clock-jump, nodes: [n1], by: 10s, from: at 300ms, optional: true`, "f2 idle n1: f1 (power-loss) still acts on it"},
	{"power-loss after the clock was set", `clock-rate, nodes: [n1], rate: 10, from: at 50ms, for: 100ms
		clock-jump, nodes: [n1], by: 700ms, from: at 200ms
		power-loss, nodes: [n1], from: at 300ms, for: 500ms`, ""},
	{"kill-host of a paused host", `pause-host, hosts: [w1], from: at 100ms, for: 500ms
		kill-host, hosts: [w1], from: at 300ms`, "f1 healed w1: it was killed meanwhile by f2 (kill-host)"},
}

// A fault never undoes another that is still told to act; and where one hides the end
// of another, that is told, and no reason to doubt the run.
func TestOverlaps(t *testing.T) {
	for _, c := range overlaps {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			h, _ := simulate(t, overlapping(t, c.faults), history.GuardNone, 1)
			var steps, bad []string
			for _, e := range h.Events {
				if e.Kind == history.Fault {
					step := fmt.Sprint(e.Fault.ID, " ", e.Fault.Step, " ", e.Fault.Proof)
					steps = append(steps, step)
					if e.Fault.Step == history.FaultError || e.Fault.Step == history.FaultUnproved {
						bad = append(bad, step)
					}
				}
			}
			all := strings.Join(steps, "\n")
			id, rest, _ := strings.Cut(c.want, " ")
			step, words, _ := strings.Cut(rest, " ")
			found := c.want == "" || slices.ContainsFunc(steps, func(s string) bool {
				return strings.HasPrefix(s, id+" "+step+" ") && strings.Contains(s, words)
			})
			if wantBad := step == history.FaultError || step == history.FaultUnproved; !found || (len(bad) == 1) != wantBad || len(bad) > 1 {
				t.Errorf("want %q, and nothing else that is bad:\n%s", c.want, all)
			}
			if step == history.FaultError && strings.Contains(all, id+" "+history.FaultProved) {
				t.Errorf("%s is refused and proved:\n%s", id, all)
			}
		})
	}
}

// overlapping is a scenario of these faults, one a line.
func overlapping(t *testing.T, lines string) *scenario.Scenario {
	t.Helper()
	lock, list := "{system: single, ttl: 1s}", ""
	for line := range strings.Lines(lines) {
		kind, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		if k, _ := faults.Find(kind); k.Failovers {
			lock = "{system: sentinel, ttl: 1s}"
		}
		list += "  - {fault: " + strings.TrimSpace(line) + "}\n"
	}
	s, err := scenario.Parse([]byte(fmt.Sprintf(`
lock: %s
hosts: 3
workload: {kind: counter, rounds: 3, work: 5ms, rest: 5ms}
guards: [none]
control: none
deadline: 60s
faults:
%sexpect: {none: {outcome: any}}
`, lock, list)), "overlap.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
