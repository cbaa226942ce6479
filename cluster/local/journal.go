package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// journalName is the file in a work directory that says who made it and which
// children it started, one JSON value a line.
const journalName = "journal"

// entry is a line of a journal. The first one is of the harness itself.
type entry struct {
	What  string `json:"what"`
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // field 22 of /proc/PID/stat
	Boot  string `json:"boot"`
}

// alive reports whether the process of the entry still runs: its pid alone
// could be another's by now.
func (e entry) alive(boot string) bool {
	if e.Boot != boot || e.PID <= 1 {
		return false
	}
	st, err := statOf(e.PID)
	return err == nil && st.start == e.Start && st.state != "Z"
}

// workdir is the directory of one harness process, with its journal. The
// journal is locked as long as the process lives, however it ends.
type workdir struct {
	dir  string
	boot string

	mu   sync.Mutex
	file *os.File
}

// baseDir is where the work directories of this user are.
func baseDir() string { return filepath.Join(os.TempDir(), fmt.Sprintf("lockchaos-%d", os.Getuid())) }

// makeBase makes the base directory, or refuses one that another user could have laid there.
func makeBase(base string) error {
	switch err := os.Mkdir(base, 0o700); {
	case errors.Is(err, fs.ErrNotExist): // to make it would hide a slip
		return &SettingError{fmt.Errorf("cannot make the work directory %s: there is no %s (set TMPDIR to a directory that can be written)", base, filepath.Dir(base))}
	case err != nil && !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("cannot make the work directory %s: %w (set TMPDIR to a directory that can be written)", base, err)
	}
	fi, err := os.Lstat(base)
	if err != nil {
		return fmt.Errorf("cannot look at the work directory %s: %w", base, err)
	}
	if st, ok := fi.Sys().(*syscall.Stat_t); !fi.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("the work directory %s is not a directory of this user: remove it or set TMPDIR", base)
	}
	return nil
}

// makeWorkdir makes a work directory. It is made under a name with a dot and
// renamed when its journal is locked, so a sweep never sees it without.
func makeWorkdir(base string) (*workdir, error) {
	tmp, err := os.MkdirTemp(base, fmt.Sprintf(".%d-", os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("cannot make a work directory in %s: %w", base, err)
	}
	w := &workdir{dir: filepath.Join(base, filepath.Base(tmp)[1:]), boot: bootID()}
	if err := w.open(tmp); err != nil {
		_ = os.RemoveAll(tmp)
		return nil, fmt.Errorf("cannot make the journal of work directory %s: %w", w.dir, err)
	}
	return w, nil
}

func (w *workdir) open(tmp string) error {
	f, err := os.OpenFile(filepath.Join(tmp, journalName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	w.file = f
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		var st procStat
		if st, err = statOf(os.Getpid()); err == nil {
			err = w.write(entry{What: "harness", PID: os.Getpid(), Start: st.start})
		}
	}
	if err == nil {
		err = os.Rename(tmp, w.dir)
	}
	if err != nil {
		_ = f.Close()
	}
	return err
}

// note writes down a child.
func (w *workdir) note(p *proc) error {
	return w.write(entry{What: p.what, PID: p.pid, Start: p.start})
}

func (w *workdir) write(e entry) error {
	e.Boot = w.boot
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.file.Write(append(b, '\n'))
	return err
}

// remove deletes the directory and lets go of the journal.
func (w *workdir) remove() error {
	err := os.RemoveAll(w.dir)
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.file.Close()
	if err != nil {
		return fmt.Errorf("cannot remove the work directory %s: %w", w.dir, err)
	}
	return nil
}
