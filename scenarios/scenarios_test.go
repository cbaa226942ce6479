package scenarios_test

import (
	"strings"
	"testing"

	"lockchaos/scenario"
	"lockchaos/scenarios"
)

// Each file of the catalogue is valid, is called as its path says, lies in the
// folder of its lock system, and says on one line what it shows.
func TestCatalogue(t *testing.T) {
	c := scenario.NewCatalogue(scenarios.Files)
	names, err := c.Names()
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 20 {
		t.Errorf("%d scenarios are embedded: %v", len(names), names)
	}
	for _, name := range names {
		s, err := c.Get(name)
		if err != nil {
			t.Error(err)
			continue
		}
		folder, _, _ := strings.Cut(name, "/")
		if s.Lock.System != folder {
			t.Errorf("%s is about the system %s", name, s.Lock.System)
		}
		if s.About == "" || len(s.About) > 110 {
			t.Errorf("%s: about has %d characters", name, len(s.About))
		}
		if _, err := s.JSON(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
