package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/serve"
	"lockchaos/serve/play"
)

// made writes a batch of which there is only a summary: runs are "lock outcome
// fault", with a ! behind what is not as expected.
func made(t testing.TB, root, name, suite string, runs ...string) {
	t.Helper()
	var all []any
	for i, r := range runs {
		r, bad := strings.CutSuffix(r, "!")
		words := strings.Fields(r)
		one := map[string]any{"scenario": words[0] + "/x", "guard": "none", "trial": i + 1, "system": words[0], "as_expected": !bad}
		if words[1] == "error" {
			one["error"] = "the harness failed"
		} else {
			one["verdict"] = map[string]any{"outcome": words[1], "faults": []any{map[string]any{"name": words[2]}, map[string]any{"name": words[2]}}}
		}
		all = append(all, one)
	}
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := results.Save(dir, results.SummaryFile, map[string]any{"version": 2, "suite": suite, "world": "sim", "runs": all}); err != nil {
		t.Fatal(err)
	}
}

// page gets a page that must be there.
func page(t *testing.T, s *httptest.Server, path string) string {
	t.Helper()
	code, _, body := request(t, s, path, here)
	if code != 200 {
		t.Errorf("%s: %d\n%s", path, code, body)
	}
	return body
}

func holds(t *testing.T, where, body string, want ...string) {
	t.Helper()
	for _, w := range want {
		if no, ok := strings.CutPrefix(w, "not "); ok == strings.Contains(body, no) {
			t.Errorf("%s: expected %q in\n%s", where, w, body)
		}
	}
}

func TestList(t *testing.T) {
	root := t.TempDir()
	made(t, root, "20260101-100000-a", "quick", "single safe pause-host", "redlock violated clock-jump", "redlock violated pause-host!")
	made(t, root, "20260102-100000-b", "", "sentinel inconclusive failover!", "single error x!")
	made(t, root, "20260103-100000-c", "quick", "single safe pause-host")
	write(t, filepath.Join(root, "20260103-100000-c", results.SummaryFile), `{"version": 2, "runs": [`)
	for _, dir := range []string{"20260104-100000-d", ".hidden"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := server(t, root)
	body := page(t, s, "/")
	holds(t, "the list", body, "2026-01-01 10:00:00", "under way, or broken off", "its summary cannot be read: unexpected end of JSON input", "not .hidden",
		"3 runs: 2 as expected, <span class=\"tag violated\">1 not as expected</span>; 2 violated", "1 failed", `href="/runs/20260101-100000-a/redlock.x/none/t2/"`,
		`<option value="clock-jump">`, `<option value="quick">`, "not "+root)
	if strings.Index(body, "/runs/20260104") > strings.Index(body, "/runs/20260101") {
		t.Error("the newest is not the first")
	}
	for query, want := range map[string][]string{
		"lock=redlock":                      {"redlock.x/none/t2", "redlock.x/none/t3", "not single.x", "not sentinel.x", "not /runs/20260104"},
		"fault=pause-host":                  {"single.x/none/t1", "redlock.x/none/t3", "not t2/"},
		"outcome=violated":                  {"t2/", "t3/", "not t1/"},
		"outcome=unexpected":                {"redlock.x/none/t3", "sentinel.x/none/t1", "single.x/none/t2", "not t2/\">redlock"},
		"outcome=error":                     {"single.x/none/t2", "not redlock.x"},
		"lock=redlock&fault=clock-jump":     {"t2/", "not t3/"},
		"suite=quick":                       {"/runs/20260101-100000-a/", "not /runs/20260102"},
		"lock=nonsense":                     {"No run is like that"},
		"from=20260101-100000-a":            {"/runs/20260101-100000-a/", "not /runs/20260102"},
		"from=19000101":                     {"No runs here yet"},
		"lock=redlock&outcome=" + "%3Cb%3E": {"No run is like that", "not <b>\""},
	} {
		holds(t, query, page(t, s, "/?"+query), want...)
	}

	// What has been read is read again when it is another.
	made(t, root, "20260103-100000-c", "quick", "single safe pause-host", "redsync-single safe delay")
	holds(t, "after the change", page(t, s, "/"), "redsync-single", "not unexpected end")
	if err := os.RemoveAll(filepath.Join(root, "20260103-100000-c")); err != nil {
		t.Fatal(err)
	}
	holds(t, "after it is gone", page(t, s, "/"), "not redsync-single")
}

// Sweeps are in the list with what they found, shards with their number; the trend
// of a suite has neither.
func TestListSweepsAndShards(t *testing.T) {
	root := t.TempDir()
	made(t, root, "20260101-100000-a", "quick", "single safe x")
	made(t, root, "20260102-100000-b", "quick", "redlock safe x")
	path := filepath.Join(root, "20260102-100000-b", results.SummaryFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(b), `"suite"`, `"shard": {"index": 1, "of": 3}, "suite"`, 1))
	sweep := &runner.Sweep{World: "sim", Seeds: results.SeedRange{First: 1, Last: 9}, Planned: 9, ExitCode: results.ExitInconclusive,
		Tallies: []*runner.Tally{{Scenario: "redlock/<b>", System: "redlock", Guard: "none"}}, Merged: &results.Merged{Of: 2, Missing: []string{"shard 1/2, not there: 4 of 4 runs"}}}
	for seed := range int64(5) {
		sweep.Add(runner.Seed{Scenario: "redlock/<b>", Guard: "none", Seed: seed + 2, Outcome: checker.Violated, Findings: []runner.SeedFinding{{Kind: "lost-update", Count: 1}}})
	}
	if err := sweep.Save(mkdirAt(t, root, "20260103-100000-c")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(mkdirAt(t, root, "20260104-100000-d"), results.SweepFile), `{"version": 9}`)
	s := server(t, root)
	holds(t, "the list", page(t, s, "/"), "on sim, shard 1/3", `href="/runs/20260103-100000-c/sweep.json"`, "a sweep through seeds 1-9: 5 of 9 runs", "exit code 2", "shard 1/2, not there: 4 of 4 runs",
		"redlock/&lt;b&gt; guard none: 5 seeds, 0 safe, 5 violated, 0 inconclusive; lost-update in 5, first in 2", "sweep version 9, this program reads up to 1", "not redlock/<b>")
	holds(t, "the file", page(t, s, "/runs/20260103-100000-c/sweep.json"), `"lockchaos-sweep"`)
	holds(t, "a filter", page(t, s, "/?lock=redlock"), "shard 1/3", "not a sweep through")
	holds(t, "the trend", page(t, s, "/trend?suite=quick&world=sim"), "/runs/20260101-100000-a/", "not /runs/20260102-100000-b/")
}

func mkdirAt(t *testing.T, root, name string) string {
	t.Helper()
	return filepath.Join(root, mkdir(t, root, name))
}

func TestManyRuns(t *testing.T) {
	root := t.TempDir()
	many := make([]string, 1000)
	for i := range many {
		many[i] = "single safe pause-host"
	}
	for day := range 35 {
		made(t, root, fmt.Sprintf("202601%02d-100000-a", day+1), "", many[:1]...)
	}
	made(t, root, "20260301-100000-a", "", many...)
	s := server(t, root)
	body := page(t, s, "/?lock=single")
	holds(t, "the list", body, "and 600 more", "36 calls of chaos run in all", `href="/?from=20260106-100000-a&amp;lock=single"`)
	if n := strings.Count(body, "<tr>"); n > 500 {
		t.Errorf("%d lines", n)
	}
	holds(t, "where it goes on", page(t, s, "/?from=20260106-100000-a&lock=single"), "/runs/20260106", "/runs/20260101", "not /runs/20260107")
}

func TestNoResults(t *testing.T) {
	s := server(t, filepath.Join(t.TempDir(), "none"))
	holds(t, "the list", page(t, s, "/"), "No runs here yet")
	holds(t, "the trend", page(t, s, "/trend"), "No suite has been run yet")
	if code, _, _ := request(t, s, "/runs/x/", here); code != 404 {
		t.Errorf("a run: %d", code)
	}
}

func TestTrend(t *testing.T) {
	root := t.TempDir()
	made(t, root, "20260101-100000-a", "quick", "single safe x", "single violated x", "single violated x!", "single inconclusive x!")
	made(t, root, "20260102-100000-a", "quick", "single safe x", "single error x!")
	made(t, root, "20260103-100000-a", "full & more", "single safe x")
	made(t, root, "20260104-100000-a", "", "single safe x")
	s := server(t, root)
	body := page(t, s, "/trend?suite=quick&world=sim")
	holds(t, "the trend", body, "Suite quick on sim over time", `suite=full%20%26%20more`, "4 runs, 2 as expected, 1 not as expected, 1 inconclusive, 0 failed; 2 violated in all",
		"2 runs, 1 as expected, 0 not as expected, 0 inconclusive, 1 failed; 0 violated in all",
		`<rect class="expected" x="4.00" y="90.00" width="32.00" height="90.00"/><rect class="unexpected" x="4.00" y="45.00" width="32.00" height="45.00"/><rect class="inconclusive" x="4.00" y="0.00" width="32.00" height="45.00"/>`,
		`<polyline class="violations" points="20.00,90.00 60.00,180.00"/>`, "not 20260104")
	holds(t, "without a choice", page(t, s, "/trend"), "Suite full &amp; more on sim")
	holds(t, "of nothing", page(t, s, "/trend?suite=x&world=sim"), "No such suite has been run")
}

// A report is the page of chaos report, of one run and of all of a batch, and is
// made anew from what is saved.
func TestReports(t *testing.T) {
	root := t.TempDir()
	batch := saved(t, root, "")
	run := "/runs/" + batch + "/single.pause-after-acquire/none/t1/"
	s := server(t, root)
	holds(t, "a batch", page(t, s, "/runs/"+batch+"/"), "The matrix", `href="./single.pause-after-acquire/none/t1/report.html"`, "not <script")
	body := page(t, s, run)
	holds(t, "a run", body, "stale-holder", `href="./history.jsonl"`, "<svg", "not "+root)
	if again := page(t, s, run+"report.html"); again != body {
		t.Error("report.html is another page than that of the directory")
	}
	if code, header, _ := request(t, s, strings.TrimSuffix(run, "/"), here); code != 301 || header.Get("Location") != run {
		t.Errorf("without the slash: %d %s", code, header.Get("Location"))
	}
	dir := filepath.Join(root, batch, "single.pause-after-acquire", "none", "t1")
	write(t, filepath.Join(dir, results.VerdictFile), "{")
	holds(t, "a broken verdict", page(t, s, run), "verdict.json: unexpected end of JSON input", "not "+root)
	if err := os.Remove(filepath.Join(dir, results.VerdictFile)); err != nil {
		t.Fatal(err)
	}
	if code, _, body := request(t, s, run, here); code != 404 || !strings.Contains(body, "no run in there has been judged yet") {
		t.Errorf("a run that is not judged: %d", code)
	}
	for i := range 300 {
		write(t, filepath.Join(root, batch, mkdir(t, root, batch, fmt.Sprint("x", i)), results.ManifestFile), "{}")
	}
	if code, _, body := request(t, s, "/runs/"+batch+"/", here); code != 422 || !strings.Contains(body, "more runs lie below than fit on one page") {
		t.Errorf("a batch of 303 runs: %d", code)
	}
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	if err := os.Mkdir(filepath.Join(parts...), 0o755); err != nil {
		t.Fatal(err)
	}
	return parts[len(parts)-1]
}

// The playground needs no script: a form's answer is the whole page.
func TestPlayground(t *testing.T) {
	s := server(t, t.TempDir())
	holds(t, "the first example", page(t, s, "/playground"), `data-outcome="violated"`, "<noscript><button>", "guards: [none]", "./chaos run playground.yaml --on sim", "<svg",
		"outcome: violated, findings: [lost-update, stale-holder, stale-write]", "the simulation")
	c := play.StaleHolder()
	c.Guard, c.Seed = "fence", 5
	body := page(t, s, "/playground?"+c.Query())
	holds(t, "with a fence", body, `data-outcome="safe"`, `<option selected>fence</option>`, "stale operations refused: 1", "--seed 5", "seed</td><td>5</td>", `download>`)
	code, header, file := request(t, s, "/playground/playground.yaml?"+c.Query(), here)
	if code != 200 || header.Get("Content-Disposition") != `attachment; filename="playground.yaml"` || !strings.Contains(body, strings.TrimSpace(strings.Split(file, "expect:")[0][:40])) {
		t.Errorf("the file: %d %v\n%s", code, header, file)
	}
	c.Lock = "redsync-single"
	for path, want := range map[string]int{"/playground?": 422, "/playground/result?": 200, "/playground/playground.yaml?": 422} {
		if code, _, body := request(t, s, path+c.Query(), here); code != want || !strings.Contains(body, "fence needs a fencing token, and redsync-single mints none") {
			t.Errorf("%s: %d, expected %d\n%s", path, code, want, body)
		}
	}
	if code, _, body := request(t, s, "/playground?"+url.Values{"ttl": {"9999999"}}.Encode(), here); code != 422 || !strings.Contains(body, "expected a whole number from 20 to 5000") {
		t.Errorf("%d\n%s", code, body)
	}
}

// A list of thousands of runs, read for the first time and again.
func BenchmarkList(b *testing.B) {
	root := b.TempDir()
	runs := make([]string, 50)
	for i := range runs {
		runs[i] = "single violated pause-host"
	}
	for i := range 100 {
		made(b, root, time.Date(2026, 1, 1, i, 0, 0, 0, time.UTC).Format("20060102-150405")+"-x", "quick", runs...)
	}
	for _, path := range []string{"/", "/?lock=none", "/trend"} {
		b.Run("first "+path, func(b *testing.B) {
			for b.Loop() {
				get(b, serve.New(serve.Options{Root: root}), path)
			}
		})
		b.Run("again "+path, func(b *testing.B) {
			h := serve.New(serve.Options{Root: root})
			get(b, h, path)
			for b.Loop() {
				get(b, h, path)
			}
		})
	}
}

// One change in the playground, from the request to the picture.
func BenchmarkPlayground(b *testing.B) {
	h := serve.New(serve.Options{Root: b.TempDir(), Simulator: simulator(b)})
	longest := play.StaleHolder()
	// A short lease that is extended all the time, while the others ask for it.
	longest.Hosts, longest.Rounds, longest.Work, longest.Struck, longest.TTL, longest.Watchdog = 4, 5, 300, 5, 20, true
	longest.Pause, longest.Cut, longest.Jump = play.Strike{On: true, At: 1500, For: 2000}, play.Strike{On: true, At: 1500, For: 2000}, play.Strike{On: true, At: 1500, For: 2000}
	for name, c := range map[string]play.Choice{"first": play.StaleHolder(), "longest": longest} {
		for _, c.Lock = range []string{"single", "redlock", "sentinel"} {
			b.Run(name+"/"+c.Lock, func(b *testing.B) {
				c.Fail.On, c.How = name == "longest" && c.Lock == "sentinel", "isolate"
				for b.Loop() {
					get(b, h, "/playground/result?"+c.Query())
				}
			})
		}
	}
}

func get(b *testing.B, h http.Handler, path string) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", path, nil)
	r.Host = here
	if h.ServeHTTP(w, r); w.Code != 200 {
		b.Fatal(w.Code, w.Body)
	}
}
