package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The servers that initdb runs take their settings from nobody: they have POSIX
// shared memory, which outlives them if they are killed. Its names are random, so
// they are written down while their owners have them.

const (
	posixShared = "/dev/shm/PostgreSQL."
	// posixList is the file in a work directory with the names, one a line.
	posixList = "postgres-shm"
	posixTick = 10 * time.Millisecond // a look costs one or two
)

// notePosix adds what the processes have to the list in the work directory.
func notePosix(work string, pids []int) error {
	path := filepath.Join(work, posixList)
	known, err := readPosix(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, pid := range pids {
		for _, name := range posixOf(pid) {
			if !slices.Contains(known, name) {
				known = append(known, name)
				b.WriteString(name + "\n")
			}
		}
	}
	if b.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	return errors.Join(err, f.Close())
}

// posixOf names what a process has mapped, or open, as it is before it is mapped.
func posixOf(pid int) []string {
	var found []string
	maps, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // an error means that it has ended
	for line := range strings.Lines(string(maps)) {
		if i := strings.Index(line, posixShared); i >= 0 {
			found = append(found, strings.TrimSpace(line[i:]))
		}
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is well formed
	for _, fd := range fds {
		if name, err := os.Readlink(fd); err == nil && strings.HasPrefix(name, posixShared) {
			found = append(found, name)
		}
	}
	return slices.DeleteFunc(found, func(name string) bool { return !isPosix(name) })
}

// isPosix is not true of what is removed already, which has " (deleted)" after it,
// nor of half a line or a path that leads elsewhere.
func isPosix(name string) bool {
	number, ok := strings.CutPrefix(name, posixShared)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// readPosix reads the lines that are whole: a harness that was killed may leave half a one.
func readPosix(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var list []string
	for line := range strings.Lines(string(b)) {
		if name, whole := strings.CutSuffix(line, "\n"); whole && isPosix(name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// releasePosix removes what is on the list of the work directory and still there,
// and the list, when the last process of a server in dir has ended.
func releasePosix(work, dir string) error {
	path := filepath.Join(work, posixList)
	list, err := readPosix(path)
	if err != nil || len(list) == 0 {
		return err
	}
	const longest = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	s := sweep{dir: dir, boot: bootID()}
	if err := poll(ctx, func() (bool, error) { return len(s.servers()) == 0, nil }); err != nil {
		return fmt.Errorf("the shared memory of the servers in %s is left, as they have not ended: %w", dir, err)
	}
	var all error
	for _, name := range list {
		if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return errors.Join(all, os.Remove(path))
}

// breakOff kills the group of a process. It stops it first, so that nothing is
// made between the last look and the end. Who waits for a stopped child to start
// a program cannot be stopped, but has no shared memory either.
func breakOff(work string, p *proc) error {
	const longest = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	_, _ = p.pause(ctx)
	return errors.Join(noteGroup(work, p), p.end())
}

// noteGroup notes what a process and its descendants have, which initdb leaves in
// its own group.
func noteGroup(work string, p *proc) error {
	p.mu.Lock() // or its pid could be another's group by now
	defer p.mu.Unlock()
	if p.over {
		return nil
	}
	pids, err := groupOf(p.pid)
	if err != nil {
		return err
	}
	return notePosix(work, pids)
}

// notePosix stops the servers in the directory and notes what they have.
func (s *sweep) notePosix() error {
	list := s.servers()
	var pids []int
	for _, e := range list {
		if s.signal(e, syscall.SIGSTOP) {
			pids = append(pids, e.PID)
		}
	}
	const longest = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	err := poll(ctx, func() (bool, error) {
		states, err := threadStates(pids)
		moving := slices.ContainsFunc(states, func(st string) bool { return !strings.Contains("TtZX", st) })
		return !moving, err
	})
	return errors.Join(err, notePosix(s.dir, pids))
}
