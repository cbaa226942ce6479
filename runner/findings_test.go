package runner

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/internal/golden"
	"lockchaos/scenario"
)

// A finding of docs/findings.md. What it means is said here; the sentence that
// tells it is taken from a run in the simulation, or, of a finding that no
// scenario shows, from a history that the checker's tests have made by hand.
type explained struct {
	kind  string   // as checker.Finding.Kind gives it
	blame []string // all that it can be
	means string

	scenario, guard string // that show it
	file, hand      string // a golden file of checker/testdata, and a case in it

	// real is what the same scenario has said on real servers, once.
	real string
}

// onRealServers is where and when that was.
const onRealServers = "On real servers, 30 November 2026, redis-server 7.0.15"

// docs/findings.md says of each finding what it means and how a run tells it.
// The sentences are those of runs, so that the page cannot go stale.
func TestFindingsPage(t *testing.T) {
	var page strings.Builder
	page.WriteString(findingsHead)
	var kinds []string
	for _, e := range explanations {
		kinds = append(kinds, e.kind)
		blame, words := e.example(t)
		if !slices.Contains(e.blame, blame) {
			t.Errorf("%s is blamed on the %s, which the page does not say: %v", e.kind, blame, e.blame)
		}
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\nWhose fault: %s.\n\n%s\n\n> %s\n", e.kind, e.means, strings.Join(e.blame, ", or "), e.source(), words)
		if e.real != "" {
			fmt.Fprintf(&page, "\n%s:\n\n> %s\n", onRealServers, e.real)
		}
	}
	want := checker.IDs()
	for i, cause := range checker.Causes() {
		want = slices.Insert(want, i+1, checker.DoubleGrant+"/"+cause)
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("the page has %v, and there are %v", kinds, want)
	}
	golden.Check(t, "../docs/findings.md", page.String())
}

func (e explained) source() string {
	if e.hand != "" {
		return fmt.Sprintf("No scenario of the catalogue is there to show it. From a history made by hand (`checker/testdata/%s.txt`, %q):", e.file, e.hand)
	}
	return fmt.Sprintf("`./chaos run %s --guard %s --on sim` says:", e.scenario, e.guard)
}

// example is whom a run blames for the finding, and how it tells it.
func (e explained) example(t *testing.T) (blame, words string) {
	t.Helper()
	if e.hand != "" {
		return handMade(t, e)
	}
	all := catalogue(t, scenario.Simulation)
	i := slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.Name == e.scenario })
	if i < 0 {
		t.Fatalf("the simulation has no scenario %s", e.scenario)
	}
	h, _ := simulate(t, all[i], e.guard, 1)
	for _, f := range verdict(t, all[i], e.guard, h).Findings {
		if f.Kind() == e.kind {
			return f.Blame, f.Words
		}
	}
	t.Fatalf("%s under guard %s shows no %s", e.scenario, e.guard, e.kind)
	return "", ""
}

// handMade reads a golden file of the checker's own tests.
func handMade(t *testing.T, e explained) (blame, words string) {
	t.Helper()
	b, err := os.ReadFile("../checker/testdata/" + e.file + ".golden")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut("\n"+string(b), "\n== "+e.hand+"\n")
	of, _, _ := strings.Cut(after, "\n== ")
	id, cause, _ := strings.Cut(e.kind, "/")
	if cause != "" {
		cause = " (" + cause + ")"
	}
	m := regexp.MustCompile(`(?m)^- ` + regexp.QuoteMeta(id+cause) + `, (.+?), at .*\n  (.*)$`).FindStringSubmatch(of)
	if m == nil {
		t.Fatalf("the case %q of %s has no %s", e.hand, e.file, e.kind)
	}
	return m[1], m[2]
}

const findingsHead = `# Findings

<!-- Made by "go test ./runner -run TestFindingsPage -update" from the table in runner/findings_texts_test.go. -->

What a verdict can say, in the order in which it says it. A finding names whose fault it is, the deciding events by their
numbers in ` + "`history.jsonl`" + `, and tells it in one sentence. All sentences are in ` + "`verdict.json`, under `words`" + `; the terminal shows one of
each violated run. Times are those of the harness, since the start of the run.

Two words that the sentences lean on. A **promise** is what the lock service owes a host: from the answer to its acquire until the
lease, counted from the *call* of that acquire or of the last extend that succeeded, is over; earlier where the host released, died, or was
told of a loss. A **belief** is what the host thinks: as a promise, but one that does not look at its clock (` + "`discipline: trusting`" + `)
goes on believing until it releases or is told. Both are inner bounds: a slow harness can hide an overlap and cannot invent one.

An acquire with ` + "`tries`" + ` above 1 is called long before its lease begins. On real servers only the call is known to be before that, so the promise
ends too early there, and one that took longer than its lease promises nothing. In the simulation no time passes between a host's answer and its return,
so that the lease also counts from the answer, for as long as the host said that is left (` + "`validity`" + `), where that ends later.

With the guard ` + "`none`" + ` every finding about safety makes a run violated. With a fence, stale-write, lost-update and token-regression do; with
` + "`version` and `atomic`" + `, lost-update alone. What the guard has made harmless is listed as contained. Findings about liveness, from
refused-holder on, never make a run violated.

The sentences below are of the simulation, where a seed gives the same each time; the page is made by a test that runs them.
`
