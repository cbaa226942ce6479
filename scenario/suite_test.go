package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"lockchaos/internal/golden"
	"lockchaos/scenario"
	"lockchaos/scenarios"
)

// selection parses a suite and looks its scenarios up.
func selection(text, file string) (*scenario.Selection, error) {
	s, err := scenario.ParseSuite([]byte(text), file)
	if err != nil {
		return nil, err
	}
	return s.Select(scenario.NewCatalogue(scenarios.Files))
}

func TestBadSuites(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("broken.yaml", "lock: {system: single}\nhosts: many\n")
	write("nested.yaml", "suite: inner\nscenarios: [single/baseline]\n")
	write("twin.yaml", "name: single/overrun\n"+external)
	const head = "suite: x\nabout: one line\n"
	var out strings.Builder
	for _, c := range []struct {
		name, text string
		line       int
	}{
		{"no scenarios", head, 1},
		{"empty list", head + "scenarios: []\n", 3},
		{"one that is not a list", head + "scenarios: single/baseline\n", 3},
		{"unknown key", head + "scenario: [single/baseline]\n", 3},
		{"unknown key of an entry", head + "scenarios:\n  - single/baseline\n  - {scenario: single/overrun, trial: 2}\n", 5},
		{"unknown key of the canary", head + "canary: {name: single/overrun}\nscenarios: [single/baseline]\n", 3},
		{"unknown scenario", head + "scenarios:\n  - single/baseline\n  - single/nonsense\n", 5},
		{"pattern of nothing", head + "scenarios:\n  - \"zookeeper/*\"\n", 4},
		{"bad pattern", head + "scenarios:\n  - \"single/[\"\n", 4},
		{"missing file", head + "scenarios:\n  - none.yaml\n", 4},
		{"broken file", head + "scenarios:\n  - broken.yaml\n", 2},
		{"an entry of nothing", head + "scenarios:\n  -\n", 4},
		{"an entry without a scenario", head + "scenarios:\n  - {trials: 2}\n", 4},
		{"an entry that is a list", head + "scenarios:\n  - [single/baseline]\n", 4},
		{"no trial", head + "scenarios:\n  - {scenario: single/baseline, trials: 0}\n", 4},
		{"half a trial", head + "scenarios:\n  - {scenario: single/baseline, trials: 1.5}\n", 4},
		{"trials without end", head + "scenarios:\n  - {scenario: single/baseline, trials: 100000}\n", 4},
		{"unknown guard", head + "scenarios:\n  - {scenario: single/baseline, guards: [none, sword]}\n", 4},
		{"guard twice", head + "scenarios:\n  - {scenario: single/baseline, guards: [none, none]}\n", 4},
		{"guard that it has not", head + "scenarios:\n  - {scenario: redlock/baseline, guards: [fence]}\n", 4},
		{"two of one name", head + "scenarios:\n  - single/overrun\n  - twin.yaml\n", 5},
		{"a suite in it", head + "scenarios:\n  - single/overrun\n  - nested.yaml\n", 5},
		{"a suite in it, with guards", head + "scenarios:\n  - {scenario: nested.yaml, guards: [none]}\n", 4},
		{"a suite as canary", head + "canary: nested.yaml\nscenarios: [single/baseline]\n", 3},
		{"name that climbs", "suite: ../x\nscenarios: [single/baseline]\n", 1},
		{"name of nothing", "suite:\nscenarios: [single/baseline]\n", 1},
		{"unknown canary", head + "canary: single/nonsense\nscenarios: [single/baseline]\n", 3},
		{"canary with a guard that it has not", head + "canary: {scenario: redlock/baseline, guard: fence}\nscenarios: [single/baseline]\n", 3},
		{"canary that is many", head + "canary: single/*\nscenarios: [single/baseline]\n", 3},
		{"empty canary", head + "canary: \"\"\nscenarios: [single/baseline]\n", 3},
		{"two documents", head + "scenarios: [single/baseline]\n---\nsuite: y\n", 0},
	} {
		sel, err := selection(c.text, filepath.Join(dir, "bad.yaml"))
		var e *scenario.Error
		if sel != nil || !errors.As(err, &e) {
			t.Errorf("%s: %v, %v", c.name, sel, err)
			continue
		}
		if e.Line != c.line {
			t.Errorf("%s: line %d, want %d", c.name, e.Line, c.line)
		}
		fmt.Fprintf(&out, "# %s\n%s\n\n", c.name, strings.ReplaceAll(err.Error(), dir+"/", ""))
	}
	// What hangs on the whole catalogue would change with each new scenario.
	text := regexp.MustCompile(`stands for \d+`).ReplaceAllString(out.String(), "stands for …")
	for line := range strings.Lines(text) {
		if head, _, ok := strings.Cut(line, "or one of: "); ok {
			text = strings.ReplaceAll(text, line, head+"or one of: …\n")
		}
	}
	golden.Check(t, "testdata/bad-suites.txt", text)
}

// describe tells what a suite comes to.
func describe(sel *scenario.Selection) string {
	var all []string
	for _, s := range sel.Scenarios {
		all = append(all, fmt.Sprintf("%s %s ×%d", s.Name, strings.Join(s.Guards, "+"), sel.Trials[s.Name]))
	}
	return strings.Join(append(all, "canary "+sel.Canary.Name+" "+strings.Join(sel.Canary.Guards, "+")), "\n")
}

func TestSelect(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), []byte(external), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a name, and the canary of all": {"scenarios: [redlock/baseline]",
			"redlock/baseline none+version+atomic ×1\ncanary single/pause-after-acquire none"},
		"guards and trials": {"scenarios: [{scenario: redlock/baseline, guards: [atomic, none], trials: 3}]\ncanary: single/overrun",
			"redlock/baseline none+atomic ×3\ncanary single/overrun none"},
		"a pattern takes what has the guard": {"scenarios: [{scenario: \"*/baseline\", guards: [fence]}]",
			"sentinel/baseline fence ×1\nsingle-bare-del/baseline fence ×1\nsingle-bare-expire/baseline fence ×1\nsingle-mint-after/baseline fence ×1\n" +
				"single-mint-before/baseline fence ×1\nsingle/baseline fence ×1\ncanary single/pause-after-acquire none"},
		"a later entry is the better one": {"scenarios: [\"redlock/*-down\", {scenario: redlock/majority-down, trials: 5}]",
			"redlock/majority-down none ×5\nredlock/minority-down none ×1\ncanary single/pause-after-acquire none"},
		"a file beside it, and a guarded canary": {"scenarios: [mine.yaml]\ncanary: {scenario: single/fence-on-write-only, guard: fence}",
			"mine none ×1\ncanary single/fence-on-write-only fence"},
		"a canary beside it": {"canary: mine.yaml\nscenarios: [redlock/minority-down]",
			"redlock/minority-down none ×1\ncanary mine none"},
	} {
		sel, err := selection("suite: x\n"+c.text+"\n", filepath.Join(dir, "suite.yaml"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := describe(sel); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
		for _, s := range sel.Scenarios {
			if _, err := s.JSON(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A file is a suite by its key; on disk it goes before an embedded one.
func TestFindSuite(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "suite: %s\nabout: %s\nscenarios: [single/baseline]\n"
	embedded := fstest.MapFS{}
	for _, name := range []string{"nightly", "other", "files"} {
		embedded[name+".yaml"] = &fstest.MapFile{Data: fmt.Appendf(nil, text, name, "embedded")}
	}
	embedded["files.yaml"].Data = []byte("suite: files\nscenarios: [mine.yaml]\n")
	for name, text := range map[string]string{
		"suites/nightly.yaml": fmt.Sprintf(text, "nightly", "disk"), "mine.yaml": external,
		"late-key.yaml": "about: disk\nscenarios: [single/baseline]\nsuite: late\n", "broken.yaml": "suite: [\n", "suites/mine.yaml": external,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for arg, want := range map[string]string{
		"suites/nightly.yaml": "disk", "./suites/nightly.yaml": "disk", "nightly": "embedded",
		"suites/other.yaml": "embedded", "other": "embedded", "late-key.yaml": "disk",
		"other.yaml": "", "mine.yaml": "", "suites/mine.yaml": "", "broken.yaml": "", "single/baseline": "", "*": "", "suites/none.yaml": "", "": "",
	} {
		s, err := scenario.FindSuite(arg, embedded)
		got := ""
		if s != nil {
			got = s.About
		}
		if err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", arg, got, err, want)
		}
	}
	if names, err := scenario.SuiteNames(embedded); err != nil || !slices.Equal(names, []string{"files", "nightly", "other"}) {
		t.Errorf("%v, %v", names, err)
	}
	s, err := scenario.FindSuite("files", embedded)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Select(scenario.NewCatalogue(scenarios.Files)); err == nil || !strings.Contains(err.Error(), "an embedded suite has no files beside it") {
		t.Errorf("a file of an embedded suite: %v", err)
	}
}

func FuzzSuite(f *testing.F) {
	f.Add([]byte("suite: x\nabout: y\ncanary: {scenario: single/overrun, guard: none}\nscenarios: [\"*/baseline\", {scenario: a, guards: [none], trials: 2}]\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := scenario.ParseSuite(b, "fuzz.yaml")
		if err != nil {
			var e *scenario.Error
			if !errors.As(err, &e) || s != nil || e.File != "fuzz.yaml" || e.Line < 0 || e.Message == "" {
				t.Fatalf("%#v, %v", err, s)
			}
			_ = err.Error()
		}
	})
}
