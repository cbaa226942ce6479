package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// FoundShard is a shard where it was found.
type FoundShard struct {
	Dir string
	*Plan
}

// file names the file that the plan was read from.
func (s FoundShard) file() string { return filepath.Join(s.Dir, ShardFile) }

// Set are shards of one whole, in the order of their numbers, one of each.
type Set struct {
	Shards []FoundShard
	// Aside are tries of a shard that were broken off and done again.
	Aside []FoundShard
}

// Merged says of which shards a result was put together.
type Merged struct {
	Of   int      `json:"of"`
	From []string `json:"from"` // the names of their directories
	// Aside are the directories of tries that were broken off and done again.
	Aside []string `json:"aside,omitempty"`
	// Missing says what was planned and is not there: nothing is proved of it.
	Missing []string `json:"missing,omitempty"`
	// Commits of the programs that did it, where they are several.
	Commits []string `json:"commits,omitempty"`
}

// FindShards finds the shards at or below each of some paths. It is an error if
// there is none in one of them. What is no shard is passed over.
func FindShards(paths []string) ([]FoundShard, error) {
	var all []FoundShard
	seen := map[string]bool{}
	for _, path := range paths {
		dirs, err := with(path, ShardFile)
		if err != nil {
			return nil, &FileError{path, err}
		}
		if len(dirs) == 0 {
			return nil, &FileError{path, fmt.Errorf("no shard in there (no %s): chaos run --shard makes them", ShardFile)}
		}
		for _, dir := range dirs {
			abs, err := filepath.Abs(dir)
			if err != nil {
				return nil, err
			}
			if seen[abs] {
				continue
			}
			seen[abs] = true
			plan, err := OpenPlan(dir)
			if err != nil {
				return nil, err
			}
			all = append(all, FoundShard{dir, plan})
		}
	}
	return all, nil
}

// State is how far a shard came.
type State struct {
	Complete bool
	// Surprise: something in it is not as expected.
	Surprise bool
}

// Together makes one set of shards, if they belong together: the same world,
// suite, seeds, scenarios and commit, and none twice. state looks at a shard that
// is there twice: a try that was broken off, and in which all was as expected, is
// set aside for one that is complete. The error is a *FileError.
func Together(found []FoundShard, mixedCommits bool, state func(FoundShard) (State, error)) (*Set, error) {
	first := found[0]
	set := &Set{}
	tries := map[int][]FoundShard{}
	for _, s := range found {
		if what, here, there := s.Against(first.Plan, mixedCommits); what != "" {
			hint := ""
			if what == "commit" {
				hint = " (--mixed-commits takes them all the same)"
			}
			return nil, &FileError{s.file(), fmt.Errorf("%s is %s, but %s in %s: they do not belong together%s", what, here, there, first.file(), hint)}
		}
		tries[s.Shard.Index] = append(tries[s.Shard.Index], s)
	}
	for i := range first.Shard.Of {
		if len(tries[i]) == 0 {
			continue
		}
		one, aside, err := choose(tries[i], state)
		if err != nil {
			return nil, err
		}
		set.Shards, set.Aside = append(set.Shards, one), append(set.Aside, aside...)
	}
	return set, nil
}

// choose takes the one complete try of a shard.
func choose(tries []FoundShard, state func(FoundShard) (State, error)) (one FoundShard, aside []FoundShard, err error) {
	if len(tries) == 1 {
		return tries[0], nil, nil
	}
	var complete []FoundShard
	for _, s := range tries {
		st, err := state(s)
		switch {
		case err != nil:
			return one, nil, err
		case st.Complete:
			complete = append(complete, s)
		case st.Surprise:
			return one, nil, &FileError{s.file(), fmt.Errorf("shard %s was broken off and done again in %s, but in this try not all was as expected: give one of them", s.Shard, other(tries, s).Dir)}
		default:
			aside = append(aside, s)
		}
	}
	if len(complete) != 1 {
		s := tries[1]
		return one, nil, &FileError{s.file(), fmt.Errorf("shard %s is there twice: also in %s", s.Shard, tries[0].Dir)}
	}
	return complete[0], aside, nil
}

func other(tries []FoundShard, s FoundShard) FoundShard {
	return tries[slices.IndexFunc(tries, func(t FoundShard) bool { return t.Dir != s.Dir })]
}

// Merged says what the set is, and that what is missing is missing.
func (s *Set) Merged(missing []string) *Merged {
	m := &Merged{Of: s.Shards[0].Shard.Of, Missing: missing}
	for _, one := range s.Shards {
		m.From = append(m.From, filepath.Base(one.Dir))
		if b := one.Machine.Build(); !slices.Contains(m.Commits, b) {
			m.Commits = append(m.Commits, b)
		}
	}
	for _, one := range s.Aside {
		m.Aside = append(m.Aside, filepath.Base(one.Dir))
	}
	if len(m.Commits) == 1 {
		m.Commits = nil
	}
	return m
}

// Absent are the shards of which there is nothing.
func (s *Set) Absent() []Shard {
	var all []Shard
	of := s.Shards[0].Shard.Of
	for i := range of {
		if !slices.ContainsFunc(s.Shards, func(f FoundShard) bool { return f.Shard.Index == i }) {
			all = append(all, Shard{i, of})
		}
	}
	return all
}

// Words say in one line how much is missing; "" where nothing is.
func (m *Merged) Words() string {
	const most = 5
	n := len(m.Missing)
	if n == 0 {
		return ""
	}
	list := strings.Join(m.Missing[:min(n, most)], "; ")
	if n > most {
		list += fmt.Sprintf("; and %d more", n-most)
	}
	return fmt.Sprintf("%d of %d shards missing or incomplete, so this proves nothing for the rest: %s", n, m.Of, list)
}

// started is when the first of the shards was.
func (s *Set) started() FoundShard {
	return slices.MinFunc(s.Shards, func(a, b FoundShard) int { return a.Started.Compare(b.Started) })
}

// NewBatch makes the directory of what the set is put together to. It bears the
// time of the first shard.
func (s *Set) NewBatch(root string) (string, error) { return NewBatch(root, s.started().Started) }
