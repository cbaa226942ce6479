package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
)

// Without PostgreSQL, what was named is an error that says how to get it; what a
// pattern takes is left out, and said to be.
func TestNoPostgres(t *testing.T) {
	t.Parallel()
	const get = "apt-get install postgresql"
	for name, c := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"named":            {[]string{"single/postgres-crash"}, results.ExitUsage, []string{"single/postgres-crash: ", get}},
		"named with more":  {[]string{"single/baseline", "single/postgres-crash"}, results.ExitUsage, []string{"single/postgres-crash: ", get}},
		"nothing else":     {[]string{"single/postgres-*"}, results.ExitUsage, []string{"single/postgres-crash, ", get}},
		"among others":     {[]string{"single/postgres-crash*", "single/reset-links"}, results.ExitExpected, []string{"2 runs on local", "all as expected", "Left out, as they need PostgreSQL: single/postgres-crash\n", get}},
		"not asked for it": {[]string{"single/postgres-*", "single/overrun", "--guard", "fence-read,none"}, results.ExitExpected, []string{"single/postgres-delayed-write", "all as expected"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := command(t, append([]string{"run", "--results", t.TempDir()}, c.args...)...)
			cmd.cmd.Env = append(cmd.cmd.Env, "LOCKCHAOS_POSTGRES_BIN="+t.TempDir())
			cmd.expect(t, c.code, c.says...)
		})
	}
}

// The same goes for a machine on which it cannot run: here, as root, because the
// server's user may not go through the test's directory.
func TestPostgresShutOut(t *testing.T) {
	t.Parallel()
	says := []string{"4 runs on local", "all as expected"}
	if os.Getuid() == 0 {
		says = []string{"2 runs on local", "all as expected", "Left out", "set TMPDIR"}
	}
	command(t, "run", "single/postgres-crash*", "single/reset-links", "--guard", "none", "--results", t.TempDir()).
		expect(t, results.ExitExpected, says...)
}

func TestPostgresInSimulation(t *testing.T) {
	t.Parallel()
	command(t, "run", "single/postgres-crash", "--on", "sim").
		expect(t, results.ExitUsage, "only for the world local", "real PostgreSQL server")
}

// A fence in SQL refuses the stale holder, and the manifest says what server that was.
func TestPostgresRun(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cmd := command(t, "run", "single/postgres-pause-after-acquire", "--guard", "fence", "--results", root)
	if err := os.Chmod(filepath.Dir(cmd.tmp), 0o755); err != nil { // the server runs as another user than root
		t.Fatal(err)
	}
	cmd.expect(t, results.ExitExpected, "all as expected")
	if a := assessment(t, root, "fence"); a.Verdict.Counts.Stale == 0 {
		t.Error("the fence refused nothing")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "fence", "t1", results.ManifestFile))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil || !strings.Contains(string(b), `"postgres": "postgres (PostgreSQL) `) || !strings.Contains(string(b), "pgx/v5") {
		t.Errorf("%v, the manifest is %s", err, b)
	}
}
