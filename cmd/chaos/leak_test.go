package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockchaos/results"
)

// leakRounds in the environment is how many runs of the full suite are broken off.
// Where it is not set, a few runs of a small one are.
//
//	LOCKCHAOS_LEAK_ROUNDS=50 go test ./cmd/chaos -run TestLeaks -timeout 40m
const leakRounds = "LOCKCHAOS_LEAK_ROUNDS"

// Whenever a suite is broken off, by Ctrl-C or by SIGKILL, nothing is left of it: no
// process, no listening port, and after the next start no file. Only processes
// that carry the mark of these calls are looked at.
func TestLeaks(t *testing.T) {
	// From its very first moments to past the end of the fastest.
	rounds, latest := 6, 2500*time.Millisecond
	file := suite(t, "scenarios: [single/kill-holder, redlock/minority-down, single/pause-after-acquire]")
	if s := os.Getenv(leakRounds); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			t.Fatalf("%s=%q: expected a number above 0", leakRounds, s)
		}
		rounds, latest, file = n, 40*time.Second, "full"
	}
	t.Parallel()
	tmp := t.TempDir()                                         // one for all: each start sweeps what the one before has left
	if err := os.Chmod(filepath.Dir(tmp), 0o755); err != nil { // PostgreSQL runs as another user than root
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	seen := 0
	for round := range rounds {
		signal := []os.Signal{os.Interrupt, os.Kill}[round%2]
		wait := time.Duration(rng.Int64N(int64(latest)))
		c := command(t, "run", file, "--results", t.TempDir())
		c.cmd.Env = append(c.cmd.Env, "TMPDIR="+tmp)
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ports := c.listening(t, wait)
		seen += len(ports)
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		code := c.wait(t) // and for the last child
		if ok := code == results.ExitInterrupted || code == -1 || code == results.ExitExpected; !ok {
			t.Errorf("round %d, %s after %s: exit code %d: %s", round, signal, wait, code, c.errOut.String())
		}
		for inode, port := range ports {
			if _, open := listeners(t)[inode]; open {
				t.Errorf("round %d, %s after %s: port %d still listens", round, signal, wait, port)
			}
		}
		if left := under(t, tmp); signal == os.Interrupt && len(left) > 0 {
			t.Errorf("round %d, %s after %s: files are left over: %v", round, signal, wait, left)
		}
	}
	if seen == 0 {
		t.Error("no listening port was seen in any round: the test looks in the wrong place")
	}
	next := command(t, "run", "single/baseline", "--guard", "none", "--results", t.TempDir())
	next.cmd.Env = append(next.cmd.Env, "TMPDIR="+tmp)
	next.expect(t, results.ExitExpected)
	if left := under(t, tmp); len(left) > 0 {
		t.Errorf("after the next start files are left over: %v", left)
	}
}

// under lists what lies in the work directories' directory.
func under(t *testing.T, tmp string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(tmp, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := filepath.Glob(filepath.Join(tmp, "*", ".*"))
	if err != nil {
		t.Fatal(err)
	}
	return append(left, hidden...)
}

// listening waits, and returns the ports on which the call and its children listened
// at any time, by the inode of the socket: a port may be another's by now.
func (c *chaos) listening(t *testing.T, wait time.Duration) map[string]int {
	t.Helper()
	all := map[string]int{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(wait); ; {
		open := listeners(t)
		for _, inode := range c.sockets(t) {
			if port, ok := open[inode]; ok {
				all[inode] = port
			}
		}
		select {
		case <-end:
			return all
		case <-tick.C:
		}
	}
}

// sockets lists the inodes of the sockets of the call and its children.
func (c *chaos) sockets(t *testing.T) []string {
	t.Helper()
	dirs := []string{fmt.Sprint("/proc/", c.cmd.Process.Pid)}
	for _, child := range c.children(t) {
		dir, _, _ := strings.Cut(child, " ")
		dirs = append(dirs, dir)
	}
	var inodes []string
	for _, dir := range dirs {
		files, err := filepath.Glob(dir + "/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			link, _ := os.Readlink(f) // it may have been closed since
			if inode, ok := strings.CutPrefix(link, "socket:["); ok {
				inodes = append(inodes, strings.TrimSuffix(inode, "]"))
			}
		}
	}
	return inodes
}

// line 1 of /proc/net/tcp after its number: local address and port, the other
// side's, state 0A for listening, five more, inode.
var listener = regexp.MustCompile(`^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) \S+ 0A (?:\S+\s+){5}(\d+)`)

// listeners are all listening TCP ports of the machine by inode.
func listeners(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, err := os.ReadFile(file)
		if err != nil && file == "/proc/net/tcp" {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			if m := listener.FindStringSubmatch(line); m != nil {
				port, err := strconv.ParseInt(m[1], 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				all[m[2]] = int(port)
			}
		}
	}
	return all
}
