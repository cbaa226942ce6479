package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockchaos/results"
)

// simulated makes one saved run and returns its directory.
func simulated(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	command(t, "run", "single/baseline", "--on", "sim", "--guard", "none", "--results", root).
		expect(t, results.ExitExpected, "1 run on sim: 1 safe")
	dirs, err := results.Runs(root)
	if err != nil {
		t.Fatal(err)
	}
	return dirs[0]
}

// copied copies the named files of a run to a new directory.
func copied(t *testing.T, dir, to string, names ...string) {
	t.Helper()
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, name), string(b))
	}
}

// The manifest names every option in effect, set or not, and its keys are in
// small letters.
func TestManifest(t *testing.T) {
	t.Parallel()
	var m struct {
		LockOptions map[string]any `json:"lock_options"`
		Expect      map[string]any `json:"expect"`
	}
	if err := results.Load(simulated(t), results.ManifestFile, &m); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.LockOptions); got != "map[acquire_timeout:none context_timeout:false max_retries:3 read_timeout:5s token:script]" {
		t.Errorf("lock_options: %s", got)
	}
	if m.Expect["outcome"] != "safe" {
		t.Errorf("expect: %v", m.Expect)
	}
}

// What is left of a run that was killed, or of a directory that was damaged.
func TestCheckDamaged(t *testing.T) {
	t.Parallel()
	run := simulated(t)
	const brokenOff = "inconclusive: the run was broken off before it began"
	for name, c := range map[string]struct {
		damage func(history, manifest string) error
		code   int
		says   string
	}{
		"nothing written": {func(h, _ string) error { return os.Truncate(h, 0) }, results.ExitInconclusive, brokenOff},
		"half a header":   {func(h, _ string) error { return os.Truncate(h, 40) }, results.ExitInconclusive, brokenOff},
		"a byte":          {func(h, _ string) error { return os.Truncate(h, 1) }, results.ExitInconclusive, brokenOff},
		"no history":      {func(h, _ string) error { return os.Remove(h) }, results.ExitInconclusive, "inconclusive: the run has no history"},
		"no header at all": {func(h, _ string) error { return os.WriteFile(h, []byte("\x7fELF"), 0o600) }, results.ExitUsage,
			results.HistoryFile + ":1"},
		"half a manifest":  {func(_, m string) error { return os.Truncate(m, 100) }, results.ExitUsage, results.ManifestFile + ": unexpected end"},
		"another manifest": {func(_, m string) error { return os.WriteFile(m, []byte("{}"), 0o600) }, results.ExitUsage, "manifest version 0"},
		"history is a pipe": {func(h, _ string) error { return errors.Join(os.Remove(h), syscall.Mkfifo(h, 0o600)) }, results.ExitUsage,
			results.HistoryFile + ": not a regular file"},
		"manifest is a pipe": {func(_, m string) error { return errors.Join(os.Remove(m), syscall.Mkfifo(m, 0o600)) }, results.ExitUsage,
			results.ManifestFile + ": not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			copied(t, run, dir, results.HistoryFile, results.ManifestFile)
			if err := c.damage(filepath.Join(dir, results.HistoryFile), filepath.Join(dir, results.ManifestFile)); err != nil {
				t.Fatal(err)
			}
			command(t, "check", dir).expect(t, c.code, c.says)
		})
	}
}

// An interrupt ends a check between two runs, and what was judged is told.
func TestCheckInterrupted(t *testing.T) {
	t.Parallel()
	run, root := simulated(t), t.TempDir()
	for i := range 800 {
		copied(t, run, filepath.Join(root, fmt.Sprintf("r%04d", i)), results.HistoryFile, results.ManifestFile)
	}
	c := command(t, "check", root)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(root, "r0000", results.VerdictFile))
		return err == nil
	}) {
		t.Fatal("nothing is judged")
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code := c.wait(t)
	if out := c.out.String() + c.errOut.String(); code != results.ExitInterrupted || !strings.Contains(out, "of 800 runs judged") {
		t.Errorf("exit code %d, and it says:\n%s", code, out)
	}
}

// Between reading and judging, too.
func TestCheckCancelled(t *testing.T) {
	t.Parallel()
	run := simulated(t)
	bare := filepath.Join(t.TempDir(), "bare.jsonl")
	if err := os.Rename(filepath.Join(run, results.HistoryFile), bare); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for _, path := range []string{bare, run} {
		if as, err := check(ctx, path); !errors.Is(err, errInterrupted) || len(as) > 0 {
			t.Errorf("%s: %v, %v", path, as, err)
		}
	}
	if a, err := results.JudgeContext(ctx, run); !errors.Is(err, errInterrupted) || a != nil {
		t.Errorf("%v, %v", a, err)
	}
}
