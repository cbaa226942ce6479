package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
)

// only is the one directory in a root.
func only(t *testing.T, root string) string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(root, "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	return dirs[0]
}

// sharded does a call in n shards below one root.
func sharded(t *testing.T, n int, args ...string) (root string) {
	t.Helper()
	root = t.TempDir()
	for i := range n {
		one := filepath.Join(root, fmt.Sprint("pod-", i))
		command(t, append(args, "--shard", fmt.Sprintf("%d/%d", i, n), "--results", one)...).expect(t, results.ExitExpected, fmt.Sprintf("shard %d/%d", i, n))
	}
	return root
}

// told is what a batch says, without what is of one call: matrix, stories, outcomes.
func told(t *testing.T, dir string) string {
	t.Helper()
	d, err := digest([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.Terminal(&b, d.Assessments(), "", 120); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// byKey are the verdicts of a batch by their run, with what they rest on.
func byKey(t *testing.T, dir string) map[string]string {
	t.Helper()
	dirs, err := results.Runs(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, dir := range dirs {
		var a results.Assessment
		if err := results.Load(dir, results.VerdictFile, &a); err != nil {
			t.Fatal(err)
		}
		a.Run = "" // the directory that it was done in
		b, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		all[a.String()] = string(b)
	}
	return all
}

// A suite in three shards, joined, says what the suite says in one call.
func TestMergeSuite(t *testing.T) {
	t.Parallel()
	whole := t.TempDir()
	command(t, "run", "quick", "--on", "sim", "--results", whole).expect(t, results.ExitExpected)
	n := len(byKey(t, only(t, whole))) // as many as the catalogue has baselines, and some more
	runs := fmt.Sprintf("\n%d runs on sim", n)
	root, out := sharded(t, 3, "run", "quick", "--on", "sim"), t.TempDir()
	command(t, "merge", root, "--results", out).expect(t, results.ExitExpected, "canary: single/pause-after-acquire guard none is violated",
		"controls, the same without faults: 4 of 4 as expected", runs, "all as expected.", "put together from 3 of 3 shards")
	one, joined := only(t, whole), only(t, out)
	if a, b := told(t, one), told(t, joined); a != b {
		t.Errorf("in one call it says\n%s\njoined it says\n%s", a, b)
	}
	a, b := byKey(t, one), byKey(t, joined)
	if n < 30 || len(b) != n {
		t.Errorf("%d runs, joined %d", len(a), len(b))
	}
	for key, want := range a {
		if b[key] != want {
			t.Errorf("%s: joined it is\n%s\nin one call\n%s", key, b[key], want)
		}
	}
	x, y := summaryOf(t, whole), summaryOf(t, out)
	for i, a := range x.Runs {
		if y.Runs[i].Key != a.Key {
			t.Errorf("run %d is %s, in one call %s", i, y.Runs[i].Key, a.Key)
		}
	}
	if y.Suite != "quick" || y.ExitCode != x.ExitCode || !y.Canary.Found || len(y.Controls) != len(x.Controls) || y.Shard != nil || y.Merged.Of != 3 {
		t.Errorf("%+v", y)
	}
	for _, r := range renderings() {
		if b, err := os.ReadFile(filepath.Join(joined, r.file)); err != nil || !strings.Contains(string(b), "pause-after-acquire") {
			t.Errorf("%s: %v", r.file, err)
		}
	}

	// What is joined is a batch like any other.
	command(t, "report", joined, "--format", "markdown").expect(t, results.ExitExpected, runs[1:])
	command(t, "check", joined).expect(t, results.ExitExpected, "all as expected")
	command(t, "compare", one, joined).expect(t, results.ExitExpected, fmt.Sprintf("%d cells compared, %[1]d the same in both", n-2))
	c, where := serving(t, "--results", out)
	if body := get(t, where); !strings.Contains(body, fmt.Sprintf("%d runs: %[1]d as expected", n)) {
		t.Errorf("the list does not have it:\n%s", body)
	}
	_ = c.cmd.Process.Kill()
	c.wait(t)

	// Joined again, with what came of the first time beside the shards.
	if err := os.Rename(joined, filepath.Join(root, "joined")); err != nil {
		t.Fatal(err)
	}
	command(t, "merge", root, "--results", out).expect(t, results.ExitExpected, runs)
}

// Without one of its shards, and with one broken off, a suite proves nothing, and
// every form of its report says so.
func TestMergeMissing(t *testing.T) {
	t.Parallel()
	root, out := sharded(t, 3, "run", "quick", "--on", "sim"), t.TempDir()
	if err := os.RemoveAll(filepath.Join(root, "pod-1")); err != nil {
		t.Fatal(err)
	}
	off := only(t, filepath.Join(root, "pod-2"))
	for _, file := range []string{results.SummaryFile, "redlock.baseline/atomic/t1/" + results.VerdictFile} {
		if err := os.Remove(filepath.Join(off, file)); err != nil {
			t.Fatal(err)
		}
	}
	says := "shard 2/3 in " + filepath.Base(off) + ", broken off: 1 of 16 runs: redlock/baseline guard atomic"
	command(t, "merge", root, "--results", out).expect(t, results.ExitInconclusive, "MISSING, so this proves nothing for the rest (2 of 3 shards)",
		"shard 1/3, not there: 16 of 16 runs", says, "30 NOT to be trusted")
	joined := only(t, out)
	for _, r := range renderings() {
		if b, err := os.ReadFile(filepath.Join(joined, r.file)); err != nil || !strings.Contains(string(b), "2 of 3 shards missing or incomplete") {
			t.Errorf("%s does not say what is missing, %v", r.file, err)
		}
	}
	if s := summaryOf(t, out); s.ExitCode != results.ExitInconclusive || len(s.Merged.Missing) != 2 {
		t.Errorf("%+v", s.Merged)
	}
	command(t, "check", joined).expect(t, results.ExitInconclusive, "2 of 3 shards missing")
}

// A shard that nothing is in is no error, and neither are shards without a suite.
func TestMergeEmptyShard(t *testing.T) {
	t.Parallel()
	root, out := sharded(t, 5, "run", "single/pause-after-acquire", "--on", "sim", "--guard", "none,fence"), t.TempDir()
	command(t, "merge", root, "--results", out).expect(t, results.ExitExpected, "3 runs on sim", "put together from 5 of 5 shards")
	if err := os.RemoveAll(filepath.Join(root, "pod-4")); err != nil {
		t.Fatal(err)
	}
	command(t, "merge", root, "--results", out).expect(t, results.ExitExpected, "put together from 4 of 5 shards")
	command(t, "merge", filepath.Join(root, "pod-3"), "--results", out).expect(t, results.ExitInconclusive, "shard 0/5, not there: 1 of 1 runs")
}

// Shards of a sweep, joined, are the sweep.
func TestMergeSweep(t *testing.T) {
	t.Parallel()
	sweep := []string{"run", "--on", "sim", "redlock/hammer-retries", "--seeds", "1-7"}
	whole, out := t.TempDir(), t.TempDir()
	command(t, append(sweep, "--results", whole)...).expect(t, results.ExitExpected, "7 seeds", "sweep.json")
	root := sharded(t, 3, sweep...)
	command(t, "merge", root, "--results", out).expect(t, results.ExitExpected, "7 seeds", "put together from 3 of 3 shards")
	read := func(root string) *runner.Sweep {
		s, err := runner.OpenSweep(only(t, root))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	seeds := 0
	for i, want := range []int{3, 2, 2} {
		s := read(filepath.Join(root, fmt.Sprint("pod-", i)))
		if s.Done != want || s.Planned != want || s.Shard == nil || s.Shard.Index != i {
			t.Errorf("shard %d: %d of %d seeds, expected %d", i, s.Done, s.Planned, want)
		}
		seeds += s.Done
	}
	a, b := read(whole), read(out)
	k := a.Tallies[0].Kinds["double-grant/stale-message"]
	if seeds != 7 || a.Done != 7 || k == nil || k.First.Seed != 3 || k.Confirmed != 1 || k.First.Hash == "" || !strings.Contains(k.First.Repeat, "--seed 3") {
		t.Errorf("%d seeds in shards, %d in one call, %+v", seeds, a.Done, k)
	}
	for _, s := range []*runner.Sweep{a, b} { // a sum in another order is not the same to the last digit
		s.Tallies[0].Simulated = float64(int(s.Tallies[0].Simulated * 1000))
	}
	x, err1 := json.Marshal(a.Tallies)
	y, err2 := json.Marshal(b.Tallies)
	if err1 != nil || err2 != nil || string(x) != string(y) || a.ExitCode != b.ExitCode {
		t.Errorf("in one call\n%s\njoined\n%s", x, y)
	}

	joined := only(t, out)
	command(t, "report", joined).expect(t, results.ExitExpected, "redlock/hammer-retries guard version on sim: 7 seeds")
	command(t, "report", joined, "--format", "json").expect(t, results.ExitExpected, `"format": "lockchaos-sweep"`)
	command(t, "report", joined, "--format", "html").expect(t, results.ExitUsage, `--format "html": expected terminal or json for a sweep`)
	command(t, "compare", whole, joined).expect(t, results.ExitExpected, "1 cell compared, 1 the same in both")
	command(t, "compare", whole, root).expect(t, results.ExitUsage, "3 sweeps in there")

	if err := os.RemoveAll(filepath.Join(root, "pod-2")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(only(t, filepath.Join(root, "pod-1")), results.SweepFile)); err != nil {
		t.Fatal(err)
	}
	command(t, "merge", root, "--results", out).expect(t, results.ExitInconclusive, "MISSING, so this proves nothing for the rest (2 of 3 shards)",
		"shard 2/3, not there: 2 of 2 runs", "broken off: 2 of 2 runs")
}

// An interrupted shard of a sweep leaves what it has, and counts as broken off.
func TestMergeInterruptedSweep(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := command(t, "run", "--on", "sim", "redlock/hammer", "--seeds", "1-100000", "--shard", "1/2", "--results", root)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return len(c.children(t)) > 0 }) {
		t.Error("it does not get going")
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t); code != results.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, c.errOut.String())
	}
	command(t, "report", root).expect(t, results.ExitExpected, "BROKEN OFF: ", " of 50000 runs not done")
	command(t, "merge", root, "--results", t.TempDir()).expect(t, results.ExitInconclusive, "shard 0/2, not there: 50000 of 50000 runs",
		"shard 1/2 in "+filepath.Base(only(t, root))+", broken off: ")
}

func TestMergeWrongCalls(t *testing.T) {
	root := sharded(t, 2, "run", "single/overrun", "--on", "sim", "--guard", "none")
	first, second := only(t, filepath.Join(root, "pod-0")), only(t, filepath.Join(root, "pod-1"))
	again := only(t, sharded(t, 1, "run", "single/overrun", "--on", "sim", "--guard", "none")+"/pod-0")
	sweep := sharded(t, 1, "run", "redlock/hammer-retries", "--on", "sim", "--seeds", "1-1")
	of := func(dir, from, to string) string { // a copy of a shard, with another plan
		to2 := filepath.Join(t.TempDir(), "shard")
		if err := os.CopyFS(to2, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(to2, results.ShardFile))
		if err != nil || !strings.Contains(string(b), from) {
			t.Fatal(err, string(b))
		}
		write(t, filepath.Join(to2, results.ShardFile), strings.ReplaceAll(string(b), from, to))
		return to2
	}
	mixed := of(second, `"go":`, `"commit": "1234", "go":`)
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"nothing":           {nil, []string{"at least 1 arg"}},
		"no directory":      {[]string{"/nonsense"}, []string{"/nonsense"}},
		"no shard":          {[]string{first, t.TempDir()}, []string{"no shard in there (no shard.json)"}},
		"duplicate":         {[]string{first, of(first, `"sim"`, `"sim"`)}, []string{"shard.json: shard 0/2 is there twice: also in " + first}},
		"another count":     {[]string{first, again}, []string{again + "/shard.json: shard count is 1, but 2 in " + first}},
		"another world":     {[]string{first, of(second, `"sim"`, `"local"`)}, []string{"shard.json: world is local, but sim in " + first}},
		"another suite":     {[]string{first, of(second, `"world"`, `"suite": "x", "world"`)}, []string{"shard.json: suite is x, but none in "}},
		"another commit":    {[]string{first, mixed}, []string{"shard.json: commit is 1234, but unknown in ", "--mixed-commits"}},
		"another seed":      {[]string{first, of(second, `"seed": 1`, `"seed": 2`)}, []string{"shard.json: seed is 2, but 1 in "}},
		"another scenario":  {[]string{first, of(second, `"hash": "`, `"hash": "00`)}, []string{"shard.json: scenario 1 is single/overrun with hash 00"}},
		"another plan":      {[]string{first, of(second, `"guard": "none"`, `"guard": "fence"`)}, []string{"shard.json: planned run 1 is single/overrun guard fence, but single/overrun guard none in "}},
		"a sweep with runs": {[]string{first, sweep}, []string{"shard.json: shard count is 1, but 2 in "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			command(t, append([]string{"merge", "--results", out}, c.args...)...).expect(t, results.ExitUsage, c.says...)
			if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) > 0 {
				t.Errorf("left over: %v %v", left, err)
			}
		})
	}
	command(t, "merge", first, mixed, "--mixed-commits", "--results", t.TempDir()).expect(t, results.ExitExpected, "of several commits: unknown, 1234")
}

func TestShardWrongCalls(t *testing.T) {
	for _, s := range []string{"1", "4/4", "-1/4", "1/0", "x/4", "$(JOB_COMPLETION_INDEX)/4"} {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			command(t, "run", "--on", "sim", "quick", "--shard", s, "--results", t.TempDir()).expect(t, results.ExitUsage,
				fmt.Sprintf("--shard %q: expected I/N with I from 0 to N-1", s))
		})
	}
	command(t, "run", "--on", "sim", "--seeds", "1-2", "--shard", "0/10001").expect(t, results.ExitUsage, `--shard "0/10001": at most 10000 shards`)
	command(t, "run", "redlock/baseline", "--guard", "fence", "--shard", "0/2").expect(t, results.ExitUsage, "no scenario has such a guard")
}

// Without a place for results a sweep saves nothing.
func TestSweepSavesNothing(t *testing.T) {
	t.Parallel()
	c := command(t, "run", "--on", "sim", "redlock/hammer-retries", "--seeds", "1-1")
	c.cmd.Dir = t.TempDir()
	c.expect(t, results.ExitExpected, "1 seed,")
	if left, err := filepath.Glob(filepath.Join(c.cmd.Dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
}
