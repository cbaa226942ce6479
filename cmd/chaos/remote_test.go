package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
)

const testToken = "a-token-for-tests-only"

func tokenFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, testToken+"\n")
	return file
}

// agent starts chaos node and returns where it listens.
func agent(t *testing.T, token string) (*chaos, string) {
	t.Helper()
	c, line := server(t, "node", "--listen", "127.0.0.1:0", "--token-file", token)
	addr, ok := strings.CutPrefix(line, "listening on ")
	if !ok {
		t.Fatalf("%q %s", line, c.errOut.String())
	}
	return c, addr
}

// agents starts some, and returns them with the flags that name them.
func agents(t *testing.T, token string, roles ...string) ([]*chaos, []string) {
	t.Helper()
	var all []*chaos
	flags := []string{"--on", "remote", "--token-file", token}
	for i, role := range roles {
		c, addr := agent(t, token)
		all = append(all, c)
		flags = append(flags, "--node", fmt.Sprintf("%s%d=%s@%s", role, i, role, addr))
	}
	return all, flags
}

// Runs on nodes behind agents come out as those on local servers do.
func TestRemote(t *testing.T) {
	t.Parallel()
	token, root := tokenFile(t), t.TempDir()
	nodes, flags := agents(t, token, "lock", "lock", "lock", "lock", "lock", "resource")
	args := append([]string{"run", "single/pause-after-acquire", "single/clock-jump", "single/crash-no-persistence",
		"single/aof-everysec-power-loss", "redlock/clock-jump", "--guard", "none,fence", "--results", root}, flags...)
	command(t, args...).expect(t, results.ExitExpected, "on remote", "all as expected", "--guard none")
	logs, err := filepath.Glob(filepath.Join(root, "*", "redlock.clock-jump", "none", "t1", "logs", "n5.log"))
	if err != nil || len(logs) != 1 {
		t.Errorf("the log of a node was not fetched: %v, %v", logs, err)
	}
	if left := tokenIn(t, root); len(left) > 0 {
		t.Errorf("the token is in %v", left)
	}
	for _, n := range nodes {
		if left := n.children(t); len(left) > 0 {
			t.Errorf("after the runs an agent has still %v", left)
		}
		if strings.Contains(n.errOut.String(), testToken) {
			t.Error("an agent has written the token into its log")
		}
	}
	// What was left out is told, and what was named is an error.
	command(t, append([]string{"run", "sentinel/failover", "--results", root}, flags...)...).
		expect(t, results.ExitUsage, "sentinel/failover", "1 master, 2 replica, 3 sentinel")
}

// tokenIn lists the files below a directory that hold the token.
func tokenIn(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), testToken) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("looked at %d files: %v", files, err)
	}
	return found
}

// However a runner or an agent ends, no server is left, and the next runner gets the agents.
func TestRemoteEnds(t *testing.T) {
	t.Parallel()
	token := tokenFile(t)
	nodes, flags := agents(t, token, "lock", "lock", "lock", "lock", "lock", "resource")
	file := filepath.Join(t.TempDir(), "endless.yaml")
	write(t, file, endless)
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		root := t.TempDir()
		c := command(t, append([]string{"run", file, "--results", root}, flags...)...)
		if err := c.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if !eventually(t, func() bool { return strings.Contains(histories(t, root), `"step":"proved"`) }) {
			_ = c.cmd.Process.Kill()
			t.Fatalf("the run does not get going: %s%s", c.out.String(), c.errOut.String())
		}
		for i, n := range nodes {
			if got := n.children(t); len(got) != 1 {
				t.Errorf("agent %d has the children %v, expected one", i, got)
			}
		}
		if err := c.cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		c.wait(t)
		for _, n := range nodes {
			n.alone(t)
		}
	}
	command(t, append([]string{"run", "redlock/baseline", "--guard", "none", "--results", t.TempDir()}, flags...)...).
		expect(t, results.ExitExpected, "all as expected")
	for i, signal := range []os.Signal{os.Interrupt, os.Kill} {
		if err := nodes[i].cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code := nodes[i].wait(t); signal == os.Interrupt && code != results.ExitExpected {
			t.Errorf("an agent that was asked to end gives %d: %s", code, nodes[i].errOut.String())
		}
	}
	command(t, append([]string{"run", "redlock/baseline", "--results", t.TempDir()}, flags...)...).
		expect(t, results.ExitHarness, "agent lock0 at", "connection refused", "agent lock1 at")
}

// An agent that dies in a run makes it no verdict.
func TestRemoteAgentDies(t *testing.T) {
	t.Parallel()
	token, root := tokenFile(t), t.TempDir()
	nodes, flags := agents(t, token, "lock", "resource")
	file := filepath.Join(t.TempDir(), "long.yaml")
	write(t, file, strings.NewReplacer("system: redlock", "system: single", "for: 50s", "for: 2s").Replace(endless))
	c := command(t, append([]string{"run", file, "--results", root}, flags...)...)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !eventually(t, func() bool { return strings.Contains(histories(t, root), `"step":"proved"`) }) {
		t.Errorf("the run does not get going: %s%s", c.out.String(), c.errOut.String())
	}
	for _, n := range nodes {
		_ = n.cmd.Process.Kill()
		n.wait(t)
	}
	_ = c.cmd.Process.Signal(os.Interrupt)
	if code := c.wait(t); code == results.ExitExpected {
		t.Errorf("it ends as if all were well:\n%s%s", c.out.String(), c.errOut.String())
	}
}

func TestWrongRemoteCalls(t *testing.T) {
	t.Parallel()
	token, short, wrong := tokenFile(t), filepath.Join(t.TempDir(), "short"), filepath.Join(t.TempDir(), "wrong")
	write(t, short, "secret")
	write(t, wrong, "another-token-for-tests")
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	write(t, bad, "nodes:\n  - {name: a, agent: \"h:1\", roles: [lock]}\n  - {name: b, agent: \"h:2\", roles: [king]}\n")
	_, addr := agent(t, token)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() }) // after the parallel subtests
	node := "n=lock@" + addr
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	_, crowd := agents(t, token, "master", "replica", "replica", "sentinel", "sentinel", "sentinel", "resource")
	crowd = crowd[4:] // without --on and --token-file
	for name, c := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"no nodes":      {[]string{"run", "--on", "remote"}, results.ExitUsage, []string{"--cluster", "--node"}},
		"both":          {[]string{"run", "--on", "remote", "--cluster", bad, "--node", node}, results.ExitUsage, []string{"expected one of them"}},
		"local":         {[]string{"run", "--cluster", bad}, results.ExitUsage, []string{"are for --on remote"}},
		"no file":       {[]string{"run", "--on", "remote", "--cluster", "/nonsense.yaml", "--token-file", token}, results.ExitUsage, []string{"/nonsense.yaml"}},
		"bad role":      {[]string{"run", "--on", "remote", "--cluster", bad, "--token-file", token}, results.ExitUsage, []string{bad + ":3", `"king"`, "sentinel"}},
		"bad node":      {[]string{"run", "--on", "remote", "--node", "n1@h:1", "--token-file", token}, results.ExitUsage, []string{`--node "n1@h:1"`, "name=role@host:port"}},
		"no token file": {[]string{"run", "--on", "remote", "--node", node, "--token-file", "/nonsense"}, results.ExitUsage, []string{"/nonsense"}},
		"short token":   {[]string{"run", "--on", "remote", "--node", node, "--token-file", short}, results.ExitUsage, []string{"6 characters", short}},
		"wrong token":   {[]string{"run", "--on", "remote", "--node", node, "--token-file", wrong}, results.ExitHarness, []string{"agent n at", "token is missing or wrong"}},
		"no token":      {[]string{"run", "--on", "remote", "--node", node}, results.ExitHarness, []string{"token is missing or wrong"}},
		"too few":       {[]string{"run", "single/baseline", "--on", "remote", "--node", node, "--token-file", token}, results.ExitUsage, []string{"1 lock, 1 resource", "there are 1 lock"}},
		"check":         {[]string{"node", "--check", addr, "--token-file", token}, results.ExitExpected, []string{"free; Redis server"}},
		"check refused": {[]string{"node", "--check", addr, "--token-file", wrong}, results.ExitHarness, []string{"token is missing or wrong"}},
		"check nobody":  {[]string{"node", "--check", "127.0.0.1:1", "--token-file", token}, results.ExitHarness, []string{"connection refused"}},
		"check no port": {[]string{"node", "--check", "127.0.0.1", "--token-file", token}, results.ExitUsage, []string{`--check "127.0.0.1", expected host:port`}},
		"check a deaf":  {[]string{"node", "--check", deaf.Addr().String(), "--token-file", token}, results.ExitHarness, []string{"no answer within 5s"}},
		"crowded": {append([]string{"run", "sentinel/failover", "--on", "remote", "--token-file", token}, crowd...), results.ExitUsage,
			[]string{"need a machine or a container each", "are both at 127.0.0.1"}},
		"open to others":  {[]string{"node", "--listen", ":7400"}, results.ExitUsage, []string{"--listen :7400", "other machines", "--token-file"}},
		"all addresses":   {[]string{"node", "--listen", "0.0.0.0:0"}, results.ExitUsage, []string{"other machines"}},
		"port taken":      {[]string{"node", "--listen", taken.Addr().String(), "--token-file", token}, results.ExitHarness, []string{"cannot listen", "address already in use"}},
		"no address":      {[]string{"node", "--listen", "nonsense"}, results.ExitUsage, []string{"nonsense"}},
		"a word too many": {[]string{"node", "extra"}, results.ExitUsage, []string{"extra"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, c.args...).expect(t, c.code, c.says...)
		})
	}
}
