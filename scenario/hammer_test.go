package scenario

import (
	"reflect"
	"testing"

	"lockchaos/scenarios"
)

// What a hammer draws is saved as a scenario that reads as the same.
func TestDrawnReadsBack(t *testing.T) {
	for _, name := range []string{"redlock/hammer", "redlock/hammer-messages", "redlock/hammer-retries"} {
		s, err := NewCatalogue(scenarios.Files).Get(name)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range int64(20) {
			drawn, err := s.Drawn(seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(drawn.Faults) == 0 || drawn.Hammer != nil {
				t.Fatalf("%s seed %d: %d faults drawn", name, seed, len(drawn.Faults))
			}
			again, err := Parse(drawn.Source, "drawn.yaml")
			if err != nil {
				t.Fatalf("%s seed %d: %v\n%s", name, seed, err, drawn.Source)
			}
			again.File, again.Source = drawn.File, drawn.Source
			if !reflect.DeepEqual(again, drawn) {
				t.Errorf("%s seed %d reads back as\n%+v, drawn was\n%+v", name, seed, again, drawn)
			}
		}
	}
}
