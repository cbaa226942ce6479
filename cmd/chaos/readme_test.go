package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
	"lockchaos/scenario"
)

// The scenario that the README shows can be taken as it stands.
func TestReadmeScenario(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "```yaml\n")
	text, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Fatal("the README has no scenario")
	}
	file := filepath.Join(t.TempDir(), "my-scenario.yaml")
	write(t, file, text)
	for _, world := range []string{scenario.Local, scenario.Simulation} {
		t.Run(world, func(t *testing.T) {
			t.Parallel()
			command(t, "run", file, "--on", world, "--results", t.TempDir()).
				expect(t, results.ExitExpected, "3 runs on "+world, "all as expected")
		})
	}
}
