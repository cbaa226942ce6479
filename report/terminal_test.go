package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/internal/golden"
	"lockchaos/results"
	"lockchaos/scenario"
)

func assess(system, experiment, guard string, trial int, o checker.Outcome, findings ...checker.Finding) *results.Assessment {
	name := system + "/" + experiment
	return &results.Assessment{
		Key: results.Key{Scenario: name, Guard: guard, Trial: trial}, World: "local", System: system,
		AsExpected: true, Verdict: &checker.Verdict{Outcome: o, Findings: findings},
		Repeat: "./chaos run " + name, Dir: "results/runs/x",
	}
}

func all() []*results.Assessment {
	lost := checker.Finding{ID: checker.LostUpdate, Blame: "resource", Words: "w1 wrote 1 over 1: one increment is lost"}
	stale := checker.Finding{ID: checker.StaleHolder, Blame: "holder", Words: "w1 went on"}
	contained := stale
	contained.Contained = true

	control := assess("single", "pause-after-acquire", "none", 1, checker.Safe)
	control.Control = true
	odd := assess("redlock", "majority-down", "none", 1, checker.Inconclusive)
	odd.AsExpected = false
	odd.Differences = []scenario.Difference{{Kind: scenario.Proof, Text: "the outcome is inconclusive, expected safe"}}
	odd.Verdict.Reasons = []string{"a fault without proof"}
	broken := assess("redlock", "baseline", "none", 1, "")
	broken.AsExpected, broken.Verdict = false, nil
	broken.Error = "host w1 printed \x1b[31mred\x00"
	return []*results.Assessment{
		assess("single", "pause-after-acquire", "none", 1, checker.Violated, stale, lost),
		assess("single", "pause-after-acquire", "none", 2, checker.Safe),
		assess("single", "pause-after-acquire", "fence", 1, checker.Safe, contained),
		assess("single", "pause-before-validity-check", "none", 1, checker.Safe,
			checker.Finding{ID: checker.Wedge, Words: "an acquire of w1 ended and nobody knows how; nobody got it any more"}),
		control, odd, broken,
	}
}

func TestTerminal(t *testing.T) {
	for name, width := range map[string]int{"wide": 120, "narrow": 60} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Terminal(&b, all(), "results/runs/x", width); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/"+name+".golden", b.String())
			for line := range strings.Lines(b.String()) {
				if strings.ContainsAny(line, "\x1b\x00") {
					t.Errorf("a control character came through: %q", line)
				}
			}
		})
	}
}

// What is not told one by one counts as what it is.
func TestUntold(t *testing.T) {
	a := assess("single", "x", "none", 1, checker.Violated, checker.Finding{ID: checker.StaleHolder}, checker.Finding{ID: checker.StaleHolder},
		checker.Finding{ID: checker.StaleHolder, Count: 44, More: 44}, checker.Finding{ID: checker.LostUpdate, Count: 3})
	if n, k := Violations(a.Verdict), kinds(a.Verdict); n != 47 || k != "stale-holder ×46, lost-update" {
		t.Errorf("%d violations, %s; want 47, stale-holder ×46, lost-update", n, k)
	}
}

// With more than one trial, a cell always says in how many.
func TestShare(t *testing.T) {
	bad := assess("single", "x", "none", 1, checker.Violated, checker.Finding{ID: checker.LostUpdate})
	good := assess("single", "x", "none", 2, checker.Safe)
	for want, runs := range map[string][]*results.Assessment{
		"VIOLATED 1":     {bad},
		"VIOLATED 1 1/2": {bad, good},
		"VIOLATED 3 3/3": {bad, bad, bad},
		"safe":           {good, good},
	} {
		if got := (&cell{runs}).text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var b bytes.Buffer
	if err := Terminal(&b, []*results.Assessment{good}, "", 120); err != nil || !strings.Contains(b.String(), "\n1 run on local: 1 safe") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// A run that is dropped is not under way any more, and not done.
func TestDropped(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, true, 70)
	p.Planned(2)
	p.Started(all()[0].Key)
	p.Dropped(all()[0].Key)
	if got := b.String(); !strings.HasSuffix(got, "0/2 done  running: \r\x1b[K") {
		t.Errorf("%q", got)
	}
}

func TestProgress(t *testing.T) {
	for name, live := range map[string]bool{"plain": false, "live": true} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			p := NewProgress(&b, live, 70)
			p.Planned(len(all()))
			for _, a := range all() {
				p.Started(a.Key)
				p.Finished(a, 1500*time.Millisecond)
			}
			golden.Check(t, "testdata/"+name+".golden", strings.ReplaceAll(b.String(), "\r\x1b[K", "\n")) // a line for each redraw
		})
	}
}
