package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockchaos/results"
)

func TestWrongCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, file, "name: bad\nlock: {system: single, ttl: 300ms}\nhosts: 3\nworkload: {kind: counter, rounds: 1}\nguards: [none]\n"+
		"faults:\n  - fault: pause-host\n    hosts: [w9]\n    from: after w1 acquired\n    for: 1s\nexpect:\n  none: {outcome: safe}\n")
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown scenario": {[]string{"run", "single/nonsense"}, []string{`unknown scenario "single/nonsense"`, "single/baseline"}},
		"missing file":     {[]string{"run", "none.yaml"}, []string{"no file none.yaml"}},
		"bad file":         {[]string{"run", file}, []string{file + ":8", `host "w9", expected w1 to w3`}},
		"bad pattern":      {[]string{"run", "single/["}, []string{"single/["}},
		"unknown world":    {[]string{"run", "--on", "mars"}, []string{`--on "mars"`}},
		"unknown guard":    {[]string{"run", "--guard", "sword"}, []string{`--guard "sword"`, "fence-read"}},
		"guard twice":      {[]string{"run", "--guard", "none,fence,none"}, []string{"none stands twice"}},
		"no guard":         {[]string{"run", "--guard", ""}, []string{"--guard is empty"}},
		"guard of none":    {[]string{"run", "redlock/baseline", "--guard", "fence"}, []string{"no scenario has such a guard"}},
		"no trial":         {[]string{"run", "--trials", "0"}, []string{"--trials 0"}},
		"seeds at an end":  {[]string{"run", "--on", "sim", "single/baseline", "--seed", "9223372036854775806", "--trials", "3"}, []string{"--seed 9223372036854775806", "3 trials"}},
		"very many trials": {[]string{"run", "--trials", "10001"}, []string{"--trials 10001: expected 1 to 10000"}},
		"less than no job": {[]string{"run", "--jobs", "-1"}, []string{"--jobs -1: expected 1 to 1000"}},
		"no job":           {[]string{"run", "--jobs", "0"}, []string{"--jobs 0: expected 1 to 1000"}},
		"no job of seeds":  {[]string{"run", "--on", "sim", "--seeds", "1-2", "--jobs", "0"}, []string{"--jobs 0: expected 1 to 1000"}},
		"very many jobs":   {[]string{"run", "--jobs", "1001"}, []string{"--jobs 1001: expected 1 to 1000"}},
		"no seeds":         {[]string{"run", "--on", "sim", "single/baseline", "--seeds", ""}, []string{"--seeds is empty: a range of seeds"}},
		"blank seeds":      {[]string{"run", "--on", "sim", "single/baseline", "--seeds", " "}, []string{"--seeds is empty"}},
		"no shard":         {[]string{"run", "--on", "sim", "single/baseline", "--shard", ""}, []string{"--shard is empty"}},
		"no world":         {[]string{"run", "--on", ""}, []string{"--on is empty"}},
		"no results":       {[]string{"run", "single/baseline", "--results", ""}, []string{"--results is empty"}},
		"no cluster":       {[]string{"run", "single/baseline", "--cluster", ""}, []string{"--cluster is empty"}},
		"no node":          {[]string{"run", "--on", "remote", "--node", ""}, []string{"--node is empty"}},
		"part of a guard":  {[]string{"run", "--guard", "none,"}, []string{"--guard is empty"}},
		"merge to nothing": {[]string{"merge", ".", "--results", ""}, []string{"--results is empty"}},
		"report nowhere":   {[]string{"report", ".", "-o", ""}, []string{"--output is empty"}},
		"compare nowhere":  {[]string{"compare", ".", ".", "--output="}, []string{"--output is empty"}},
		"serve nowhere":    {[]string{"serve", "--addr", ""}, []string{"--addr is empty"}},
		"serve nothing":    {[]string{"serve", "--results", ""}, []string{"--results is empty"}},
		"serve no name":    {[]string{"serve", "--host", ""}, []string{"--host is empty"}},
		"check no agent":   {[]string{"node", "--check", ""}, []string{"--check is empty"}},
		"shrink nothing":   {[]string{"shrink", ".", "--finding", ""}, []string{"--finding is empty"}},
		"trials of seeds":  {[]string{"run", "--on", "sim", "--seeds", "1-2", "--trials", "2"}, []string{"--trials goes not with --seeds"}},
		"seed of seeds":    {[]string{"run", "--on", "sim", "--seeds", "1-2", "--seed", "1"}, []string{"--seed goes not with --seeds"}},
		"jobs of one":      {[]string{"run", "--on", "sim", "--jobs", "2"}, []string{"--jobs: the simulation does one run at a time"}},
		"unknown flag":     {[]string{"run", "--nonsense"}, []string{"--nonsense"}},
		"unknown command":  {[]string{"nonsense"}, []string{`"nonsense"`}},
		"check nothing":    {[]string{"check"}, []string{"at least 1 arg"}},
		"check no dir":     {[]string{"check", "/nonsense"}, []string{"/nonsense"}},
		"check a device":   {[]string{"check", "/dev/zero"}, []string{"neither a run directory nor a history"}},
		"check empty dir":  {[]string{"check", t.TempDir()}, []string{"no run in there"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, c.args...).expect(t, results.ExitUsage, c.says...)
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestNoRedis(t *testing.T) {
	t.Parallel()
	c := command(t, "run", "single/baseline", "--results", t.TempDir())
	c.cmd.Env = append(c.cmd.Env, "PATH="+t.TempDir())
	c.expect(t, results.ExitHarness, "apt-get install redis-server", "--on sim")
}

// What a variable of the environment says wrongly is the user's to mend.
func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for setting, says := range map[string]string{
		"TMPDIR=/no/such":                    "there is no /no/such",
		"LOCKCHAOS_CLOCKS=sundial":           `LOCKCHAOS_CLOCKS is "sundial", expected libfaketime, ttl-shift or nothing`,
		"LOCKCHAOS_REDIS_SERVER=/no/such":    `LOCKCHAOS_REDIS_SERVER is set to "/no/such"`,
		"LOCKCHAOS_POSTGRES_BIN=/no/such/pg": `LOCKCHAOS_POSTGRES_BIN is set to "/no/such/pg"`,
	} {
		c := command(t, "run", "single/postgres-crash", "--results", t.TempDir())
		c.cmd.Env = append(c.cmd.Env, setting)
		c.expect(t, results.ExitUsage, says)
	}
}

func TestResultsNotADirectory(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	command(t, "run", "single/baseline", "--results", file).expect(t, results.ExitHarness, file)
}

// The stale holder with and without a fence: what the program is for.
func TestStaleHolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	command(t, "run", "single/pause-after-acquire", "--guard", "none,fence", "--results", root).
		expect(t, results.ExitExpected, "lost-update", "all as expected",
			"repeat: ./chaos run single/pause-after-acquire --on local --guard none")
	fenced := assessment(t, root, "fence")
	if fenced.Verdict.Counts.Stale == 0 {
		t.Error("the fence refused nothing")
	}
	// Judged again from the saved history, the verdicts are the same.
	before := verdicts(t, root)
	command(t, "check", root).expect(t, results.ExitExpected, "all as expected")
	if after := verdicts(t, root); before != after {
		t.Errorf("the verdicts differ.\nbefore: %s\nafter: %s", before, after)
	}
}

func assessment(t *testing.T, root, guard string) *results.Assessment {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*", guard, "t1", results.VerdictFile))
	if err != nil || len(files) != 1 {
		t.Fatalf("verdicts of guard %s: %v %v", guard, files, err)
	}
	var a results.Assessment
	if err := results.Load(filepath.Dir(files[0]), results.VerdictFile, &a); err != nil {
		t.Fatal(err)
	}
	return &a
}

func verdicts(t *testing.T, root string) string {
	t.Helper()
	dirs, err := results.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []json.RawMessage
	for _, dir := range dirs {
		var v json.RawMessage
		if err := results.Load(dir, results.VerdictFile, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A verdict that is not what the scenario expects ends with 1.
func TestUnexpected(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "naive.yaml")
	write(t, file, `lock: {system: single, ttl: 300ms}
hosts: 2
workload: {kind: counter, rounds: 2, work: 5ms}
guards: [none]
faults:
  - {fault: pause-host, hosts: [w1], from: after w1 read, until: after w2 wrote}
expect:
  none: {outcome: safe}
`)
	command(t, "run", file, "--results", t.TempDir()).expect(t, results.ExitUnexpected,
		"NOT AS EXPECTED", "the outcome is violated, expected safe")
}

// A fault that never comes proves nothing.
func TestInconclusive(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "never.yaml")
	write(t, file, `lock: {system: single, ttl: 300ms}
hosts: 1
workload: {kind: counter, rounds: 1}
guards: [none]
deadline: 1s
faults:
  - {fault: kill-host, hosts: [w1], from: after w1 acquired 100000}
expect:
  none: {outcome: safe}
`)
	command(t, "run", file, "--results", t.TempDir()).expect(t, results.ExitInconclusive,
		`"after w1 acquired 100000" never came`, "not done within 1s")
}

// Fewer acquires than demanded end with 3.
func TestAvailability(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "down.yaml")
	write(t, file, `lock: {system: single, ttl: 300ms}
hosts: 2
workload: {kind: counter, rounds: 2, work: 1ms, discipline: checks-lease}
guards: [none]
faults:
  - {fault: pause-node, nodes: [n1], from: after w1 released, for: 500ms}
needs: {after: {grants: 1}}
demand: {during: {grants: 5}}
expect:
  none: {outcome: safe}
`)
	command(t, "run", file, "--results", t.TempDir()).expect(t, results.ExitAvailability, "fewer acquires than demanded")
}

func TestBrokenHistory(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	command(t, "run", "single/baseline", "--guard", "none", "--results", root).expect(t, results.ExitExpected)
	dirs, err := results.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dirs[0], results.HistoryFile)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(good), "\n")

	write(t, path, strings.Join(lines[:len(lines)/2], "")+lines[len(lines)/2][:20])
	command(t, "check", root).expect(t, results.ExitInconclusive, "inconclusive")

	lines[4] = "{\"seq\": nonsense\n"
	write(t, path, strings.Join(lines, ""))
	command(t, "check", root).expect(t, results.ExitUsage, path+":5", "nonsense")
	command(t, "check", path).expect(t, results.ExitUsage, path+":5")

	bare := filepath.Join(t.TempDir(), "bare.jsonl")
	write(t, bare, string(good))
	command(t, "check", bare).expect(t, results.ExitExpected, "safe")
	write(t, bare, "{}\n")
	command(t, "check", bare).expect(t, results.ExitUsage, bare+":1", "not a history")
}

// A full disk is a real one: a small tmpfs in a mount namespace of its own.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := command(t)
	c.cmd.Path, c.cmd.Args = "/bin/sh", []string{"sh", "-c",
		`mount -t tmpfs -o size=200k tmpfs "$1" && exec "$2" run single/baseline --results "$1"`, "sh", dir, os.Args[0]}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	c.expect(t, results.ExitHarness, "no space left on device")
}

// endless is a scenario that goes on until it is stopped.
const endless = `lock: {system: redlock, ttl: 2s}
hosts: 3
workload: {kind: counter, rounds: 100000, work: 20ms}
guards: [none]
deadline: 60s
control: none
faults:
  - {fault: pause-host, hosts: [w1], from: after w1 read, for: 50s, most: 60s}
expect:
  none: {outcome: safe}
`

// started starts an endless run and waits until w1 is stopped in it.
func started(t *testing.T, root string) *chaos {
	t.Helper()
	file := filepath.Join(t.TempDir(), "endless.yaml")
	write(t, file, endless)
	c := command(t, "run", file, "--results", root)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return strings.Contains(histories(t, root), `"step":"proved"`) }) {
		_ = c.cmd.Process.Kill() // its own words follow
		t.Fatalf("the run does not get going: %s%s", c.out.String(), c.errOut.String())
	}
	if n := len(c.children(t)); n != 9 { // five nodes, the resource, three hosts
		t.Errorf("%d children, expected 9:\n%s", n, strings.Join(c.children(t), "\n"))
	}
	return c
}

func histories(t *testing.T, root string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*", "*", results.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := started(t, t.TempDir())
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := c.wait(t); code != results.ExitInterrupted {
				t.Errorf("exit code %d, expected %d: %s", code, results.ExitInterrupted, c.errOut.String())
			}
			if out := c.out.String() + c.errOut.String(); strings.Contains(out, "NOT AS") || !strings.Contains(out, "interrupted: 0 of 1 runs done") {
				t.Errorf("it says:\n%s", out)
			}
			left, err := filepath.Glob(filepath.Join(c.tmp, "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("files are left over: %v %v", left, err)
			}
		})
	}
}

// After SIGKILL no child lives on, the history is there up to its last flush,
// and the next start sweeps what is left.
func TestKilled(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := started(t, root)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.wait(t)
	if got := histories(t, root); !strings.Contains(got, `"step":"proved"`) {
		t.Errorf("the history did not survive: %q", got)
	}
	command(t, "check", root).expect(t, results.ExitInconclusive, "inconclusive")

	next := command(t, "run", "single/baseline", "--guard", "none", "--results", t.TempDir())
	next.cmd.Env = append(next.cmd.Env, "TMPDIR="+c.tmp)
	next.expect(t, results.ExitExpected)
	if left, err := filepath.Glob(filepath.Join(c.tmp, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("files are left over: %v %v", left, err)
	}
}

func TestListAndDoctor(t *testing.T) {
	t.Parallel()
	command(t, "list").expect(t, results.ExitExpected, "redlock", "pause-host", "fence-read", "single/pause-after-acquire")
	command(t, "doctor").expect(t, results.ExitExpected, "redis-server", "libfaketime", "clock faults on real servers")
	c := command(t, "doctor")
	c.cmd.Env = append(c.cmd.Env, "PATH="+t.TempDir())
	c.expect(t, results.ExitHarness, "apt-get install redis-server")
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Fatal("the tests need redis-server: make test installs it")
	}
}
