package results

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lockchaos/checker"
)

// shardRuns are the runs of one shard that have been judged, by their key, and
// those that are missing.
type shardRuns struct {
	of      FoundShard
	runs    map[Key]*Assessment
	missing []Key
}

// RunsState tells how far a shard came whose runs are saved one by one.
func RunsState(s FoundShard) (State, error) {
	x, err := readShard(s)
	if err != nil {
		return State{}, err
	}
	st := State{Complete: len(x.missing) == 0}
	for _, a := range x.runs {
		st.Surprise = st.Surprise || !a.AsExpected
	}
	return st, nil
}

// readShard reads what a shard has of its part of the plan. It is an error if it
// has anything else.
func readShard(s FoundShard) (*shardRuns, error) {
	x := &shardRuns{of: s, runs: map[Key]*Assessment{}}
	var sum Summary // for runs that failed before they had a directory
	if err := Load(s.Dir, SummaryFile, &sum); err != nil && !absent(err) {
		return nil, err
	}
	for _, a := range sum.Runs {
		if a != nil && a.Verdict == nil && a.Error != "" {
			a.Trust = nil
			x.runs[a.Key] = a
		}
	}
	mine := map[string]bool{}
	for _, r := range s.Mine() {
		mine[r.Path()] = true
		a, err := s.readRun(r)
		switch {
		case err != nil:
			return nil, err
		case a != nil:
			x.runs[r.Key] = a
		case x.runs[r.Key] == nil:
			x.missing = append(x.missing, r.Key)
		}
	}
	dirs, err := with(s.Dir, ManifestFile)
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		if rel, err := filepath.Rel(s.Dir, dir); err != nil || !mine[rel] {
			return nil, &FileError{filepath.Join(dir, ManifestFile), fmt.Errorf("this run is not of shard %s as %s has it", s.Shard, s.file())}
		}
	}
	return x, nil
}

// readRun reads a planned run; nil where it was not done, or not to its end.
func (s FoundShard) readRun(r PlannedRun) (*Assessment, error) {
	dir := filepath.Join(s.Dir, r.Path())
	m, err := manifest(dir)
	switch {
	case absent(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for _, v := range []struct{ what, here, there string }{
		{"run", m.Key.String(), r.Key.String()}, {"world", m.World, s.World}, {"suite", quoted(m.Suite), quoted(s.Suite)},
	} {
		if v.here != v.there {
			return nil, &FileError{filepath.Join(dir, ManifestFile), fmt.Errorf("%s is %s, but %s in %s", v.what, v.here, v.there, s.file())}
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, VerdictFile)); absent(err) && m.Error == "" {
		return nil, nil
	}
	saved, err := OpenRun(dir)
	if err != nil {
		return nil, err
	}
	if saved.Key != r.Key || saved.World != s.World {
		return nil, &FileError{filepath.Join(dir, VerdictFile), fmt.Errorf("it is of %s on %s, not of %s on %s", saved.Key, saved.World, r.Key, s.World)}
	}
	saved.Trust = nil // it is told anew, of all shards
	saved.Canary = r.Canary
	return saved.Assessment, nil
}

// Merge puts the runs of all shards into one new batch below root, as one call
// would have left them, but for the renderings. The shards stay as they are. The
// error is a *FileError, or of the file system.
func (s *Set) Merge(root string) (dir string, sum *Summary, err error) {
	var parts []*shardRuns
	for _, one := range s.Shards {
		x, err := readShard(one)
		if err != nil {
			return "", nil, err
		}
		parts = append(parts, x)
	}
	merged := s.Merged(missingRuns(s, parts))
	if dir, err = s.NewBatch(root); err != nil {
		return "", nil, err
	}
	made := dir
	defer func() {
		if err != nil { // half of it would look like a batch
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	var as []*Assessment
	plan := s.Shards[0].Plan
	for _, r := range plan.Runs {
		a := pick(parts, r)
		if a == nil {
			continue
		}
		if a.Dir != "" {
			to := filepath.Join(dir, r.Path())
			if err := copyDir(a.Dir, to); err != nil {
				return "", nil, err
			}
			a.Dir = to
		}
		as = append(as, a)
	}
	if words := merged.Words(); words != "" {
		Incomplete(as, words)
	}
	if err := SettleBatch(as); err != nil {
		return "", nil, err
	}
	sum = Summarise(plan.Suite, plan.World, plan.LeftOut, as)
	if sum.Merged = merged; len(merged.Missing) > 0 {
		sum.ExitCode = Worse(sum.ExitCode, ExitInconclusive)
	}
	return dir, sum, Save(dir, SummaryFile, sum)
}

// missingRuns says for each shard what is not there of it.
func missingRuns(s *Set, parts []*shardRuns) []string {
	const most = 10 // names
	var all []string
	for _, shard := range s.Absent() {
		whole := *s.Shards[0].Plan
		whole.Shard = shard
		if n := len(whole.Mine()); n > 0 {
			all = append(all, fmt.Sprintf("shard %s, not there: %d of %d runs", shard, n, n))
		}
	}
	for _, x := range parts {
		n := len(x.missing)
		if n == 0 {
			continue
		}
		var names []string
		for _, k := range x.missing[:min(n, most)] {
			names = append(names, k.String())
		}
		if n > most {
			names = append(names, fmt.Sprintf("and %d more", n-most))
		}
		all = append(all, fmt.Sprintf("shard %s in %s, broken off: %d of %d runs: %s",
			x.of.Shard, filepath.Base(x.of.Dir), n, len(x.of.Mine()), strings.Join(names, ", ")))
	}
	return all
}

// pick takes a run from the shard that has it; of a canary, which all have, the
// worst: a shard that could not see a violation takes the trust from all.
func pick(parts []*shardRuns, r PlannedRun) *Assessment {
	var worst *Assessment
	for _, x := range parts {
		if a := x.runs[r.Key]; a != nil && (worst == nil || canaryRank(a) > canaryRank(worst)) {
			worst = a
		}
	}
	return worst
}

// canaryRank orders the tries of a canary, the worst last.
func canaryRank(a *Assessment) int {
	switch {
	case a.outcome() == failed:
		return 3
	case a.outcome() != checker.Violated:
		return 2
	case !a.Verdict.FoundByBoth() || !a.AsExpected:
		return 1
	}
	return 0
}

// copyDir copies a run's directory. Copies, not links: whoever edits one of two
// linked files changes the other's evidence.
func copyDir(from, to string) error {
	return filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		at := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(at, 0o755)
		case !d.Type().IsRegular():
			return &FileError{p, errors.New("not a regular file")}
		}
		return copyFile(p, at)
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
