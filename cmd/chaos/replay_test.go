package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
)

// edit changes a file of a saved run, and gives back what puts it right again.
func edit(t *testing.T, dir, name string, change func(string) string) (back func()) {
	t.Helper()
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	now := change(string(b))
	if now == string(b) {
		t.Fatalf("%s is as it was", path)
	}
	write(t, path, now)
	return func() { write(t, path, string(b)) }
}

// A run is not done again as one that it was not: nothing of its manifest is taken
// on trust. Whatever differs in a history is said, line ends too.
func TestReplayOfChangedFiles(t *testing.T) {
	t.Parallel()
	dir := savedRunOf(t, "single/clock-jump", "fence")
	for says, change := range map[string][2]string{
		`manifest.json: the world is "moon", expected one of local, remote, sim`: {`"world": "sim"`, `"world": "moon"`},
		`manifest.json: the world is "local", and in history.jsonl it is "sim"`:  {`"world": "sim"`, `"world": "local"`},
		`manifest.json: the seed is 2, and in history.jsonl it is 1`:             {`"seed": 1`, `"seed": 2`},
		`manifest.json: options.lock.ttl is "3s", and by scenario.yaml`:          {`"ttl": "2s"`, `"ttl": "3s"`},
		`manifest.json: manifest version 9`:                                      {`"version": 1`, `"version": 9`},
	} {
		back := edit(t, dir, results.ManifestFile, func(s string) string { return strings.Replace(s, change[0], change[1], 1) })
		for _, cmd := range []string{"replay", "shrink"} {
			command(t, cmd, dir).expect(t, results.ExitUsage, says)
		}
		back()
	}
	for says, change := range map[string]func(string) string{
		"\"kind\":\"end\"} (without a line end)\n": func(s string) string { return strings.TrimSuffix(s, "\n") },
		"saved: (an empty line)\n":                 func(s string) string { return s + "\n" },
		"saved: (no more lines)\n":                 func(string) string { return "" },
	} {
		back := edit(t, dir, results.HistoryFile, change)
		command(t, "replay", dir).expect(t, results.ExitHarness, "the history differs from line ", says, "not identical")
		back()
	}
	command(t, "replay", dir).expect(t, results.ExitExpected, "the history is identical")
}

// A scenario without a name is called as its file was: in the run's directory, where
// that is called otherwise, too.
func TestReplayWithoutAName(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	write(t, file, "lock: {system: single, ttl: 300ms}\nhosts: 2\nworkload: {kind: counter, rounds: 2}\nguards: [none]\nexpect: {none: {outcome: safe}}\n")
	command(t, "replay", savedRunOf(t, file, "none")).expect(t, results.ExitExpected, "mine guard none", "the history is identical")
}

func TestFirstDifference(t *testing.T) {
	for name, c := range map[string]struct {
		was, now string
		line     int
		x, y     string
	}{
		"none":                {"a\nb\n", "a\nb\n", 0, "", ""},
		"another line":        {"a\nb\nc\n", "a\nB\nc\n", 2, "b", "B"},
		"one line more":       {"a\nb\n", "a\n", 2, "b", "(no more lines)"},
		"one line less":       {"a\n", "a\nb\n", 2, "(no more lines)", "b"},
		"no last line end":    {"a\nb", "a\nb\n", 2, "b (without a line end)", "b"},
		"a line end more":     {"a\nb\n\n", "a\nb\n", 3, "(an empty line)", "(no more lines)"},
		"an empty one amid":   {"a\n\nb\n", "a\nb\n", 2, "(an empty line)", "b"},
		"a carriage return":   {"a\r\nb\n", "a\nb\n", 1, `"a\r"`, "a"},
		"what cannot be seen": {"a\x01\n", "a\x02\n", 1, `"a\x01"`, `"a\x02"`},
		"nothing there":       {"", "a\n", 1, "(no more lines)", "a"},
	} {
		line, x, y := firstDifference([]byte(c.was), []byte(c.now))
		if line != c.line || x != c.x || y != c.y {
			t.Errorf("%s: line %d, %s, %s", name, line, x, y)
		}
	}
	var out bytes.Buffer
	s := &savedRun{}
	s.manifest.Machine.Commit = "of another time"
	if err := s.compareBytes(&out, []byte("a"), []byte("b")); finish(err) != results.ExitHarness || !strings.Contains(err.Error(), "it was saved with commit of another time, now ") {
		t.Errorf("it ends with %v", err)
	}
}
