package suites_test

import (
	"path"
	"slices"
	"testing"

	"lockchaos/scenario"
	"lockchaos/scenarios"
	"lockchaos/suites"
)

func selected(t *testing.T, name string) (*scenario.Suite, *scenario.Selection) {
	t.Helper()
	s, err := scenario.FindSuite(name, suites.Files)
	if err != nil || s == nil {
		t.Fatalf("suite %s: %v, %v", name, s, err)
	}
	sel, err := s.Select(scenario.NewCatalogue(scenarios.Files))
	if err != nil {
		t.Fatal(err)
	}
	return s, sel
}

// Each suite is valid, is called as its file, names scenarios that there are, and
// has a canary that must be violated in both worlds.
func TestSuites(t *testing.T) {
	names, err := scenario.SuiteNames(suites.Files)
	if err != nil || !slices.Equal(names, []string{"default", "full", "quick"}) {
		t.Errorf("%v, %v", names, err)
	}
	for _, name := range names {
		s, sel := selected(t, name)
		if s.Name != name || s.About == "" || len(s.About) > 110 {
			t.Errorf("%s: called %s, about has %d characters", name, s.Name, len(s.About))
		}
		if e := sel.Canary.Expect[sel.Canary.Guards[0]]; e.Outcome != "violated" {
			t.Errorf("%s: its canary is expected to be %s", name, e.Outcome)
		}
		for _, world := range []string{scenario.Local, scenario.Simulation} {
			if !sel.Canary.RunsOn(world) {
				t.Errorf("%s: its canary does not run on %s", name, world)
			}
		}
	}
	if s, _ := selected(t, suites.Default); s.Name != suites.Default {
		t.Errorf("the default suite is %s", s.Name)
	}
}

// The full suite has every scenario of the catalogue that is not for search, by
// its name or by a pattern for one experiment with every lock system.
func TestFullIsFull(t *testing.T) {
	s, sel := selected(t, "full")
	all, err := scenario.NewCatalogue(scenarios.Files).Find("*/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		i := slices.IndexFunc(sel.Scenarios, func(o *scenario.Scenario) bool { return o.Name == one.Name })
		switch {
		case one.Hammer != nil:
		case i < 0:
			t.Errorf("%s is not in the full suite", one.Name)
		case !slices.Equal(sel.Scenarios[i].Guards, one.Guards):
			t.Errorf("%s is there without some of its guards: %v of %v", one.Name, sel.Scenarios[i].Guards, one.Guards)
		}
	}
	for _, e := range s.Scenarios {
		if ok, _ := path.Match(e.Scenario, "any/experiment"); ok {
			t.Errorf("%q stands for any experiment: a new one would not be noticed", e.Scenario)
		}
	}
}
