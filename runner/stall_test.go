package runner

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/scenario"
)

// mistaken stops w1 where it is told to stop a node.
type mistaken struct{ Cluster }

func (c mistaken) PauseNode(ctx context.Context, _ string) (string, error) {
	return c.PauseHost(ctx, "w1")
}

func (c mistaken) ResumeNode(ctx context.Context, _ string) (string, error) {
	return c.ResumeHost(ctx, "w1")
}

type mistakenWorld struct{ World }

func (w mistakenWorld) Up(ctx context.Context, spec cluster.Spec) (Cluster, error) {
	c, err := w.World.Up(ctx, spec)
	return mistaken{c}, err
}

// A host tells that it stood still. Where a fault had stopped it that is what the run
// is about; where none had, the run says nothing about the lock.
func TestHostTellsThatItStoodStill(t *testing.T) {
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name, c := range map[string]struct {
		world World
		fault string
		spoil bool
	}{
		"stopped by the fault": {localWorld{m}, "pause-host, hosts: [w1], from: after w1 acquired, for: 1500ms", false},
		"stopped by nobody":    {mistakenWorld{localWorld{m}}, "pause-node, nodes: [n1], from: after w1 acquired, for: 1500ms", true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &history.History{}
			r := Run{Name: "stall", World: scenario.Local, Scenario: overlapping(t, c.fault), Guard: history.GuardNone, Seed: 1, Logs: t.TempDir(), Keep: h}
			if err := r.Do(t.Context(), c.world, io.Discard); err != nil {
				t.Fatal(err)
			}
			var told time.Duration
			for _, e := range h.Events {
				if e.Kind == history.Stall && e.Host == "w1" {
					told = max(told, time.Duration(e.Value))
				}
			}
			if told < time.Second {
				t.Errorf("w1 told that it stood still for %s, want over a second", told)
			}
			v, err := checker.Judge(h)
			if err != nil {
				t.Fatal(err)
			}
			if spoilt := v.Stalled >= time.Second; spoilt != c.spoil {
				t.Errorf("the verdict says that hosts or harness stood still for %s by themselves", v.Stalled)
			}
		})
	}
}

// A holder that was late because its process stood still is no news: the run is done
// again, and what it was is kept. A library that then deletes the lock of another is
// news however late its host was.
func TestDoneAgain(t *testing.T) {
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for system, want := range map[string]struct{ spoilt, histories int }{
		"single": {mostSpoilt, mostSpoilt + 1}, "single-bare-del": {0, 1},
	} {
		t.Run(system, func(t *testing.T) {
			s, err := scenario.Parse(fmt.Appendf(nil, `
lock: {system: %s, ttl: 500ms}
hosts: 2
workload: {kind: counter, rounds: 2, work: 5ms, rest: 5ms}
guards: [none]
control: none
deadline: 20s
order: [w2 acquires after w1 acquired, w2 checks 2 after w1 released]
faults: [{fault: pause-node, nodes: [n1], from: after w1 read, until: after w2 read}]
needs: {before: {grants: 0}, during: {attempts: 0}, after: {grants: 0}}
expect: {none: {outcome: safe}}
`, system), "late.yaml")
			if err != nil {
				t.Fatal(err)
			}
			a := assess(t, mistakenWorld{localWorld{m}}, scenario.Local, s)
			files, err := filepath.Glob(filepath.Join(a.Dir, "*.jsonl"))
			if err != nil || a.AsExpected || a.Spoilt != want.spoilt || len(files) != want.histories {
				t.Errorf("as expected: %v, done again %d times, histories %v, %v; want that %d times\n%v",
					a.AsExpected, a.Spoilt, files, err, want.spoilt, a.Differences)
			}
		})
	}
}
