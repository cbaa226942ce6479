package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"lockchaos/cluster"
)

// ErrNoPostgres is wrapped by the error of Up and PostgresVersion when there is no PostgreSQL.
var ErrNoPostgres = errors.New("PostgreSQL was not found: install it (apt-get install postgresql), " +
	"or name the directory of its programs initdb and postgres in " + postgresVariable)

// ErrPostgresShut is wrapped by the error of Up and PreparePostgres when there is
// a PostgreSQL, and it cannot run as this machine is set up.
var ErrPostgresShut = errors.New("PostgreSQL cannot run here")

// postgresVariable names the environment variable that is looked at before all else.
const postgresVariable = "LOCKCHAOS_POSTGRES_BIN"

// postgresBins is where Debian puts the programs of each version, off PATH.
const postgresBins = "/usr/lib/postgresql/*/bin"

// findPostgres returns the directory of the server's programs.
func findPostgres() (string, error) {
	if dir := os.Getenv(postgresVariable); dir != "" {
		if err := hasPrograms(dir); err != nil {
			return "", &SettingError{fmt.Errorf("%w (%s is set to %q: %w)", ErrNoPostgres, postgresVariable, dir, err)}
		}
		return dir, nil
	}
	found, err := filepath.Glob(postgresBins)
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(majorOf(b), majorOf(a)) })
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	for _, dir := range found {
		if hasPrograms(dir) == nil {
			return dir, nil
		}
	}
	return "", ErrNoPostgres
}

// majorOf is the version in a directory of Debian's.
func majorOf(bin string) float64 {
	v, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(bin)), 64) // 0 for what is no number
	return v
}

func hasPrograms(dir string) error {
	for _, name := range []string{"initdb", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// PostgresVersion is what postgres --version prints.
func (m *Machine) PostgresVersion(ctx context.Context) (string, error) {
	bin, err := findPostgres()
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, "postgres")
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask %s for its version: %w", path, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// PreparePostgres does what costs time but once, before the first node that is
// one would. It takes about a second.
func (m *Machine) PreparePostgres(ctx context.Context) error {
	_, err := m.template.get(ctx, m)
	return err
}

// postgresUser is whom servers run as when we are root, as which they refuse to run.
const postgresUser = "postgres"

// servant is whom a Postgres server runs as. Where it is nil, as ourselves.
func servant() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(postgresUser)
	if err != nil {
		return nil, fmt.Errorf("%w: it does not run as root, so it needs a user %q (packages of it make one): %w", ErrPostgresShut, postgresUser, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", postgresUser, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", postgresUser, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// give makes a file or directory the servant's.
func give(path string, to *syscall.Credential) error {
	if to == nil {
		return nil
	}
	return os.Lchown(path, int(to.Uid), int(to.Gid))
}

// letIn lets the servant go through directories of ours, which it may not list,
// and sees that it can get to them at all.
func letIn(to *syscall.Credential, ours ...string) error {
	if to == nil {
		return nil
	}
	for _, dir := range ours {
		if err := os.Chmod(dir, 0o711); err != nil {
			return fmt.Errorf("cannot open a directory for the user %s: %w", postgresUser, err)
		}
	}
	for dir := ours[0]; ; dir = filepath.Dir(dir) {
		fi, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if fi.Mode()&0o001 == 0 {
			return fmt.Errorf("%w: the user %s, as whom it runs, cannot go through %s (mode %s): set TMPDIR to a directory that all may go through",
				ErrPostgresShut, postgresUser, dir, fi.Mode())
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// upPostgres brings up the nodes that are Postgres servers.
func (c *Cluster) upPostgres(ctx context.Context) error {
	var list []*pgNode
	for _, s := range c.spec.Nodes {
		if s.Kind != cluster.KindPostgres || c.elsewhere(s.Name) {
			continue
		}
		n := &pgNode{
			name: s.Name, machine: c.machine,
			dir: filepath.Join(c.dir, s.Name), log: filepath.Join(c.logs, s.Name+".log"),
		}
		c.postgres[s.Name] = n
		list = append(list, n)
	}
	return each(list, func(n *pgNode) error { return n.open(ctx) })
}

func (c *Cluster) speaks(node string) protocol {
	if c.isPostgres(node) {
		return postgresProtocol
	}
	return redisProtocol
}

func (c *Cluster) isPostgres(node string) bool {
	return slices.ContainsFunc(c.spec.Nodes, func(s cluster.NodeSpec) bool {
		return s.Name == node && s.Kind == cluster.KindPostgres
	})
}

// noRedis is the error of a Redis command for a node that is no Redis.
func (c *Cluster) noRedis(node string) error {
	if !c.isPostgres(node) {
		return nil
	}
	return fmt.Errorf("node %s is a PostgreSQL server, it takes no commands of Redis", node)
}

// withPostgres calls f with the node's control held.
func (c *Cluster) withPostgres(name string, f func(*pgNode) (string, error)) (string, error) {
	n := c.postgres[name]
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.port == nil {
		return "", fmt.Errorf("node %s: the cluster is closed", name)
	}
	return f(n)
}

var _ cluster.Addressed = (*Cluster)(nil)

// LinkAddr is where a host finds a node.
func (c *Cluster) LinkAddr(host, node string) (string, error) {
	l, ok := c.links[pair{host, node}]
	if !ok {
		return "", c.unknown(host, node)
	}
	return l.Addr(), nil
}
