package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"lockchaos/results"
)

// Runs that an interrupt has cut short are not told of: only those that were done.
func TestInterruptedBatch(t *testing.T) {
	t.Parallel()
	root, file := t.TempDir(), filepath.Join(t.TempDir(), "endless.yaml")
	write(t, file, endless)
	c := command(t, "run", "single/baseline", file, "--guard", "none", "--jobs", "1", "--results", root)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return strings.Contains(histories(t, root), `"step":"proved"`) }) {
		t.Error("the second run does not get going")
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code := c.wait(t)
	out := c.out.String() + c.errOut.String()
	if code != results.ExitInterrupted || strings.Contains(out, "NOT AS") ||
		!strings.Contains(out, "interrupted: 1 of 2 runs done") || !strings.Contains(out, "1 run on local: 1 safe") {
		t.Errorf("exit code %d, and it says:\n%s", code, out)
	}
	s := summaryOf(t, root)
	if as := s.Runs; len(as) != 1 || as[0].Scenario != "single/baseline" {
		t.Errorf("the summary holds %v", as)
	}
	// What is saved does not look like the whole.
	if s.ExitCode != results.ExitInterrupted || len(s.Doubts) != 1 || s.Doubts[0] != "interrupted: 1 of 2 runs done" {
		t.Errorf("the summary says exit code %d, doubts %q", s.ExitCode, s.Doubts)
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "report.*"))
	if err != nil || len(files) < 5 {
		t.Errorf("reports %v, %v", files, err)
	}
	for _, file := range files {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), "interrupted: 1 of 2 runs done") {
			t.Errorf("%s does not say that it was interrupted: %v", filepath.Base(file), err)
		}
	}
	again := command(t, "report", root, "--format", "markdown")
	again.expect(t, results.ExitExpected, "interrupted: 1 of 2 runs done")
	if strings.Contains(again.out.String(), "failed") {
		t.Errorf("the run that was broken off counts as one that failed:\n%s", again.out.String())
	}
}

// An interrupt that comes before the first run, as while a directory is made for
// PostgreSQL, is told in the same words.
func TestInterruptedBeforeRuns(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	for dir := bin; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) { // as root, it runs as another user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"postgres": "echo 'postgres (PostgreSQL) 15.0'", "initdb": "sleep 20"} {
		syscall.ForkLock.RLock() // a child of another test would hold it open for writing until its exec
		write(t, filepath.Join(bin, name), "#!/bin/sh\n"+text+"\n")
		syscall.ForkLock.RUnlock()
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	c := command(t, "run", "single/postgres-crash", "single/baseline", "--guard", "none", "--results", t.TempDir())
	if err := os.Chmod(filepath.Dir(c.tmp), 0o755); err != nil {
		t.Fatal(err)
	}
	c.cmd.Env = append(c.cmd.Env, "LOCKCHAOS_POSTGRES_BIN="+bin)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return strings.Contains(strings.Join(c.children(t), "\n"), filepath.Join(bin, "initdb")) }) {
		t.Error("no initdb is begun")
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t); code != results.ExitInterrupted || c.errOut.String() != "chaos: interrupted: 0 of 3 runs done\n" {
		t.Errorf("exit code %d, and it says %q", code, c.errOut.String())
	}
}

// What fails because of a signal is not called an error of the machine; what has
// failed by itself, or came out before, stays what it is.
func TestCutShort(t *testing.T) {
	t.Parallel()
	killed := harness(errors.New("signal: killed"))
	interrupted, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		code int
	}{
		"killed by it":        {interrupted, killed, results.ExitInterrupted},
		"of the machine":      {t.Context(), killed, results.ExitHarness},
		"judged before":       {interrupted, &exit{code: results.ExitUnexpected}, results.ExitUnexpected},
		"a wrong call":        {interrupted, usage(errors.New("--on mars")), results.ExitUsage},
		"all as it should be": {interrupted, nil, results.ExitExpected},
	} {
		if code := finish(cutShort(c.ctx, c.err)); code != c.code {
			t.Errorf("%s: exit code %d, expected %d", name, code, c.code)
		}
	}
}

func summaryOf(t *testing.T, root string) *results.Summary {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "*", results.SummaryFile))
	if err != nil || len(files) != 1 {
		t.Fatalf("summaries %v, %v", files, err)
	}
	var s results.Summary
	if err := results.Load(filepath.Dir(files[0]), results.SummaryFile, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// Who reads the output goes away, as in chaos run | head -1: the runs go on,
// everything is left in order, and the end is a quiet one.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	c := command(t, "run", "single/baseline", "--results", root)
	read, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	c.cmd.Stdout = written
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	written.Close()
	if code := c.wait(t); code != exitPipe || c.errOut.Len() > 0 {
		t.Errorf("exit code %d (%s), expected %d and not a word: %s", code, c.cmd.ProcessState, exitPipe, c.errOut.String())
	}
	if n := len(summaryOf(t, root).Runs); n != 5 {
		t.Errorf("%d runs in the summary, expected 5", n)
	}
	if left, err := filepath.Glob(filepath.Join(c.tmp, "*", "*")); err != nil || len(left) > 0 {
		t.Errorf("files are left over: %v %v", left, err)
	}
}

// What the Redis client logs of a server that is down does not reach the terminal.
func TestQuietClient(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "down.yaml")
	write(t, file, `lock: {system: single, ttl: 2s}
hosts: 2
workload: {kind: counter, rounds: 4, work: 1ms, rest: 5ms}
guards: [none]
control: none
faults:
  - {fault: crash-node, nodes: [resource], from: after w1 released 2, for: 100ms}
expect:
  none: {outcome: safe}
`)
	c := command(t, "run", file, "--results", t.TempDir())
	c.expect(t, results.ExitExpected)
	if c.errOut.Len() > 0 {
		t.Errorf("on standard error:\n%s", c.errOut.String())
	}
}
