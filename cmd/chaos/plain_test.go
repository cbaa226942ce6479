package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/internal/redistest"
	"lockchaos/results"
)

// hush is a password, which nothing may repeat.
const hush = "hush-hush-8d1f"

// plainFile is a cluster file with a plain server for the lock and one for the
// counter, each with a user who may use keys lockchaos:* and nothing dangerous.
func plainFile(t *testing.T) (file string, servers []*redistest.Server) {
	t.Helper()
	text := "nodes:\n"
	for _, role := range []string{"lock", "resource"} {
		s := redistest.Start(t)
		if err := s.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">"+hush, "resetkeys", "~lockchaos:*", "+@all", "-@dangerous", "-@admin").Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Set(t.Context(), "counter", "another's", 0).Err(); err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprintf("  - {name: my-%s, server: %q, user: app, password_env: APP_PASSWORD, roles: [%s]}\n", role, s.Addr, role)
		servers = append(servers, s)
	}
	file = filepath.Join(t.TempDir(), "cluster.yaml")
	keep(t, file, text)
	return file, servers
}

func plainCommand(t *testing.T, args ...string) *chaos {
	t.Helper()
	c := command(t, args...)
	c.cmd.Env = append(c.cmd.Env, "APP_PASSWORD="+hush)
	return c
}

// onlyOthers sees that nothing is on the servers but what was.
func onlyOthers(t *testing.T, servers []*redistest.Server) {
	t.Helper()
	for _, s := range servers {
		if keys := s.Keys(t.Context(), "*").Val(); len(keys) != 1 || s.Value(t, "counter") != "another's" {
			t.Errorf("%s has %q", s.Addr, keys)
		}
	}
}

// A run on plain servers comes out as anywhere; the password is nowhere in what it
// says and saves, and nothing is left on the servers.
func TestPlainServers(t *testing.T) {
	t.Parallel()
	file, servers := plainFile(t)
	root := t.TempDir()
	c := plainCommand(t, "run", "single/clock-jump", "single/pause-after-acquire", "--guard", "none,fence", "--on", "remote",
		"--cluster", file, "--i-own-these-servers", "--results", root)
	c.expect(t, results.ExitExpected, "all as expected")
	onlyOthers(t, servers)
	files := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), hush) {
			t.Errorf("%s has the password", path)
		}
		if d.Name() == results.ManifestFile && !strings.Contains(string(b), "not started by this program") {
			t.Errorf("%s does not say that the servers were there before: %s", path, b)
		}
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files were saved: %v", files, err)
	}
	if out := c.out.String() + c.errOut.String(); strings.Contains(out, hush) {
		t.Errorf("it says the password:\n%s", out)
	}
}

// Without the flag, and for what cannot be, nothing is done, and the reason is said.
func TestPlainServersRefused(t *testing.T) {
	t.Parallel()
	file, servers := plainFile(t)
	own := "--i-own-these-servers"
	agents := filepath.Join(t.TempDir(), "agents.yaml")
	keep(t, agents, "nodes: [{name: a, agent: \"127.0.0.1:1\", roles: [lock]}]\n")
	replica := filepath.Join(t.TempDir(), "replica.yaml")
	keep(t, replica, fmt.Sprintf("nodes:\n  - {name: a, server: %q, roles: [lock]}\n", redistest.Start(t, "--replicaof", "127.0.0.1", "1").Addr))
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"without the flag": {[]string{"single/baseline", "--cluster", file},
			[]string{"my-lock (" + servers[0].Addr + "), my-resource (" + servers[1].Addr + ")", "write locks", "script caches", "TTLs", "no FLUSHALL", own}},
		"no plain server": {[]string{"single/baseline", "--cluster", agents, own}, []string{"there are no plain servers"}},
		"named": {[]string{"single/crash-no-persistence", "--cluster", file, own},
			[]string{"single/crash-no-persistence: ", "single/crash-no-persistence.yaml:", "restart-node acts on its process, and n1 is a plain server, which we did not start: my-lock (" + servers[0].Addr + ")"}},
		"nothing else":     {[]string{"single/*-power-loss", "--cluster", file, own}, []string{"power-loss acts on its process and its files"}},
		"too few":          {[]string{"redlock/baseline", "--cluster", file, own}, []string{"too few nodes"}},
		"a replica":        {[]string{"single/baseline", "--cluster", replica, own}, []string{"it is a replica"}},
		"in another world": {[]string{"single/baseline", "--on", "local", own}, []string{"are for --on remote"}},
	} {
		t.Run(name, func(t *testing.T) {
			plainCommand(t, append([]string{"run", "--on", "remote", "--results", t.TempDir()}, c.args...)...).expect(t, results.ExitUsage, c.says...)
			onlyOthers(t, servers)
		})
	}
}

// A pattern leaves out by name what cannot be.
func TestPlainServersLeaveOut(t *testing.T) {
	t.Parallel()
	file, servers := plainFile(t)
	plainCommand(t, "run", "single/c*", "single/baseline", "*/flush-scripts", "--guard", "none", "--on", "remote", "--cluster", file,
		"--i-own-these-servers", "--results", t.TempDir()).
		expect(t, results.ExitExpected, "all as expected", "as there are too few nodes for them: redlock/flush-scripts",
			"as what they do cannot be done to plain servers: single/crash-aof-always, single/crash-no-persistence, single/flush-scripts")
	onlyOthers(t, servers)
}

// What is left on a server that cannot be reached any more is said.
func TestPlainServerGone(t *testing.T) {
	t.Parallel()
	file, servers := plainFile(t)
	scenario := filepath.Join(t.TempDir(), "long.yaml")
	keep(t, scenario, `lock: {system: single, ttl: 1s}
hosts: 1
workload: {kind: counter, rounds: 1000, work: 5ms}
guards: [none]
expect: {none: {outcome: safe}}
`)
	c := plainCommand(t, "run", scenario, "--on", "remote", "--cluster", file, "--i-own-these-servers", "--results", t.TempDir())
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	redistest.Until(t, "the run writes", func() bool { return len(servers[1].Keys(t.Context(), "lockchaos:*counter").Val()) > 0 })
	servers[1].Kill()
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.wait(t); code != results.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	if says := c.errOut.String(); !strings.Contains(says, "my-resource ("+servers[1].Addr+"): keys lockchaos:{") || !strings.Contains(says, "may be left") {
		t.Errorf("it says %q", says)
	}
	onlyOthers(t, servers[:1])
}
