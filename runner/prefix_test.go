package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/scenario"
)

// prefixedWorld has a prefix for keys, and looks at all keys before a cluster is closed.
type prefixedWorld struct {
	World
	prefix string
	seen   map[string][]string // keys by node
}

func (w *prefixedWorld) Up(ctx context.Context, spec cluster.Spec) (Cluster, error) {
	spec.KeyPrefix = w.prefix
	c, err := w.World.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	w.seen = map[string][]string{}
	return &prefixedCluster{c.(*local.Cluster), w, spec}, nil
}

type prefixedCluster struct {
	*local.Cluster
	world *prefixedWorld
	spec  cluster.Spec
}

func (c *prefixedCluster) Close() error {
	var all error
	for _, n := range c.spec.Nodes {
		if n.Role == cluster.RoleSentinel {
			continue
		}
		keys, err := c.Command(context.Background(), n.Name, "KEYS", "*")
		all = errors.Join(all, err)
		for _, k := range keys.([]any) {
			c.world.seen[n.Name] = append(c.world.seen[n.Name], fmt.Sprint(k))
		}
	}
	return errors.Join(all, c.Cluster.Close())
}

// Everything that a run writes is under the prefix of its cluster, whatever lock and
// fault it has; the history names the lock as ever.
func TestKeyPrefix(t *testing.T) {
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const run = `
name: prefix
lock: {system: %s}
nodes: {persistence: everysec}
hosts: 2
workload: {kind: counter, rounds: 4, work: 5ms, rest: 20ms}
guards: [%s]
deadline: 30s
faults: [{fault: %s}]
expect: {%[2]s: {outcome: safe}}
`
	for name, c := range map[string]struct{ lock, guard, fault, token string }{
		"single":        {"single, ttl: 1s", "fence", "clock-jump, nodes: [n1], by: 100ms, from: after w1 acquired 2", "n1"},
		"quorum tokens": {"redlock, token: quorum, ttl: 1s", "fence-read", "evict, nodes: [n1], from: after w1 acquired 2, for: 50ms", "n3"},
		"tokens apart":  {"redlock, token: external, ttl: 1s", "version", "read-only, nodes: [n1], from: after w1 acquired 2, for: 50ms", cluster.Tokens},
		"power":         {"single-mint-after, ttl: 1s", "atomic", "power-loss, nodes: [n1], from: before w1 acquires 2, for: 50ms", "n1"},
		"sentinel":      {"sentinel, ttl: 1s", "none", "cut-replication, nodes: [n2], from: before w1 acquires 2, for: 100ms", "n1"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Parse(fmt.Appendf(nil, run, c.lock, c.guard, c.fault), "prefix.yaml")
			if err != nil {
				t.Fatal(err)
			}
			w := &prefixedWorld{World: localWorld{m}, prefix: "lockchaos:{a[b}:"}
			var keep history.History
			r := Run{Name: name, World: scenario.Local, Scenario: s, Guard: c.guard, Seed: 1, Logs: t.TempDir(), Keep: &keep}
			if err := r.Do(t.Context(), w, io.Discard); err != nil {
				t.Fatal(err)
			}
			w.held(t, c.token)
			effective, locks := false, map[string]bool{}
			for _, e := range keep.Events {
				effective = effective || e.Fault != nil && e.Fault.Step == history.FaultProved
				locks[e.Lock] = true
			}
			if !effective {
				t.Error("the fault was not seen to work")
			}
			if !locks[lockName] || len(locks) != 2 { // and events without one
				t.Errorf("the history names the locks %v", locks)
			}
		})
	}
}

// held looks at what a run has left: the counter with its ledger, the counter of
// tokens on a node, and nothing without the prefix.
func (w *prefixedWorld) held(t *testing.T, tokens string) {
	t.Helper()
	there := map[string]bool{}
	for node, keys := range w.seen {
		for _, k := range keys {
			short, ok := strings.CutPrefix(k, w.prefix)
			if !ok {
				t.Errorf("%s has the key %q", node, k)
			}
			there[node+" "+short] = true
		}
	}
	for _, want := range []string{"resource counter", "resource counter:ledger", tokens + " counter:token"} {
		if !there[want] {
			t.Errorf("%s is missing, there are %v", want, there)
		}
	}
}
