package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/scenario"
)

// saved is a run that was judged and read back.
func saved(tb testing.TB, h *history.History, m results.Manifest) *results.Saved {
	tb.Helper()
	dir := tb.TempDir()
	m.Version, m.Run = results.ManifestVersion, "batch/run"
	f, err := os.Create(filepath.Join(dir, results.HistoryFile))
	if err != nil {
		tb.Fatal(err)
	}
	e := json.NewEncoder(f)
	for _, v := range []any{h.Header} {
		if err := e.Encode(v); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range h.Events {
		if err := e.Encode(h.Events[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := results.Save(dir, results.ManifestFile, m); err != nil {
		tb.Fatal(err)
	}
	if _, err := results.Judge(dir); err != nil {
		tb.Fatal(err)
	}
	s, err := results.OpenRun(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// overrun is a run of n rounds in which a holder overruns its lease, half way.
func overrun(n int, guard string) *history.History {
	h := &history.History{Header: history.Header{
		Format: history.Format, Version: history.Version, Scenario: "single/overrun", World: "local", System: "single",
		TTL: 50 * time.Millisecond, Quorum: 1, Workload: "counter", Guard: guard, Discipline: history.Trusting,
	}}
	var op, value int64
	now := time.Duration(0)
	add := func(e history.Event) {
		now += 100 * time.Microsecond
		e.Seq, e.T, e.Lock = int64(len(h.Events))+1, now, "counter"
		h.Events = append(h.Events, e)
	}
	call := func(host string, do history.Do, grant, value int64, r history.Result) int64 {
		op++
		e := history.Event{Kind: history.Call, Do: do, Host: host, Op: op, Grant: grant}
		if do == history.Write {
			e.Value = value
		}
		add(e)
		e.Kind, e.Result, e.Value = history.Return, r, value
		if do == history.Acquire {
			add(history.Event{Kind: history.Trace, Host: host, Node: "n1", Op: op, Code: "eval", Result: r})
			if e.Backed = 1; r == history.OK {
				e.Grant, e.Owner, e.Token = op, fmt.Sprintf("owner%d", op), op
			}
		}
		id := op
		add(e)
		return id
	}
	hosts := func(i int) string { return fmt.Sprintf("w%d", i%3+1) }
	for i := range n {
		g := call(hosts(i), history.Acquire, 0, 0, history.OK)
		call(hosts(i), history.Read, g, value, history.OK)
		call(hosts(i+1), history.Acquire, 0, 0, history.Refused)
		if i == n/2 {
			now += 60 * time.Millisecond
			g2 := call(hosts(i+1), history.Acquire, 0, 0, history.OK)
			call(hosts(i+1), history.Read, g2, value, history.OK)
			call(hosts(i+1), history.Write, g2, value+1, history.OK)
			call(hosts(i+1), history.Release, g2, 0, history.OK)
		}
		value++
		call(hosts(i), history.Write, g, value, history.OK)
		call(hosts(i), history.Release, g, 0, history.OK)
	}
	add(history.Event{Kind: history.Final, Value: value})
	add(history.Event{Kind: history.End})
	return h
}

func manifest(guard string) results.Manifest {
	return results.Manifest{
		Key: results.Key{Scenario: "single/overrun", Guard: guard, Trial: 1}, World: "local", System: "single", Seed: 1,
		Started: time.Unix(1e9, 0), Repeat: "./chaos run single/overrun --on local --guard " + guard,
		Options: json.RawMessage(`{"about":"a holder works past its TTL","lock":{"ttl":"50ms"}}`),
		Expect:  scenario.Expect{Outcome: "violated", Findings: []string{"stale-holder", "stale-write", "lost-update"}},
		Machine: results.Machine{Redis: "Redis server v=7.0.15 sha=0", Modules: map[string]string{"redsync": "v4"}},
	}
}

func render(tb testing.TB, runs ...*results.Saved) string {
	tb.Helper()
	var b bytes.Buffer
	if err := Write(&b, report.NewDigest(runs), ""); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

var outside = regexp.MustCompile(`(?i)<script|<link|<iframe|<img|<object|@import|url\((?:"|')?[^#]|(?:src|href|action)="(?:[a-z]+:|//)`)

// The page says what the verdict says, and asks nothing of the outside.
func TestPage(t *testing.T) {
	s := saved(t, overrun(6, "none"), manifest("none"))
	page := render(t, s)
	v := s.Verdict
	for _, want := range []string{
		"single/overrun guard none: violated", "when a holder works past its TTL?", "Redis server v=7.0.15",
		"broken by: holder, resource", "violated in 1 of 1: at least 5 % at 95 %", s.Repeat, "the lease of w", "Margin: the beliefs of",
		fmt.Sprintf("the counter is at %d after %d increments", v.Counts.Final, v.Counts.Increment), "one kernel and one clock",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if bad := outside.FindString(page); bad != "" {
		t.Errorf("the page reaches out: %s", bad)
	}
	if n := strings.Count(page, "<svg"); n != 2 {
		t.Errorf("%d pictures", n)
	}
	for _, m := range s.Timeline.Moments {
		if !strings.Contains(page, fmt.Sprintf(`class="badgeno">%d</text>`, m.N)) || !strings.Contains(page, m.Words) {
			t.Errorf("moment %d is not drawn and told: %s", m.N, m.Words)
		}
	}
}

// The numbers in the story are those of the picture.
func TestNumbers(t *testing.T) {
	s := saved(t, overrun(6, "none"), manifest("none"))
	d := report.NewDigest([]*results.Saved{s})
	var numbered []string
	pieces := number(d.Runs[0], s.Timeline)
	for i, p := range pieces {
		if p.N == 0 {
			continue
		}
		before := pieces[i-1].Words
		at := s.Timeline.Moments[p.N-1]
		if !strings.HasSuffix(before, strings.TrimSuffix(fmtTime(at.T), " ms")+" ms") {
			t.Errorf("number %d, %s, stands behind %q", p.N, at.Words, before)
		}
		numbered = append(numbered, at.Words)
	}
	if len(numbered) < 2 {
		t.Errorf("numbered: %q", numbered)
	}
}

// Of two moments at one time, each gets the number of the one whom the story is
// speaking of.
func TestNumbersAtOneTime(t *testing.T) {
	const at = 73 * time.Millisecond
	tl := &checker.Timeline{Moments: []checker.Moment{
		{N: 1, Seq: 4, T: 10 * time.Millisecond, Lane: "n2"}, {N: 2, Seq: 5, T: at, Lane: "w1"}, {N: 3, Seq: 6, T: at, Lane: "n1"}, {N: 4, Seq: 7, T: at, Lane: "w1"},
	}}
	v := &checker.Verdict{Findings: []checker.Finding{{Events: []int64{4, 5, 6}}}}
	told := &report.Told{Saved: &results.Saved{Assessment: &results.Assessment{Verdict: v}},
		Story: "w1 got the lock at 73 ms, cut-replication struck n2 at 10 ms, failover struck n1 at 73 ms; w1 went on at 74 ms"}
	var got []int
	for _, p := range number(told, tl) {
		if p.N > 0 {
			got = append(got, p.N)
		}
	}
	if !slices.Equal(got, []int{2, 1, 3}) {
		t.Errorf("the numbers are %v, expected 2, 1, 3", got)
	}
}

func fmtTime(d time.Duration) string {
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.1f", float64(d.Round(100*time.Microsecond))/1e6), "0"), ".") + " ms"
}

// A run of before there were timelines is told without one, and so is one that
// could not be judged.
func TestWithoutTimeline(t *testing.T) {
	s := saved(t, overrun(6, "none"), manifest("none"))
	s.Timeline = nil
	if page := render(t, s); strings.Contains(page, "<svg") || !strings.Contains(page, "chaos check makes it") {
		t.Error("no word of the missing timeline")
	}
	failed := &results.Saved{Assessment: &results.Assessment{Key: results.Key{Scenario: "x/y", Guard: "none", Trial: 1}, World: "local", System: "x", Error: "host w1 died"}}
	if page := render(t, failed); !strings.Contains(page, "error: host w1 died") {
		t.Error("no word of the error")
	}
	render(t, failed, s)
}

// Names, words and paths from outside are shown, and do nothing.
func TestHostile(t *testing.T) {
	evil := `</style></title><script>alert(1)</script><img src=x onerror=alert(1)>` + "\x1b[31m\x00\u202e\u009b" + strings.Repeat("A", 10_000)
	m := manifest("none")
	m.System, m.Repeat, m.Guard = evil, evil, evil
	m.Options, _ = json.Marshal(map[string]any{"about": evil, "lock": map[string]string{"ttl": evil}})
	m.LockOptions = map[string]any{evil: evil}
	m.Machine.Redis, m.Machine.OS, m.Machine.Modules = evil, evil, map[string]string{evil: evil}
	h := overrun(6, "none")
	for i := range h.Events {
		if h.Events[i].Host != "" {
			h.Events[i].Host += evil
		}
	}
	s := saved(t, h, m)
	s.Scenario = evil + "/" + evil
	s.Verdict.Findings[0].Words, s.Verdict.Reasons = evil, []string{evil}
	var compared bytes.Buffer
	if err := Compare(&compared, report.NewComparison(report.NewDigest([]*results.Saved{s}), report.NewDigest(nil))); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{render(t, s), render(t, s, saved(t, overrun(6, "none"), manifest("none"))), compared.String()} {
		if bad := outside.FindString(page); bad != "" {
			t.Errorf("it comes through: %s", bad)
		}
		if strings.ContainsAny(page, "\x1b\x00\u202e\u009b") {
			t.Error("a control character comes through")
		}
		if !strings.Contains(page, "&lt;script&gt;") {
			t.Error("the name is not shown")
		}
		if len(page) > 1_000_000 {
			t.Errorf("%d bytes", len(page))
		}
	}
}

// Links lead from where the page lies to the files that are there.
func TestLinks(t *testing.T) {
	s := saved(t, overrun(6, "none"), manifest("none"))
	var b bytes.Buffer
	if err := Write(&b, report.NewDigest([]*results.Saved{s}), s.Dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"history.jsonl", "porcupine-beliefs.html", "porcupine-counter.html"} {
		if !strings.Contains(b.String(), `href="./`+name+`"`) {
			t.Errorf("no link to %s", name)
		}
	}
	if strings.Contains(b.String(), "porcupine-tokens") || len(s.Pages) != 2 {
		t.Errorf("pages of what is not illegal: %v", s.Pages)
	}
}

// The page of a run of 100,000 operations, from its saved files: 8 ms and 0.07 MB.
func BenchmarkPage(b *testing.B) {
	s := saved(b, overrun(20_000, "none"), manifest("none"))
	if s.Verdict.Outcome != checker.Violated || s.Verdict.Counts.Acquires < 40_000 {
		b.Fatalf("%+v", s.Verdict)
	}
	for b.Loop() {
		again, err := results.OpenRun(s.Dir)
		if err != nil {
			b.Fatal(err)
		}
		page := render(b, again)
		b.ReportMetric(float64(len(page))/1e6, "MB")
	}
}
