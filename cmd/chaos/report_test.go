package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
)

// batchOf makes one saved batch of the stale holder in the simulation.
func batchOf(t *testing.T, args ...string) (dir, said string) {
	t.Helper()
	root := t.TempDir()
	c := command(t, append([]string{"run", "single/pause-after-acquire", "--on", "sim", "--guard", "none,fence", "--results", root}, args...)...)
	c.expect(t, results.ExitExpected, "all as expected")
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	return dirs[0], c.out.String()
}

// A run leaves its report in every form, and says where.
func TestRunWritesReports(t *testing.T) {
	t.Parallel()
	dir, said := batchOf(t)
	if want := "report: " + filepath.Join(dir, "report.html") + "\n"; !strings.Contains(said, want) {
		t.Errorf("it does not say %q:\n%s", want, said)
	}
	for _, r := range renderings() {
		b, err := os.ReadFile(filepath.Join(dir, r.file))
		if err != nil || !strings.Contains(string(b), "pause-after-acquire") {
			t.Errorf("%s: %v, %d bytes", r.file, err, len(b))
		}
	}
	runs, err := results.Runs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		b, err := os.ReadFile(filepath.Join(run, "report.html"))
		if err != nil || strings.Count(string(b), "<svg") != 2 {
			t.Errorf("%s: %v, %d pictures", run, err, strings.Count(string(b), "<svg"))
		}
	}
}

// A report needs the verdict, and neither the history nor the scenario: it
// judges nothing.
func TestReportJudgesNothing(t *testing.T) {
	t.Parallel()
	dir, _ := batchOf(t)
	runs, err := results.Runs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		for _, name := range []string{results.HistoryFile, results.ScenarioFile} {
			if err := os.Remove(filepath.Join(run, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, r := range renderings() {
		command(t, "report", dir, "--format", r.format).expect(t, results.ExitExpected, "pause-after-acquire", "lost-update")
	}
	file := filepath.Join(t.TempDir(), "x.html")
	command(t, "report", runs[0], runs[1], "--format", "html", "-o", file).expect(t, results.ExitExpected)
	if b, err := os.ReadFile(file); err != nil || !strings.HasSuffix(string(b), "</html>\n") && !strings.Contains(string(b), "</html>") {
		t.Errorf("%v, %d bytes", err, len(b))
	}
}

// Judging an old run again makes what a picture of it needs.
func TestCheckMakesTimelines(t *testing.T) {
	t.Parallel()
	dir, _ := batchOf(t)
	run := filepath.Join(dir, results.Key{Scenario: "single/pause-after-acquire", Guard: "none", Trial: 1}.Path())
	timeline := filepath.Join(run, results.TimelineFile)
	was, err := os.ReadFile(timeline)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(timeline); err != nil {
		t.Fatal(err)
	}
	command(t, "report", run, "--format", "html").expect(t, results.ExitExpected, "chaos check makes it")
	command(t, "check", run).expect(t, results.ExitExpected)
	if now, err := os.ReadFile(timeline); err != nil || string(now) != string(was) {
		t.Errorf("%v: the timeline is another than when the run was made", err)
	}
}

func TestReportWrongCalls(t *testing.T) {
	t.Parallel()
	run := simulated(t)
	unjudged, torn, future := t.TempDir(), t.TempDir(), t.TempDir()
	copied(t, run, unjudged, results.ManifestFile, results.HistoryFile)
	copied(t, run, torn, results.ManifestFile, results.VerdictFile)
	if err := os.Truncate(filepath.Join(torn, results.VerdictFile), 50); err != nil {
		t.Fatal(err)
	}
	copied(t, run, future, results.ManifestFile, results.VerdictFile)
	write(t, filepath.Join(future, results.TimelineFile), `{"version": 99}`)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"nothing":        {[]string{"report"}, "at least 1 arg"},
		"unknown format": {[]string{"report", run, "--format", "pdf"}, `--format "pdf": expected one of terminal, html, markdown, junit, json`},
		"no runs":        {[]string{"report", t.TempDir()}, "no run in there"},
		"no directory":   {[]string{"report", "/nonsense"}, "/nonsense"},
		"not judged":     {[]string{"report", unjudged}, unjudged + ": not judged yet: chaos check does that"},
		"half a verdict": {[]string{"report", torn}, results.VerdictFile + ": unexpected end"},
		"a new timeline": {[]string{"report", future}, results.TimelineFile + ": timeline version 99"},
		"compare, junit": {[]string{"compare", run, run, "--format", "junit"}, `--format "junit": expected one of terminal, markdown, json, html`},
		"compare one":    {[]string{"compare", run}, "2 arg"},
		"compare none":   {[]string{"compare", run, "/nonsense"}, "/nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, c.args...).expect(t, results.ExitUsage, c.says)
		})
	}
	command(t, "report", run, "-o", "/nonsense/x.txt").expect(t, results.ExitHarness, "/nonsense/x.txt")
}

func TestCompareRuns(t *testing.T) {
	t.Parallel()
	a, _ := batchOf(t)
	b, _ := batchOf(t, "--seed", "2")
	command(t, "compare", a, a).expect(t, results.ExitExpected, "3 cells compared, 3 the same in both.", "so few trials")
	none := filepath.Join(b, results.Key{Scenario: "single/pause-after-acquire", Guard: "none", Trial: 1}.Path())
	command(t, "compare", a, none).expect(t, results.ExitExpected, "single × fence, pause-after-acquire", "B: not run")
	for format, says := range map[string]string{
		"markdown": "| single | fence | pause-after-acquire | violated in 0 of 1", "json": `"column": "pause-after-acquire"`, "html": "<td>not run</td>",
	} {
		command(t, "compare", a, none, "--format", format).expect(t, results.ExitExpected, says)
	}
	file := filepath.Join(t.TempDir(), "x.html")
	command(t, "compare", a, none, "--format", "html", "-o", file).expect(t, results.ExitExpected)
	if b, err := os.ReadFile(file); err != nil || !strings.HasPrefix(string(b), "<!doctype html>") {
		t.Errorf("%v, %d bytes", err, len(b))
	}
}
