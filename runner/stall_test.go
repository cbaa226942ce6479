package runner

import (
	"context"
	"io"
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
