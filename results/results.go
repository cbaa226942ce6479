// Package results is the directory of a run: its layout, its manifest, opening
// and saving.
//
//	results/runs/20261129-201501-3f2a/            one call of chaos run
//	  summary.json                                what came out: canary, controls, every run
//	  shard.json                                  of a shard: which, and all that it is a part of
//	  sweep.json                                  of a sweep over seeds, in place of all others
//	  single.pause-after-acquire/fence/t1/        one run
//	    manifest.json   what was run, with which versions and options
//	    scenario.yaml   the scenario as it was read
//	    history.jsonl   what happened; written while it happens
//	    verdict.json    what a judge says of it
//	    timeline.json   what a picture of it needs, from the same judge
//	    porcupine-*.html  the part of the history that Porcupine finds illegal
//	    logs/           of the hosts and the servers
package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The files of a run.
const (
	ManifestFile = "manifest.json"
	ScenarioFile = "scenario.yaml"
	HistoryFile  = "history.jsonl"
	SpoiltFiles  = "spoilt-%d.jsonl" // of a run that was done again, the histories before, from 1
	VerdictFile  = "verdict.json"
	TimelineFile = "timeline.json"
	SummaryFile  = "summary.json"
	SweepFile    = "sweep.json"
	ShardFile    = "shard.json"
	LogsDir      = "logs"
)

// DefaultRoot is where runs land.
const DefaultRoot = "results/runs"

// NewBatch makes the directory of one call of chaos run.
func NewBatch(root string, now time.Time) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("results directory: %w", err)
	}
	dir, err := os.MkdirTemp(root, now.Format("20060102-150405")+"-*")
	if err != nil {
		return "", fmt.Errorf("results directory: %w", err)
	}
	return dir, os.Chmod(dir, 0o755)
}

// Key names a run within a batch.
type Key struct {
	Scenario string `json:"scenario"`
	Guard    string `json:"guard"`
	// Control is the same run without its faults.
	Control bool `json:"control,omitempty"`
	Trial   int  `json:"trial"` // from 1
}

// Path is the run's directory within its batch.
func (k Key) Path() string {
	guard := k.Guard
	if k.Control {
		guard += "+control"
	}
	return filepath.Join(strings.ReplaceAll(k.Scenario, "/", "."), guard, fmt.Sprintf("t%d", k.Trial))
}

func (k Key) String() string {
	s := k.Scenario + " guard " + k.Guard
	if k.Control {
		s += " control"
	}
	if k.Trial > 1 {
		s += fmt.Sprintf(" trial %d", k.Trial)
	}
	return s
}

// Create makes the directory of a run and of its logs.
func Create(batch string, k Key) (string, error) {
	dir := filepath.Join(batch, k.Path())
	if err := os.MkdirAll(filepath.Join(dir, LogsDir), 0o755); err != nil {
		return "", fmt.Errorf("run directory: %w", err)
	}
	return dir, nil
}

// Save writes v as JSON, whole or not at all.
func Save(dir, name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return SaveBytes(dir, name, append(b, '\n'))
}

// SaveBytes writes a file, whole or not at all.
func SaveBytes(dir, name string, b []byte) error {
	path := filepath.Join(dir, name)
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return os.Rename(tmp, path)
}

// FileError says which file of a run cannot be used, and why.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return fmt.Sprintf("%s: %v", e.Path, e.Err) }

func (e *FileError) Unwrap() error { return e.Err }

// Regular refuses what is there and is no regular file: a pipe may never end.
func Regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return &FileError{path, errors.New("not a regular file")}
	}
	return err
}

// Load reads one of the JSON files of a run. The error is a *FileError where
// the file is there and cannot be used.
func Load(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	if err := Regular(path); err != nil {
		return err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return &FileError{path, err}
	}
	return nil
}

// Runs finds the run directories at or below path, in order: those that hold a
// manifest. It is an error if there is none.
func Runs(path string) ([]string, error) {
	dirs, err := with(path, ManifestFile)
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("%s: no run in there (no %s)", path, ManifestFile)
	}
	return dirs, nil
}

// Sweeps finds the directories of saved sweeps at or below path, in order; there
// may be none.
func Sweeps(path string) ([]string, error) { return with(path, SweepFile) }

// with finds the directories at or below path that hold a file of that name.
func with(path, name string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() == name {
			dirs = append(dirs, filepath.Dir(p))
		}
		return err
	})
	return dirs, err
}

// absent tells that a file is not there.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
