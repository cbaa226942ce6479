package scenario_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"lockchaos/checker"
	"lockchaos/scenario"
)

// verdict reads "violated: stale-write, orphan contained, double-grant/split, stale-holder late; stale 3", and
// " stalled" at the end, for a second.
func verdict(t *testing.T, words string) *checker.Verdict {
	t.Helper()
	v := &checker.Verdict{}
	words, stalled := strings.CutSuffix(words, " stalled")
	if stalled {
		v.Stalled = time.Second
	}
	words, stale, _ := strings.Cut(words, "; stale ")
	if stale != "" {
		if _, err := fmt.Sscan(stale, &v.Counts.Stale); err != nil {
			t.Fatal(err)
		}
	}
	outcome, findings, _ := strings.Cut(words, ": ")
	v.Outcome = checker.Outcome(outcome)
	for f := range strings.SplitSeq(findings, ", ") {
		if f == "" {
			continue
		}
		id, late := strings.CutSuffix(f, " late")
		id, contained := strings.CutSuffix(id, " contained")
		id, cause, _ := strings.Cut(id, "/")
		v.Findings = append(v.Findings, checker.Finding{ID: id, Cause: cause, Contained: contained, Late: late})
	}
	return v
}

const stood = "the harness, or a host that nobody had stopped, stood still for 1s, which may explain it: the machine was too busy for the run"

func TestAgainst(t *testing.T) {
	type expect = scenario.Expect
	list := func(s ...string) []string { return s }
	for _, c := range []struct {
		name    string
		expect  expect
		verdict string
		want    string // the differences, one a line
	}{
		{"safe as expected", expect{Outcome: "safe"}, "safe", ""},
		{"violated for safe", expect{Outcome: "safe"}, "violated: stale-write",
			"safety: the outcome is violated, expected safe\nsafety: stale-write was found, and is not expected"},
		{"safe for violated", expect{Outcome: "violated"}, "safe", "safety: the outcome is safe, expected violated"},
		{"inconclusive for safe", expect{Outcome: "safe"}, "inconclusive: inconclusive", "proof: the outcome is inconclusive, expected safe"},
		{"inconclusive as expected", expect{Outcome: "inconclusive"}, "inconclusive: inconclusive", ""},
		{"safe for inconclusive", expect{Outcome: "inconclusive"}, "safe", "safety: the outcome is safe, expected inconclusive"},

		{"found", expect{Outcome: "violated", Findings: list("stale-write", "lost-update")}, "violated: lost-update, stale-write", ""},
		{"not found", expect{Outcome: "violated", Findings: list("stale-write", "lost-update")}, "violated: lost-update", "safety: no stale-write was found"},
		{"not found, but nothing was proved", expect{Outcome: "violated", Findings: list("stale-write")}, "inconclusive",
			"proof: the outcome is inconclusive, expected violated\nproof: no stale-write was found"},
		{"found where contained", expect{Outcome: "safe", Findings: list("stale-holder")}, "safe: stale-holder contained", ""},
		{"contained, and nobody asked", expect{Outcome: "safe"}, "safe: stale-holder contained", ""},
		{"late", expect{Outcome: "safe"}, "violated: stale-holder late stalled",
			"proof: the outcome is violated, expected safe\nproof: stale-holder was found, and is not expected\nproof: " + stood},
		{"late, and never to be", expect{Outcome: "safe", Never: list("lost-update")}, "violated: lost-update late stalled",
			"proof: the outcome is violated, expected safe\nproof: lost-update was found, and never must be\nproof: " + stood},
		{"late, and what no lateness explains", expect{Outcome: "safe"}, "violated: stale-holder late, foreign-release stalled",
			"safety: the outcome is violated, expected safe\nsafety: stale-holder was found, and is not expected\nsafety: foreign-release was found, and is not expected"},
		{"what no lateness explains, and may be, in a run that is to be safe", expect{Outcome: "safe", May: list("double-grant")}, "violated: double-grant stalled",
			"safety: the outcome is violated, expected safe"},
		{"late, for what is missing", expect{Outcome: "violated", Findings: list("lost-update")}, "safe: stale-holder contained stalled",
			"proof: the outcome is safe, expected violated\nproof: no lost-update was found\nproof: " + stood},
		{"late as expected", expect{Outcome: "violated", Findings: list("stale-holder")}, "violated: stale-holder late stalled", ""},
		{"open, and nobody asked", expect{Outcome: "safe"}, "safe: stale-holder", "safety: stale-holder was found, and is not expected"},

		{"may", expect{Outcome: "violated", May: list("silent-loss")}, "violated: silent-loss", ""},
		{"may, and is not", expect{Outcome: "safe", May: list("silent-loss")}, "safe", ""},
		{"never", expect{Outcome: "safe", Never: list("stale-write")}, "safe: stale-write contained", "safety: stale-write was found, and never must be"},
		{"never goes before may", expect{Outcome: "safe", May: list("stale-write"), Never: list("stale-write")}, "safe: stale-write",
			"safety: stale-write was found, and never must be"},
		{"the same twice is told once", expect{Outcome: "safe", Never: list("stale-write")}, "safe: stale-write, stale-write",
			"safety: stale-write was found, and never must be"},

		{"the cause asked for", expect{Outcome: "violated", Findings: list("double-grant/state-loss")}, "violated: double-grant/state-loss", ""},
		{"any cause", expect{Outcome: "violated", Findings: list("double-grant")}, "violated: double-grant/split", ""},
		{"another cause", expect{Outcome: "violated", Findings: list("double-grant/state-loss")}, "violated: double-grant/split",
			"safety: no double-grant/state-loss was found\nsafety: double-grant was found, and is not expected"},
		{"no cause known", expect{Outcome: "violated", Findings: list("double-grant/split")}, "violated: double-grant",
			"safety: no double-grant/split was found\nsafety: double-grant was found, and is not expected"},

		{"unavailable", expect{Outcome: "safe"}, "safe: unavailable", "availability: fewer acquires than demanded"},
		{"unavailable as expected", expect{Outcome: "safe", Findings: list("unavailable")}, "safe: unavailable", ""},
		{"unavailable as allowed", expect{Outcome: "safe", May: list("unavailable")}, "safe: unavailable", ""},
		{"wedge", expect{Outcome: "safe"}, "safe: wedge", "availability: the lock stayed held by nobody"},
		{"wedge for ever", expect{Outcome: "safe", Never: list("wedge")}, "safe: wedge", "safety: wedge was found, and never must be"},
		{"orphan is no harm", expect{Outcome: "safe"}, "safe: orphan", ""},
		{"orphan that never must be", expect{Outcome: "safe", Never: list("orphan")}, "safe: orphan", "safety: orphan was found, and never must be"},

		{"refused enough", expect{Outcome: "safe", Refused: 2}, "safe; stale 2", ""},
		{"refused too few", expect{Outcome: "safe", Refused: 2}, "safe; stale 1", "safety: the guard refused 1 stale operations, expected at least 2"},
		{"refused too few, but nothing was proved", expect{Outcome: "safe", Refused: 1}, "inconclusive",
			"proof: the outcome is inconclusive, expected safe\nproof: the guard refused 0 stale operations, expected at least 1"},
	} {
		var got []string
		for _, d := range c.expect.Against(verdict(t, c.verdict)) {
			got = append(got, string(d.Kind)+": "+d.Text)
		}
		if s := strings.Join(got, "\n"); s != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, s, c.want)
		}
	}
}

func TestControl(t *testing.T) {
	s, err := scenario.Parse([]byte(good+"control: violated\n"), "x.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Expected("fence", true).Outcome; got != "violated" {
		t.Errorf("the control is expected to be %s, want violated", got)
	}
	if got := s.Expected("fence", false); got.Outcome != "safe" || got.Refused != 1 {
		t.Errorf("of fence is expected %+v", got)
	}
	c := s.WithoutFaults()
	if len(c.Faults) != 0 || len(c.Order) != 0 || c.Needs.Before.Grants != 0 {
		t.Errorf("the control still has %+v, %+v, %+v", c.Faults, c.Order, c.Needs)
	}
	if len(s.Faults) != 2 || len(s.Order) != 1 || s.Needs.Before.Grants != 1 {
		t.Error("making the control has changed the scenario")
	}
}

func TestCatalogue(t *testing.T) {
	file := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte(strings.Replace(good, "single/x", name, 1))}
	}
	c := scenario.NewCatalogue(fstest.MapFS{
		"single/a.yaml": file("single/a"), "single/b.yaml": file("single/b"), "redlock/a.yaml": file("redlock/a"),
		"single/wrong.yaml": file("single/right"), "single/readme.md": {Data: []byte("x")},
	})
	names := func(list []*scenario.Scenario) string {
		var s []string
		for _, x := range list {
			s = append(s, x.Name)
		}
		return strings.Join(s, " ")
	}
	all, err := c.Names()
	if got := strings.Join(all, " "); err != nil || got != "redlock/a single/a single/b single/wrong" {
		t.Errorf("names %s, %v", got, err)
	}
	for _, x := range []struct{ arg, want, err string }{
		{"single/a", "single/a", ""},
		{"*/a", "redlock/a single/a", ""},
		{"single/[ab]", "single/a single/b", ""},
		{"single/wrong", "", `catalogue:single/wrong.yaml: name: "single/right", expected "single/wrong" as the file is called`},
		{"single/c", "", `unknown scenario "single/c", expected a file ending in .yaml or one of: redlock/a, single/a, single/b, single/wrong`},
		{"[", "", `unknown scenario: pattern "[": syntax error in pattern`},
		{"", "", `unknown scenario "", expected a file ending in .yaml or one of: redlock/a, single/a, single/b, single/wrong`},
		{"../../etc/passwd", "", `unknown scenario "../../etc/passwd", expected a file ending in .yaml or one of: redlock/a, single/a, single/b, single/wrong`},
		{"none.yaml", "", "unknown scenario: no file none.yaml"},
		{"none.yml", "", "unknown scenario: no file none.yml"},
	} {
		list, err := c.Find(x.arg)
		if got := fmt.Sprint(err); x.err != "" && got != x.err || x.err == "" && err != nil || err == nil && names(list) != x.want {
			t.Errorf("Find(%q) = %s, %s, want %s %s", x.arg, names(list), got, x.want, x.err)
		}
	}
}
