package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockchaos/cluster/sim"
	"lockchaos/results"
	"lockchaos/runner"
)

// savedRunOf runs a scenario in the simulation and returns the run's directory.
func savedRunOf(t *testing.T, scenario, guard string, flags ...string) string {
	t.Helper()
	root := t.TempDir()
	command(t, append([]string{"run", "--on", "sim", scenario, "--guard", guard, "--results", root}, flags...)...).
		expect(t, results.ExitExpected)
	dirs, err := filepath.Glob(filepath.Join(root, "*", "*", guard, "t1"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	return dirs[0]
}

// What is interrupted saves the smallest schedule so far, which can be run as it
// says, and tells that there may be a smaller one.
func TestShrinkInterrupted(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := savedRunOf(t, "redlock/hammer", "none", "--seed", "45")
		c := command(t, "shrink", dir)
		lines := c.start(t)
		for line := ""; !fewer.MatchString(line) || strings.HasPrefix(line, "22 of 22 "); {
			var err error
			if line, err = lines.ReadString('\n'); err != nil {
				t.Fatalf("it does not get going: %v: %s", err, c.errOut.String())
			}
		}
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		if code := c.wait(t); code != results.ExitInterrupted || !strings.Contains(c.errOut.String(), "chaos: interrupted after ") {
			t.Errorf("%s: exit code %d: %s", signal, code, c.errOut.String())
		}
		if !strings.Contains(string(rest), "broken off after ") {
			t.Errorf("%s: it does not say that it was broken off:\n%s", signal, rest)
		}
		_, again, found := strings.Cut(string(rest), "repeat: ./chaos ")
		if !found {
			t.Fatalf("%s: nothing is left:\n%s", signal, rest)
		}
		command(t, append(strings.Fields(again), "--results", t.TempDir())...).expect(t, results.ExitExpected, "lost-update")
	}
}

// Where a run takes so long that a signal is not minded in time, what was found is
// saved beside it, and once: it may end all the same.
func TestShrinkInterruptedLate(t *testing.T) {
	t.Parallel()
	dir := savedRunOf(t, "single/overrun", "none")
	saved, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	k := &runner.Shrinker{Bubble: func(f func()) { sim.Bubble(t, f) }, World: simWorld{}, Guard: "none",
		Seed: 1, Seeds: 1, Kind: "lost-update", Budget: 8}
	var out bytes.Buffer
	nothing := &shrinking{saved: saved, k: k, out: &out}
	if err := nothing.end(errInterrupted); finish(err) != results.ExitInterrupted || !strings.Contains(out.String(), "nothing that could be taken away was found in 0 runs") {
		t.Errorf("before the first run: %v: %s", err, out.String())
	}
	if _, err := os.Stat(filepath.Join(dir, shrunkFile)); err == nil {
		t.Error("it has saved a schedule that it does not have")
	}
	out.Reset()
	s := &shrinking{saved: saved, k: k, out: &out}
	if err := k.Shrink(t.Context(), saved.scenario); err != nil {
		t.Fatal(err)
	}
	late, ended := s.end(errInterrupted), s.end(nil)
	if finish(late) != results.ExitInterrupted || ended != late || strings.Count(out.String(), "broken off after 8 runs") != 1 {
		t.Errorf("it ends with %v and %v: %s", late, ended, out.String())
	}
	command(t, "run", filepath.Join(dir, shrunkFile), "--on", "sim", "--results", t.TempDir()).expect(t, results.ExitExpected, "lost-update")
}
