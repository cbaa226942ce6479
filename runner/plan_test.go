package runner

import (
	"slices"
	"testing"

	"lockchaos/scenario"
)

// The canary comes first and once; a control is for what has faults or an order.
func TestPlan(t *testing.T) {
	get := func(name string) *scenario.Scenario {
		for _, s := range catalogue(t, scenario.Simulation) {
			if s.Name == name {
				return s
			}
		}
		t.Fatalf("no scenario %s", name)
		return nil
	}
	canary := *get("single/overrun")
	canary.Guards = []string{"none"}
	for name, c := range map[string]struct {
		batch Batch
		want  []string
	}{
		"no canary": {Batch{Scenarios: []*scenario.Scenario{get("single/baseline")}, Guards: []string{"none", "fence"}, Trials: 1},
			[]string{"single/baseline guard none", "single/baseline guard fence"}},
		"canary and trials": {Batch{Scenarios: []*scenario.Scenario{get("single/reset-links"), get("redlock/baseline")}, Guards: []string{"none"},
			Trials: 1, TrialsOf: map[string]int{"single/reset-links": 2}, Canary: &canary},
			[]string{"single/overrun guard none", "single/reset-links guard none", "single/reset-links guard none trial 2",
				"single/reset-links guard none control", "single/reset-links guard none control trial 2", "redlock/baseline guard none"}},
		"canary that is one of them": {Batch{Scenarios: []*scenario.Scenario{get("single/baseline"), get("single/overrun")}, Guards: []string{"none"}, Trials: 1, Canary: &canary},
			[]string{"single/overrun guard none", "single/baseline guard none", "single/overrun guard none control"}},
		"canary of a guard that is not asked for": {Batch{Scenarios: []*scenario.Scenario{get("single/baseline")}, Guards: []string{"fence"}, Trials: 1, Canary: &canary},
			[]string{"single/overrun guard none", "single/baseline guard fence"}},
		"nothing but a canary is nothing": {Batch{Scenarios: []*scenario.Scenario{get("redlock/baseline")}, Guards: []string{"fence"}, Trials: 1, Canary: &canary}, nil},
		"a hammer has no control": {Batch{Scenarios: []*scenario.Scenario{get("redlock/hammer")}, Trials: 1},
			[]string{"redlock/hammer guard none"}},
	} {
		c.batch.WorldName = scenario.Simulation
		var got []string
		for i, p := range c.batch.plan() {
			got = append(got, p.key.String())
			if p.canary != (c.batch.Canary != nil && i == 0) {
				t.Errorf("%s: run %d, %s, is the canary: %t", name, i+1, p.key, p.canary)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
