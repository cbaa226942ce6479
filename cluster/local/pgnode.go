package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pgNode is one Postgres server with its port, its data directory and its log,
// which outlive the process.
type pgNode struct {
	name    string
	machine *Machine
	dir     string
	log     string

	mu       sync.Mutex // one control call at a time
	template *pgTemplate
	port     *port
	proc     *proc // the postmaster; nil before the first start
}

// open starts the node for the first time, on a port that is free. After the
// machine's first this takes about 150 ms (BenchmarkPostgres), most of it for the
// copy; initdb, before the first, takes a second.
func (n *pgNode) open(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, err := n.machine.template.get(ctx, n.machine)
	if err == nil {
		err = letIn(t.servant, filepath.Dir(n.dir))
	}
	if err == nil {
		err = t.copy(n.dir)
	}
	if err != nil {
		return fmt.Errorf("node %s: %w", n.name, err)
	}
	n.template = t
	for range attempts {
		if n.port, err = reserve(0); err != nil {
			return fmt.Errorf("node %s: %w", n.name, err)
		}
		if err = n.start(ctx); err == nil || !errors.Is(err, errPortTaken) {
			break
		}
		n.port.free()
		n.port = nil
	}
	return err
}

// errBusy: the server of before has not let go of the data directory yet.
var errBusy = errors.New("the data directory is in use")

// start starts the server on the node's port and waits until it is ready. It needs mu.
func (n *pgNode) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	return poll(ctx, func() (bool, error) {
		err := n.try(ctx)
		if errors.Is(err, errBusy) && ctx.Err() == nil {
			return false, nil
		}
		return err == nil, err
	})
}

func (n *pgNode) try(ctx context.Context) error {
	out, err := os.OpenFile(n.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("node %s: cannot open its log: %w", n.name, err)
	}
	defer out.Close() // the child has its own by then
	from, err := out.Seek(0, 2)
	if err != nil {
		return fmt.Errorf("node %s: log %s: %w", n.name, n.log, err)
	}
	args := append([]string{"-D", n.dir, "-c", "listen_addresses=127.0.0.1", "-c", "port=" + strconv.Itoa(n.port.number)}, pgSettings...)
	cmd := n.template.command(n.machine, "postgres", args...)
	cmd.Stdout, cmd.Stderr = out, out
	p, err := n.machine.spawn.spawn("postgres "+n.name, cmd)
	if err != nil {
		return err
	}
	n.proc = p
	if err := n.awaitReady(ctx); err != nil {
		err = errors.Join(err, n.end())
		log := logSince(n.log, from)
		switch {
		case strings.Contains(log, "Address already in use"):
			err = fmt.Errorf("%w: %s", errPortTaken, n.port.addr())
		case strings.Contains(log, "pre-existing shared memory block") || strings.Contains(log, `lock file "postmaster.pid"`):
			err = fmt.Errorf("%w: %s", errBusy, n.dir)
		}
		return fmt.Errorf("node %s: PostgreSQL is not ready: %w; the last lines of %s:\n%s", n.name, err, n.log, lastLines(log))
	}
	return nil
}

// awaitReady waits for the server's own word, in a file that names its process.
func (n *pgNode) awaitReady(ctx context.Context) error {
	return poll(ctx, func() (bool, error) {
		if end := n.proc.exit(); end != "" {
			return false, fmt.Errorf("%w (%s)", errEnded, end)
		}
		f := readPostmaster(n.dir)
		return f.pid == n.proc.pid && f.ready, nil
	})
}

// postmaster is what a server writes into its data directory.
type postmaster struct {
	pid   int
	key   int32 // of a segment of shared memory by which it knows its children
	shmid int   // -1 where there is none
	ready bool
}

func readPostmaster(dir string) postmaster {
	f := postmaster{shmid: -1}
	b, err := os.ReadFile(filepath.Join(dir, postmasterFile))
	if err != nil {
		return f
	}
	lines := strings.Split(string(b), "\n")
	f.pid, _ = strconv.Atoi(strings.TrimSpace(lines[0])) // 0 while it is being written
	if len(lines) > 6 {
		if w := strings.Fields(lines[6]); len(w) == 2 {
			key, kerr := strconv.ParseUint(w[0], 10, 64) // where it is below 0, it was widened
			id, ierr := strconv.Atoi(w[1])
			if kerr == nil && ierr == nil {
				f.key, f.shmid = int32(key), id
			}
		}
	}
	f.ready = len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready"
	return f
}

const postmasterFile = "postmaster.pid"

// releaseShared gives back the segment of shared memory that a killed server has
// left: it would stay until the machine is restarted, and there are but 4096. A
// process that is just ending holds on to it for a moment longer.
func releaseShared(dir string) error {
	f := readPostmaster(dir)
	if f.shmid < 0 {
		return nil
	}
	const longest = 2 * time.Second
	for until := time.Now().Add(longest); ; time.Sleep(tick) {
		var seg unix.SysvShmDesc
		if _, err := unix.SysvShmCtl(f.shmid, unix.IPC_STAT, &seg); err != nil || seg.Perm.Key != f.key {
			return nil // it is gone, or another's
		}
		if seg.Nattch == 0 {
			break
		}
		if time.Now().After(until) {
			return fmt.Errorf("the shared memory segment %d of %s is still in use by %d process(es)", f.shmid, dir, seg.Nattch)
		}
	}
	if _, err := unix.SysvShmCtl(f.shmid, unix.IPC_RMID, nil); err != nil {
		return fmt.Errorf("cannot remove the shared memory segment %d of %s: %w", f.shmid, dir, err)
	}
	return nil
}
