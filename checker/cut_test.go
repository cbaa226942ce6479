package checker

import (
	"os"
	"path/filepath"
	"testing"

	"lockchaos/history"
)

// TestCutAnywhere cuts the safe cases in testdata after each of their events:
// what is no longer there makes nothing violated, and nothing safe.
func TestCutAnywhere(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range parseCases(t, string(text)) {
			if c.outcome != Safe {
				continue
			}
			for n := range c.h.Events {
				v, err := Judge(&history.History{Header: c.h.Header, Events: c.h.Events[:n]})
				if err != nil || v.Outcome != Inconclusive {
					t.Errorf("%s: %s, after %d of %d events: %+v %v", file, c.name, n, len(c.h.Events), v, err)
				}
				cuts++
			}
		}
	}
	if cuts == 0 {
		t.Error("no safe case")
	}
}
