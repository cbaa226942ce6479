package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/internal/golden"
	"lockchaos/results"
)

// some are saved runs of every kind.
func some() []*results.Saved {
	ended := time.Unix(1e9+2, 5e8).UTC()
	var runs []*results.Saved
	for _, a := range all() {
		a.Run = "batch/" + a.Path()
		s := &results.Saved{Assessment: a}
		if a.Verdict != nil {
			v := a.Verdict
			if v.Findings == nil {
				v.Findings = []checker.Finding{}
			}
			v.Lock, v.Resource, v.Oracles = v.Outcome, v.Outcome, []checker.OracleReport{{Property: checker.PropertyMutex, Sweep: "ok", Porcupine: "ok", Chunks: 1, Ops: 2}}
			if a.Guard == "fence" {
				v.Counts.Stale = 2
			}
			s.Manifest = &results.Manifest{
				Version: 1, Run: a.Run, Key: a.Key, World: a.World, Seed: 1, Started: time.Unix(1e9, 0).UTC(), Ended: &ended, Repeat: a.Repeat, System: a.System,
				Options: json.RawMessage(`{"about":"the holder is stopped past its TTL","lock":{"ttl":"300ms"}}`),
				Machine: results.Machine{Redis: "Redis server v=7.0.15 sha=0"},
			}
		}
		runs = append(runs, s)
	}
	return runs
}

func formats() map[string]func(io.Writer, *Digest) error {
	return map[string]func(io.Writer, *Digest) error{
		"markdown": Markdown, "junit": JUnit, "json": JSON,
		"terminal":          func(w io.Writer, d *Digest) error { return Terminal(w, d.Assessments(), "", 120) },
		"compare":           func(w io.Writer, d *Digest) error { return NewComparison(d, NewDigest(nil)).Terminal(w) },
		"compare, markdown": func(w io.Writer, d *Digest) error { return NewComparison(d, NewDigest(nil)).Markdown(w) },
		"compare, json":     func(w io.Writer, d *Digest) error { return NewComparison(d, NewDigest(nil)).JSON(w) },
	}
}

func TestRenderings(t *testing.T) {
	for _, name := range []string{"markdown", "junit"} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := formats()[name](&b, NewDigest(some())); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/"+name+".golden", b.String())
		})
	}
}

// Runs of two worlds are not trials of one thing.
func TestMixedWorlds(t *testing.T) {
	here, there := assess("single", "x", "none", 1, checker.Safe), assess("single", "x", "none", 1, checker.Violated)
	there.World = "sim"
	d := NewDigest([]*results.Saved{{Assessment: here}, {Assessment: there}})
	if len(d.Rows) != 2 || d.Rows[0].System != "single on local" || d.Rows[1].System != "single on sim" || len(d.Questions) != 2 {
		t.Errorf("%+v, %d questions", d.Rows, len(d.Questions))
	}
	for _, r := range d.Rows {
		if r.Cells[0].Rate.Of != 1 {
			t.Errorf("%s: %+v", r.System, r.Cells[0].Rate)
		}
	}
}

// Only what a guard held off is told as that: an orphan is no failure of the lock.
func TestHeld(t *testing.T) {
	orphan := checker.Finding{ID: checker.Orphan, Blame: "library", Events: []int64{1}, Words: "nobody held the lock"}
	held := checker.Finding{ID: checker.StaleHolder, Contained: true, Words: "w1 went on"}
	for want, f := range map[string]checker.Finding{"orphan": orphan, "The lock failed, and the guard at the resource held: stale-holder": held} {
		d := NewDigest([]*results.Saved{{Assessment: assess("single", "x", "none", 1, checker.Safe, f)}})
		if got := d.Runs[0].Held() + d.Runs[0].Kinds; got != want {
			t.Errorf("%q, expected %q", got, want)
		}
	}
}

// A page of JUnit says of each run what its exit code says.
func TestJUnitCounts(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, NewDigest(some())); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, s := range some() {
		if s.ExitCode() != results.ExitExpected {
			failed++
		}
	}
	if got.Tests != len(some()) || got.Failures+got.Errors != failed || failed == 0 {
		t.Errorf("%d tests, %d failures, %d errors; %d are not as expected", got.Tests, got.Failures, got.Errors, failed)
	}
}

// Hostile names, words and paths are shown in every format, and do nothing there.
func TestHostileContent(t *testing.T) {
	evil := "<script>alert(1)</script>|`*[x](http://evil.example)@all #1 ]]>\x1b[31m\x00\x07\u202e\u009b\xff" + strings.Repeat("A", 10_000)
	runs := some()
	for _, s := range runs {
		s.Scenario, s.System, s.Guard, s.Repeat = evil+s.Scenario, evil, evil+s.Guard, evil
		if s.Verdict != nil {
			s.Verdict.Reasons = []string{evil}
			for i := range s.Verdict.Findings {
				s.Verdict.Findings[i].Words, s.Verdict.Findings[i].Blame = evil, evil
			}
		} else {
			s.Error = evil
		}
	}
	for name, write := range formats() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := write(&b, NewDigest(runs)); err != nil {
				t.Fatal(err)
			}
			s := b.String()
			if strings.ContainsAny(s, "\x1b\x00\x07\u009b\u202e") {
				t.Error("a control character comes through")
			}
			if !strings.Contains(s, "alert") {
				t.Error("the name is not shown")
			}
			switch name {
			case "markdown", "compare, markdown":
				for _, bad := range []string{"<script", "](http", "@all", "#1", "http:"} {
					if strings.Contains(s, bad) {
						t.Errorf("%q comes through", bad)
					}
				}
			case "junit":
				d := xml.NewDecoder(&b)
				for {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
			case "json", "compare, json":
				if !json.Valid(b.Bytes()) || strings.Contains(s, "<script") {
					t.Error("no harmless JSON")
				}
			}
			if !strings.HasSuffix(name, "json") && len(s) > 200_000 {
				t.Errorf("%d bytes", len(s))
			}
		})
	}
}

// However many runs there are, Markdown stays short enough to be taken.
func TestMarkdownIsShort(t *testing.T) {
	var runs []*results.Saved
	for i := range 3000 {
		s := some()[0]
		s.Scenario = fmt.Sprintf("system/scenario-%d", i)
		runs = append(runs, s)
	}
	var b bytes.Buffer
	if err := Markdown(&b, NewDigest(runs)); err != nil {
		t.Fatal(err)
	}
	if b.Len() > MaxMarkdown || !strings.Contains(b.String(), "left out") {
		t.Errorf("%d bytes, and it ends: %s", b.Len(), b.String()[b.Len()-200:])
	}
	b.Reset()
	if err := NewComparison(NewDigest(runs), NewDigest(nil)).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	if b.Len() > MaxMarkdown || strings.Contains(b.String(), "left out") == (strings.Count(b.String(), "\n| ") > 3000) {
		t.Errorf("the comparison has %d bytes, and ends: %s", b.Len(), b.String()[b.Len()-200:])
	}
}

// trials are so many runs of one cell, of which the first n are violated.
func trials(experiment string, n, of int) []*results.Saved {
	var runs []*results.Saved
	for i := range of {
		a := assess("single", experiment, "none", i+1, checker.Safe)
		if i < n {
			a = assess("single", experiment, "none", i+1, checker.Violated, checker.Finding{ID: checker.LostUpdate, Blame: "resource", Words: "one is lost"})
		}
		runs = append(runs, &results.Saved{Assessment: a})
	}
	return runs
}

func TestCompare(t *testing.T) {
	a := append(append(append(trials("better", 18, 20), trials("same", 2, 20)...), trials("noise", 1, 3)...), trials("gone", 0, 1)...)
	b := append(append(append(trials("better", 1, 20), trials("same", 2, 20)...), trials("noise", 2, 3)...), trials("new", 0, 1)...)
	x := NewComparison(NewDigest(a), NewDigest(b))
	for name, write := range map[string]func(io.Writer) error{"compare": x.Terminal, "compare-markdown": x.Markdown, "compare-json": x.JSON} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/"+name+".golden", out.String())
	}
	for _, c := range Changes(NewDigest(a), NewDigest(b)) {
		if c.Significant != (c.Column == "better") {
			t.Errorf("%s: significant %v, p %g", c.Column, c.Significant, c.P)
		}
	}
}

// Among many cells, one small p-value is no surprise.
func TestCompareCorrects(t *testing.T) {
	var a, b []*results.Saved
	for i := range 20 {
		n := 0
		if i == 7 {
			n = 5 // p = 0.008 by itself
		}
		a, b = append(a, trials(fmt.Sprint("x", i), 0, 5)...), append(b, trials(fmt.Sprint("x", i), n, 5)...)
	}
	for _, c := range Changes(NewDigest(a), NewDigest(b)) {
		if c.Significant {
			t.Errorf("%s: p %g of 20 cells counts as significant", c.Column, c.P)
		}
	}
}

func TestShort(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "\x1b[0m": "?[0m", "\u202eabc": "?abc", "\xff": "?", "äöüß": "äöüß",
		strings.Repeat("x", 12): "xxxxxxxxx…",
	} {
		if got := Short(in, 10); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}
	if got := Short(strings.Repeat("é", 10_000), 50); got != strings.Repeat("é", 49)+"… (10000 characters)" {
		t.Errorf("%q", got)
	}
}
