package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockchaos/results"
)

// With nothing but the program, the catalogue runs in the simulation.
func TestSimulationNeedsNothing(t *testing.T) {
	t.Parallel()
	c := command(t, "run", "--on", "sim", "--results", t.TempDir())
	c.cmd.Env = append(c.cmd.Env, "PATH="+t.TempDir())
	c.expect(t, results.ExitExpected, "runs on sim", "all as expected", "repeat: ./chaos run redlock/stale-message --on sim")
}

// A range may end with the last seed that there is.
func TestLastSeeds(t *testing.T) {
	t.Parallel()
	c := within(t, 20*time.Second, "run", "--on", "sim", "single/baseline", "--seeds", "9223372036854775805-9223372036854775807")
	c.expect(t, results.ExitExpected, "3 seeds")
}

func TestWrongSimulations(t *testing.T) {
	external := filepath.Join(t.TempDir(), "external.yaml")
	write(t, external, "lock: {system: external, command: [true], nodes: 1, ttl: 1s}\nhosts: 1\nworkload: {kind: counter, rounds: 1}\n"+
		"guards: [none]\nworlds: [local]\nexpect: {none: {outcome: safe}}\n")
	local := filepath.Join(t.TempDir(), "sim-external.yaml")
	write(t, local, "lock: {system: external, command: [true], nodes: 1, ttl: 1s}\nhosts: 1\nworkload: {kind: counter, rounds: 1}\n"+
		"guards: [none]\nworlds: [sim]\nexpect: {none: {outcome: safe}}\n")
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"seeds backwards":       {[]string{"run", "--on", "sim", "--seeds", "5-1"}, `--seeds "5-1"`},
		"no seeds":              {[]string{"run", "--on", "sim", "--seeds", "x"}, `--seeds "x"`},
		"named, for the sim":    {[]string{"run", "redlock/hammer"}, "it is only for the world sim"},
		"seeds on servers":      {[]string{"run", "--seeds", "1-2"}, "--on sim"},
		"not for this world":    {[]string{"run", "--on", "sim", external}, "it is only for the world local"},
		"external in the sim":   {[]string{"run", "--on", "sim", local}, "cannot run in the simulation"},
		"replay of nothing":     {[]string{"replay", t.TempDir()}, "no run directory"},
		"shrink of nothing":     {[]string{"shrink", t.TempDir()}, "no run directory"},
		"replay without a path": {[]string{"replay"}, "1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, c.args...).expect(t, results.ExitUsage, c.says)
		})
	}
}

// What a sweep finds in a seed, that seed gives alone; replay says that it is
// identical, and sees a change.
func TestSweepAndReplay(t *testing.T) {
	t.Parallel()
	sweep := command(t, "run", "--on", "sim", "redlock/hammer-retries", "--seeds", "1-6")
	sweep.expect(t, results.ExitExpected, "6 seeds", "double-grant/stale-message in 1 seed, first in 3", "times real time")

	root := t.TempDir()
	command(t, "run", "--on", "sim", "redlock/hammer-retries", "--seed", "3", "--results", root).
		expect(t, results.ExitExpected, "double-grant/stale-message")
	dirs, err := results.Runs(root)
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	command(t, "replay", dirs[0]).expect(t, results.ExitExpected, "the history is identical")

	// The drawn schedule runs by itself, too.
	command(t, "run", filepath.Join(dirs[0], results.ScenarioFile), "--on", "sim", "--seed", "3", "--results", t.TempDir()).
		expect(t, results.ExitExpected, "double-grant/stale-message")

	path := filepath.Join(dirs[0], results.HistoryFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(b), `"host":"w1"`, `"host":"w2"`, 1))
	command(t, "replay", dirs[0]).expect(t, results.ExitHarness, "the history differs from line", "not identical")

	path = filepath.Join(dirs[0], results.ManifestFile)
	if b, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	write(t, path, strings.Replace(string(b), `"guard": "version"`, `"guard": "moat"`, 1))
	command(t, "replay", dirs[0]).expect(t, results.ExitUsage, results.ManifestFile, `the guard is "moat"`)
}

func TestReplayOnServers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	command(t, "run", "single/overrun", "--guard", "none", "--results", root).expect(t, results.ExitExpected)
	dirs, err := results.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs { // the run and its control
		command(t, "replay", dir).expect(t, results.ExitExpected, "the same outcome")
		command(t, "shrink", dir).expect(t, results.ExitUsage, "only simulated runs can be shrunk")
	}
}

var (
	left  = regexp.MustCompile(`: (\d+) of (\d+) faults`)
	fewer = regexp.MustCompile(`(?m)^(\d+) of (\d+) faults and \d hosts left after \d+ runs$`)
)

func TestShrink(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	command(t, "run", "--on", "sim", "redlock/hammer", "--seed", "7", "--results", root).expect(t, results.ExitExpected, "lost-update")
	dirs, err := results.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	c := command(t, "shrink", dirs[0], "--finding", "stale-write", "--runs", "60", "--seeds", "3")
	c.expect(t, results.ExitExpected, "stale-write: ", "after 60 runs")
	m := left.FindStringSubmatch(c.out.String())
	if m == nil || len(m[1]) > len(m[2]) || len(m[1]) == len(m[2]) && m[1] >= m[2] {
		t.Errorf("no fault was taken away: %v", m)
	}
	lines := fewer.FindAllStringSubmatch(c.out.String(), -1)
	if len(lines) == 0 || m != nil && (lines[0][2] != m[2] || lines[len(lines)-1][1] != m[1]) {
		t.Errorf("it did not tell how far it was: %v", lines)
	}
	_, cmd, _ := strings.Cut(c.out.String(), "repeat: ./chaos ")
	command(t, append(strings.Fields(cmd), "--results", t.TempDir())...).expect(t, results.ExitExpected, "stale-write")
	command(t, "shrink", dirs[0], "--finding", "wedge").expect(t, results.ExitUsage, "does not give this finding: wedge")
	command(t, "shrink", dirs[0], "--finding", "theft").expect(t, results.ExitUsage, `--finding: "theft", expected one of double-grant, `)
	command(t, "shrink", dirs[0], "--finding", "stale-write", "--runs", "1").expect(t, results.ExitExpected, "nothing that could be taken away was found in 1 runs")
	if b, err := os.ReadFile(filepath.Join(dirs[0], shrunkFile)); err != nil || !strings.Contains(string(b), "shrunk for stale-write") {
		t.Errorf("what was found before is gone: %v, %s", err, b)
	}
}

// What the report tells of a safe run can be shrunk, too, and what is left proves it.
// A finding without its cause stands for every cause, as in a scenario.
func TestShrinkKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ flags, kind string }{
		"single-set-then-expire/crash-between": {"", "wedge"},
		"single/crash-no-persistence":          {"--finding double-grant", "double-grant"},
	} {
		root := t.TempDir()
		command(t, "run", "--on", "sim", name, "--guard", "none", "--results", root).expect(t, results.ExitExpected)
		dirs, err := results.Runs(root)
		if err != nil {
			t.Fatal(err)
		}
		dir := dirs[slices.IndexFunc(dirs, func(d string) bool { return strings.HasSuffix(d, "/none/t1") })]
		s := command(t, append([]string{"shrink", dir, "--runs", "200", "--seeds", "2"}, strings.Fields(c.flags)...)...)
		s.expect(t, results.ExitExpected, c.kind+": ")
		if _, cmd, found := strings.Cut(s.out.String(), "repeat: ./chaos "); found {
			command(t, append(strings.Fields(cmd), "--results", t.TempDir())...).expect(t, results.ExitExpected, "all as expected")
		}
	}
}

// What a scenario must never give makes a sweep unexpected, and it says so.
func TestSweepUnexpected(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../scenarios/redlock/hammer-retries.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "never.yaml")
	write(t, file, strings.NewReplacer("never: [", "never: [double-grant, ", "name: redlock/hammer-retries", "name: mine").Replace(string(b)))
	command(t, "run", file, "--on", "sim", "--seeds", "3-3").expect(t, results.ExitUnexpected,
		"double-grant/stale-message, first in seed 3: double-grant was found, and never must be",
		"repeat: ./chaos run "+file+" --on sim --guard version --seed 3")
}

// What a single run is not held to be, a sweep over it is not either; and what must
// be found may be in another shard.
func TestSweepExpects(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "other.yaml")
	write(t, file, "lock: {system: single, ttl: 300ms}\nhosts: 2\nworkload: {kind: counter, rounds: 2, work: 5ms, rest: 5ms}\nguards: [none]\n"+
		"faults: [{fault: pause-host, hosts: [w1], from: after w1 read, until: after w2 wrote}]\n"+
		"expect: {none: {outcome: violated, findings: [double-grant]}}\n")
	command(t, "run", file, "--on", "sim", "--guard", "none", "--results", t.TempDir()).expect(t, results.ExitUnexpected)
	missing := "no double-grant was found in any seed of 1-3, expected in one at least"
	surplus := "stale-holder, first in seed 1: stale-holder was found, and is not expected"
	command(t, "run", file, "--on", "sim", "--seeds", "1-3").expect(t, results.ExitUnexpected, surplus, missing)
	root := t.TempDir()
	for _, shard := range []string{"0/2", "1/2"} {
		command(t, "run", file, "--on", "sim", "--seeds", "1-3", "--shard", shard, "--results", root).expect(t, results.ExitUnexpected)
	}
	command(t, "merge", root, "--results", t.TempDir()).expect(t, results.ExitUnexpected, surplus, missing)
}

// A long run in virtual time sees no signal, and ends soon after one all the same.
func TestSimulationInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "long.yaml")
	write(t, file, "lock: {system: redlock, ttl: 500ms}\nhosts: 5\nworkload: {kind: counter, rounds: 150000, work: 1ms}\n"+
		"guards: [none]\ndeadline: 20h\nexpect: {none: {outcome: safe}}\n")
	root := t.TempDir()
	c := command(t, "run", file, "--on", "sim", "--results", root)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return histories(t, root) != "" }) {
		t.Error("the run does not get going")
	}
	if err := c.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t); code != results.ExitInterrupted {
		t.Errorf("exit code %d: %s", code, c.errOut.String())
	}
}

// The children of a sweep end with it.
func TestSweepInterrupted(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"INT": syscall.SIGINT, "KILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := command(t, "run", "--on", "sim", "redlock/hammer", "--seeds", "1-100000")
			if err := c.cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if !eventually(t, func() bool { return len(c.children(t)) == runtime.NumCPU() }) {
				t.Errorf("children: %v, expected one a processor", c.children(t))
			}
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if code := c.wait(t); signal == syscall.SIGINT && code != results.ExitInterrupted {
				t.Errorf("exit code %d: %s", code, c.errOut.String())
			}
		})
	}
}
