package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// asChaos makes the test binary be the program itself, and its own hosts too.
const asChaos = "LOCKCHAOS_TEST_AS_CHAOS"

func TestMain(m *testing.M) {
	if how := os.Getenv(asBroken); how != "" {
		breakDown(how)
	}
	if os.Getenv(asChaos) != "" {
		os.Exit(run(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// patience is how long one call may take before a test calls it a hang.
const patience = 90 * time.Second

// chaos is one call of the program.
type chaos struct {
	cmd    *exec.Cmd
	out    bytes.Buffer
	errOut bytes.Buffer
	mark   string // in the environment of all its children
	tmp    string
}

func command(t *testing.T, args ...string) *chaos { return within(t, patience, args...) }

// within is command with a limit of its own, for a call that serves others.
func within(t *testing.T, limit time.Duration, args ...string) *chaos {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	c := &chaos{tmp: t.TempDir(), mark: fmt.Sprintf("LOCKCHAOS_TEST_MARK=%s-%d", t.Name(), time.Now().UnixNano())}
	c.cmd = exec.CommandContext(ctx, os.Args[0], args...)
	c.cmd.Env = append(os.Environ(), asChaos+"=1", c.mark, "TMPDIR="+c.tmp)
	c.cmd.Stdout, c.cmd.Stderr = &c.out, &c.errOut
	return c
}

// run waits for the end and returns the exit code. No process may be left.
func (c *chaos) run(t *testing.T) int {
	t.Helper()
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c.wait(t)
}

func (c *chaos) wait(t *testing.T) int {
	t.Helper()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	c.alone(t)
	return c.cmd.ProcessState.ExitCode()
}

// children finds the processes that this call has started, by the mark in
// their environment, without the call itself.
func (c *chaos) children(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains(string(env), c.mark) || dir == fmt.Sprint("/proc/", c.cmd.Process.Pid) {
			continue
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline") // it may have ended since
		found = append(found, dir+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
	}
	return found
}

// alone waits for the last child to be gone: after a SIGKILL of the harness
// the kernel kills them, which takes a moment.
func (c *chaos) alone(t *testing.T) {
	t.Helper()
	if left := eventually(t, func() bool { return len(c.children(t)) == 0 }); !left {
		t.Errorf("processes are left over:\n%s", strings.Join(c.children(t), "\n"))
	}
}

// eventually polls for a condition, for far longer than it should take.
func eventually(t *testing.T, ok func() bool) bool {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			return false
		}
	}
	return true
}

// expect runs and compares the exit code and what is said.
func (c *chaos) expect(t *testing.T, code int, says ...string) {
	t.Helper()
	got := c.run(t)
	all := c.out.String() + c.errOut.String()
	if got != code {
		t.Errorf("exit code %d, expected %d\n%s", got, code, all)
	}
	for _, s := range says {
		if !strings.Contains(all, s) {
			t.Errorf("it does not say %q, but:\n%s", s, all)
		}
	}
}
