package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"lockchaos/cluster"
	"lockchaos/host"
)

// Machine is this computer as a place for clusters: the work directory of the
// harness process, its children and its Toxiproxy server. One for each harness
// process, with any number of clusters in it at a time.
type Machine struct {
	// Command runs the built-in host; it may be set before the first Up.
	Command []string
	// NewHost makes the harness's end of a host from its pipes; host.NewClient
	// unless it is set before the first Up.
	NewHost func(name string, stdin io.WriteCloser, stdout io.Reader, events func(host.Event)) host.Host

	work   *workdir
	spawn  *spawner
	toxi   *toxi
	swept  Swept
	clocks clockMeans

	template pgTemplate

	mu       sync.Mutex
	clusters map[*Cluster]bool
	serial   int
	closed   bool
}

// Open sweeps what dead harnesses have left and makes the work directory. A
// sweep that does not succeed is no obstacle: see Swept.
func Open(ctx context.Context) (*Machine, error) {
	m, err := openIn(baseDir())
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// SettingError says that a variable of the environment has a value that cannot be: it
// is the user's to mend.
type SettingError struct{ err error }

func (e *SettingError) Error() string { return e.err.Error() }
func (e *SettingError) Unwrap() error { return e.err }

func openIn(base string) (*Machine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find the own executable, which is the built-in host, too: %w", err)
	}
	clocks, err := findClockMeans()
	if err != nil {
		return nil, err
	}
	if err := makeBase(base); err != nil {
		return nil, err
	}
	m := &Machine{
		Command: []string{self, "host"},
		NewHost: func(name string, in io.WriteCloser, out io.Reader, events func(host.Event)) host.Host {
			return host.NewClient(name, in, out, events)
		},
		clusters: map[*Cluster]bool{}, clocks: clocks,
	}
	var sweepErr error
	m.swept, sweepErr = Sweep(base)
	if sweepErr != nil {
		m.swept.Killed = append(m.swept.Killed, "not all: "+sweepErr.Error())
	}
	if m.work, err = makeWorkdir(base); err != nil {
		return nil, err
	}
	if m.toxi, err = startToxi(); err != nil {
		return nil, errors.Join(err, m.work.remove())
	}
	m.spawn = newSpawner(m.work.note)
	return m, nil
}

// Swept says what Open has cleared away.
func (m *Machine) Swept() Swept { return m.swept }

// Clocks says how the clocks of nodes are set here.
func (m *Machine) Clocks() string { return m.clocks.String() }

// Dir is the work directory.
func (m *Machine) Dir() string { return m.work.dir }

// Close ends all clusters and removes the work directory. It may be called twice.
func (m *Machine) Close() error {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil
	}
	m.closed = true
	list := slices.Collect(maps.Keys(m.clusters))
	m.mu.Unlock()

	var all error
	for _, c := range list {
		all = errors.Join(all, c.Close())
	}
	m.spawn.close()
	return errors.Join(all, m.toxi.close(), m.work.remove())
}

// enter gives a cluster a number and its directory.
func (m *Machine) enter(c *Cluster) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return errors.New("the machine is closed")
	}
	m.serial++
	c.id = fmt.Sprintf("c%d", m.serial)
	c.dir = filepath.Join(m.work.dir, c.id)
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the cluster's directory: %w", err)
	}
	m.clusters[c] = true
	return nil
}

func (m *Machine) leave(c *Cluster) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.clusters, c)
}

// Version is the first line of redis-server --version.
func (m *Machine) Version(ctx context.Context) (string, error) {
	path, err := findRedis()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("cannot ask %s for its version: %w", path, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

var (
	_ cluster.Cluster  = (*Cluster)(nil)
	_ cluster.Prefixed = (*Cluster)(nil)
)
