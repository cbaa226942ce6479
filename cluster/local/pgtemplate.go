package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pgTemplate is a data directory that is made when the first Postgres node of
// the machine is, and copied for each.
type pgTemplate struct {
	mu      sync.Mutex
	made    bool
	bin     string // of the server's programs
	dir     string
	servant *syscall.Credential
}

// pgSettings are those of every server. A kill loses nothing that has reached
// the page cache, so there is no fsync to wait for; what is acknowledged has
// been written. Background work that no run is about is off.
var pgSettings = []string{
	"-c", "fsync=off", "-c", "full_page_writes=off", "-c", "synchronous_commit=on", "-c", "shared_buffers=16MB",
	// On disk, and so gone with the directory; elsewhere it would outlive a kill.
	"-c", "dynamic_shared_memory_type=mmap",
	"-c", "unix_socket_directories=", "-c", "autovacuum=off", "-c", "max_connections=200",
}

// shrink is typed into a server that has nobody else, to have less to copy.
const shrink = `UPDATE pg_database SET datistemplate = false WHERE datname = 'template0';
DROP DATABASE template0;
DROP DATABASE postgres;
`

// get makes the template if it is not there yet.
func (t *pgTemplate) get(ctx context.Context, m *Machine) (*pgTemplate, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made {
		return t, nil
	}
	var err error
	if t.bin, err = findPostgres(); err != nil {
		return nil, err
	}
	if t.servant, err = servant(); err != nil {
		return nil, err
	}
	t.dir = filepath.Join(m.work.dir, "postgres-template")
	if err := t.make(ctx, m); err != nil {
		return nil, errors.Join(fmt.Errorf("make a PostgreSQL data directory: %w", err), releaseShared(t.dir), os.RemoveAll(t.dir))
	}
	t.made = true
	return t, nil
}

func (t *pgTemplate) make(ctx context.Context, m *Machine) error {
	if err := letIn(t.servant, filepath.Dir(m.work.dir), m.work.dir); err != nil {
		return err
	}
	if err := os.Mkdir(t.dir, 0o700); err != nil {
		return err
	}
	if err := give(t.dir, t.servant); err != nil {
		return err
	}
	err := t.tool(ctx, m, "", "initdb", "-D", t.dir, "-U", postgresUser, "-A", "trust", "-E", "UTF8", "--locale=C",
		"--no-sync", "--no-instructions", "--wal-segsize=1")
	if err != nil {
		return err
	}
	return t.tool(ctx, m, shrink, "postgres", append([]string{"--single", "-D", t.dir}, append(pgSettings, "template1")...)...)
}

// tool runs one of PostgreSQL's programs to its end.
func (t *pgTemplate) tool(ctx context.Context, m *Machine, input, name string, args ...string) error {
	log := filepath.Join(m.work.dir, name+".log")
	out, err := os.Create(log)
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := t.command(m, name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), out, out
	p, err := m.spawn.spawn(name, cmd)
	if err != nil {
		return err
	}
	err = t.await(ctx, m, p)
	if err := errors.Join(err, releasePosix(m.work.dir, t.dir)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %s; it said:\n%s", name, p.exit(), lastLines(logSince(log, 0)))
	}
	return nil
}

// await waits for the end of a program, which it brings about if need be.
func (t *pgTemplate) await(ctx context.Context, m *Machine, p *proc) error {
	look := time.NewTicker(posixTick)
	defer look.Stop()
	for {
		select {
		case <-p.done:
			return nil
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), breakOff(m.work.dir, p))
		case <-look.C:
			if err := noteGroup(m.work.dir, p); err != nil {
				return errors.Join(err, breakOff(m.work.dir, p))
			}
		}
	}
}

// command is one of PostgreSQL's programs as the servant, who may not be able to
// be where we are.
func (t *pgTemplate) command(m *Machine, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(t.bin, name), args...)
	cmd.Dir, cmd.Env = "/", environment(m.work.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: t.servant}
	return cmd
}

// copy lays a copy at a path.
func (t *pgTemplate) copy(to string) error {
	return filepath.WalkDir(t.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(t.dir, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			err = os.Mkdir(target, 0o700)
		} else {
			err = copyFile(path, target)
		}
		if err != nil {
			return err
		}
		return give(target, t.servant)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
