package runner

import (
	"testing"

	"lockchaos/checker"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/scenario"
)

// forgetful kills the server of the counter between two rounds.
const forgetful = `lock: {system: single, ttl: 2s}
hosts: 2
workload: {kind: counter, rounds: 4, work: 1ms, rest: 5ms}
guards: [none, version]
faults:
  - {fault: restart-node, nodes: [resource], from: after w1 released 2}
needs: {before: {grants: 2}, after: {grants: 2}}
expect:
  none: {outcome: safe}
  version: {outcome: safe}
`

// The resource keeps its counter over a crash: what it lost would be blamed on
// the lock.
func TestResourceRemembers(t *testing.T) {
	s, err := scenario.Parse([]byte(forgetful), "forgetful.yaml")
	if err != nil {
		t.Fatal(err)
	}
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	for _, guard := range s.Guards {
		h, _ := simulate(t, s, guard, 1)
		remembers(t, guard, verdict(t, s, guard, h), h)
		remembers(t, guard, onServers(t, m, s, guard), nil)
	}
}

func remembers(t *testing.T, guard string, v *checker.Verdict, h *history.History) {
	t.Helper()
	world := scenario.Local
	if h != nil {
		world = h.Header.World
	}
	if v.Outcome != checker.Safe || v.Counts.Final != v.Counts.Increment || v.Counts.Final < 4 {
		t.Errorf("on %s, guard %s: %s, the counter is at %d after %d increments: %v",
			world, guard, v.Outcome, v.Counts.Final, v.Counts.Increment, v.Reasons)
	}
}
