package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
)

// ErrNoRedis is wrapped by the error of Up and Version when there is no redis-server.
var ErrNoRedis = errors.New("redis-server was not found: install it (apt-get install redis-server), " +
	"name it in " + redisVariable + ", or use --on sim, which needs none")

// redisVariable names the environment variable that is looked at before PATH.
const redisVariable = "LOCKCHAOS_REDIS_SERVER"

// readyTimeout bounds the start of a node.
const readyTimeout = 10 * time.Second

// attempts is how many ports are tried for a new node.
const attempts = 5

func findRedis() (string, error) {
	if path := os.Getenv(redisVariable); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", &SettingError{fmt.Errorf("%w (%s is set to %q: %w)", ErrNoRedis, redisVariable, path, err)}
		}
		return found, nil
	}
	found, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNoRedis, err)
	}
	return found, nil
}

// node is one redis-server with its port, its directory and its log, which
// outlive the process.
type node struct {
	name    string
	redis   string // the executable
	dir     string
	log     string
	persist string
	mark    string
	spawn   *spawner
	reserve func(int) (*port, error)
	peering peering
	prefix  string // of the names of keys

	mu    sync.Mutex // one control call at a time, and none that waits for an answer of a server that others may stop
	port  *port
	proc  *proc // nil before the first start
	runID string
	// settable tells that the clock may be set. It is by libfaketime where there is
	// a clock, and else by shifting TTLs.
	settable bool
	clock    *clock
	clocking chan struct{} // held by who sets the clock

	synced synced    // by SyncNode
	slow   *slowness // nil where it is as fast as it can
}

// open starts the node for the first time, on a port that is free.
func (n *node) open(ctx context.Context) error {
	if err := os.MkdirAll(n.dir, 0o700); err != nil {
		return fmt.Errorf("node %s: cannot make its directory: %w", n.name, err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	for range attempts {
		if n.port, err = n.reserve(0); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
		if err = n.configure(); err != nil {
			return err
		}
		if err = n.start(ctx); err == nil || !errors.Is(err, errPortTaken) {
			break
		}
		n.port.free()
	}
	return err
}

var errPortTaken = errors.New("its port is taken")

// start starts the server on the node's port and waits until it answers. It needs mu.
func (n *node) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("node %s: cannot open its log: %w", n.name, err)
	}
	defer out.Close() // the child has its own by then
	from, err := out.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("node %s: log %s: %w", n.name, n.log, err)
	}
	cmd := exec.Command(n.redis, n.args()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = n.dir, out, out, environment(n.mark)
	if n.clock != nil {
		if cmd.Env, err = n.clock.prepare(cmd.Env); err != nil {
			return fmt.Errorf("node %s: cannot prepare its clock: %w", n.name, err)
		}
	}
	p, err := n.spawn.spawn("redis-server "+n.name, cmd)
	if err != nil {
		return err
	}
	n.proc = p
	if n.clock != nil {
		defer removeShared(p.pid)
	}
	err = n.awaitReady(ctx)
	if err == nil && n.clock != nil {
		err = n.clock.calibrate(ctx, n.port.addr())
	}
	if err == nil {
		err = n.tune(ctx)
	}
	if err != nil {
		n.proc.kill()
		log := logSince(n.log, from)
		if strings.Contains(log, "Address already in use") && !errors.Is(err, errPortTaken) {
			err = fmt.Errorf("%w: %s", errPortTaken, n.port.addr())
		}
		return fmt.Errorf("node %s: redis-server is not ready: %w; the last lines of %s:\n%s",
			n.name, err, n.log, lastLines(log))
	}
	return nil
}

func (n *node) args() []string {
	if n.peering.role == cluster.RoleSentinel {
		return []string{n.configFile(), "--sentinel"}
	}
	aof, fsync := "no", cluster.PersistEverySec
	if n.persist != cluster.PersistNone {
		aof, fsync = "yes", n.persist
	}
	return append(n.peerArgs(),
		"--bind", "127.0.0.1", "--port", strconv.Itoa(n.port.number), "--protected-mode", "yes",
		"--dir", n.dir, "--save", "", "--appendonly", aof, "--appendfsync", fsync,
		"--databases", "1", "--daemonize", "no", "--loglevel", "notice", "--logfile", "",
		// For DEBUG SLEEP: see slowness.
		"--enable-debug-command", "local",
		// The title would be written over the environment, where our mark is.
		"--set-proc-title", "no",
	)
}

// awaitReady asks until the server answers, and answers as the process that we
// started: another's might listen on the port.
func (n *node) awaitReady(ctx context.Context) error {
	var last error
	err := poll(ctx, func() (bool, error) {
		if end := n.proc.exit(); end != "" {
			return false, fmt.Errorf("%w (%s)", errEnded, end)
		}
		var info map[string]string
		if info, last = n.info(ctx); last != nil {
			return false, nil
		}
		if info["process_id"] != strconv.Itoa(n.proc.pid) {
			return false, fmt.Errorf("%w: at %s the server with pid %s answers", errPortTaken, n.port.addr(), info["process_id"])
		}
		n.runID = info["run_id"]
		return true, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("no answer in time: %w", errors.Join(err, last))
	}
	return err
}

// info is INFO server. It is no answer while the node loads its files.
func (n *node) info(ctx context.Context) (map[string]string, error) {
	info, err := n.section(ctx, "server")
	if err != nil {
		return nil, err
	}
	if _, err := ask(ctx, "", n.port.addr(), "PING"); err != nil { // LOADING refuses this
		return nil, err
	}
	return info, nil
}

// section is one part of INFO.
func (n *node) section(ctx context.Context, name string) (map[string]string, error) {
	return section(ctx, n.port.addr(), name)
}

// close kills the server and gives the port free.
func (n *node) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.slow != nil {
		n.slow.end()
		n.slow = nil
	}
	if n.proc != nil {
		err = n.proc.end()
	}
	if n.port != nil {
		n.port.free()
		n.port = nil
	}
	return err
}

func logSince(path string, from int64) string {
	b, err := os.ReadFile(path)
	if err != nil || int64(len(b)) < from {
		return ""
	}
	return string(b[from:])
}

func lastLines(log string) string {
	const most = 10
	lines := bytes.Split(bytes.TrimSpace([]byte(log)), []byte("\n"))
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return string(bytes.Join(lines, []byte("\n")))
}

func newNode(m *Machine, c *Cluster, spec cluster.NodeSpec, redis string) *node {
	persist := spec.Persistence
	if persist == "" {
		persist = cluster.PersistNone
	}
	n := &node{
		name: spec.Name, redis: redis, persist: persist, mark: m.work.dir, settable: spec.Clock, clocking: make(chan struct{}, 1),
		dir: filepath.Join(c.dir, spec.Name), log: filepath.Join(c.logs, spec.Name+".log"),
		spawn: m.spawn, reserve: reserve,
		peering: c.peering(spec), prefix: c.spec.KeyPrefix,
	}
	if spec.Clock && m.clocks.lib != "" {
		n.clock = newClock(m.clocks, filepath.Join(n.dir, clockFile))
	}
	return n
}
