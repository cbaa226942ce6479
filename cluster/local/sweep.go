package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Swept is what a sweep has found and done.
type Swept struct {
	Dirs   []string // work directories of dead harnesses, removed
	Killed []string // processes that they had left, as "redis-server n1 (pid 4711)"
}

// Sweep looks through the work directories in base. Where the harness is dead,
// it kills the children that are left and removes the directory. It leaves
// harnesses that live, and processes that merely got the pid of a dead child,
// alone; two sweeps may run side by side. An error does not end the sweep.
func Sweep(base string) (Swept, error) {
	var out Swept
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("cannot look for what dead runs have left in %s: %w", base, err)
	}
	var all error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s := sweep{dir: filepath.Join(base, e.Name()), boot: bootID()}
		dead, err := s.run()
		if err != nil {
			all = errors.Join(all, fmt.Errorf("cannot clear the work directory %s of a dead run: %w", s.dir, err))
		}
		if dead {
			out.Dirs = append(out.Dirs, s.dir)
			out.Killed = append(out.Killed, s.killed...)
		}
	}
	return out, all
}

// sweep is that of one work directory.
type sweep struct {
	dir    string
	boot   string
	killed []string
}

// run reports whether the directory was of a dead harness.
func (s *sweep) run() (dead bool, err error) {
	f, err := os.Open(filepath.Join(s.dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		if s.makerLives() {
			return false, nil // it is being made or removed just now
		}
		return true, os.RemoveAll(s.dir)
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return false, nil // its harness lives, or another sweep is at it
	}
	journal, err := readJournal(f.Name())
	if err != nil {
		return false, err
	}
	if len(journal) == 0 && s.makerLives() || len(journal) > 0 && journal[0].alive(s.boot) {
		return false, nil
	}
	var noted error
	if len(journal) > 0 {
		noted = s.notePosix()
		s.killAll(journal[1:])
	}
	return true, errors.Join(noted, s.release(), os.RemoveAll(s.dir))
}

// makerLives goes by the pid in the directory's name, for want of better.
func (s *sweep) makerLives() bool {
	pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(s.dir), "."), "-")
	n, err := strconv.Atoi(pid)
	if err != nil {
		return true // not a name of ours
	}
	_, err = statOf(n)
	return err == nil
}

// readJournal reads what can be read: a harness that was killed while it wrote
// leaves half a line.
func readJournal(path string) ([]entry, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []entry
	for line := range bytes.Lines(b) {
		var e entry
		if json.Unmarshal(line, &e) == nil && e.PID > 0 {
			list = append(list, e)
		} else if len(list) == 0 {
			return nil, nil // the first line names the harness, so nothing can be trusted
		}
	}
	return list, nil
}

// killAll kills the children, what runs in their groups with our mark in its
// environment, and the children of Postgres servers, and waits for their end.
func (s *sweep) killAll(children []entry) {
	groups := map[int]bool{}
	var waiting []entry
	for _, e := range children {
		if e.Boot != s.boot {
			continue // no process outlives the machine
		}
		groups[e.PID] = true
		if s.kill(e) {
			waiting = append(waiting, e)
		}
	}
	for _, e := range append(s.marked(groups), s.servers()...) {
		if s.kill(e) {
			waiting = append(waiting, e)
		}
	}
	s.await(waiting)
	for _, e := range children {
		if _, err := statOf(e.PID); err != nil { // no other has its pid by now
			removeShared(e.PID)
		}
	}
}

func (s *sweep) kill(e entry) bool {
	if !s.signal(e, syscall.SIGKILL) {
		return false
	}
	s.killed = append(s.killed, fmt.Sprintf("%s (pid %d)", e.What, e.PID))
	return true
}

// signal sends a signal to exactly the process of the entry. os.FindProcess
// holds on to a process, not a pid, where the kernel can do that: what is looked
// at between is what gets the signal.
func (s *sweep) signal(e entry, sig syscall.Signal) bool {
	p, err := os.FindProcess(e.PID)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	return e.alive(s.boot) && p.Signal(sig) == nil
}

// marked lists the processes of the groups that carry the mark of the directory.
func (s *sweep) marked(groups map[int]bool) []entry {
	mark := []byte("\x00" + markName + "=" + s.dir + "\x00")
	var list []entry
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is well formed
	for _, path := range paths {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		st, err := statOf(pid)
		if err != nil || !groups[st.group] {
			continue
		}
		env, err := os.ReadFile(path)
		if err == nil && bytes.Contains(append([]byte{0}, env...), mark) {
			list = append(list, entry{What: "process of a host", PID: pid, Start: st.start, Boot: s.boot})
		}
	}
	return list
}

func (s *sweep) await(list []entry) {
	const longest = 2 * time.Second
	until := time.Now().Add(longest)
	for _, e := range list {
		for e.alive(s.boot) && time.Now().Before(until) {
			time.Sleep(tick) // nothing tells the end of a process that is not a child
		}
	}
}
