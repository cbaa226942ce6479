package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"lockchaos/results"
)

// SweepState tells how far the shard of a sweep came.
func SweepState(f results.FoundShard) (results.State, error) {
	s, err := openShard(f)
	if err != nil || s == nil {
		return results.State{}, err
	}
	return results.State{Complete: s.Done == s.Planned, Surprise: s.ExitCode == results.ExitUnexpected}, nil
}

// openShard reads the sweep of a shard; nil where it was ended before it could
// save anything. It is an error if that is not what its plan says.
func openShard(f results.FoundShard) (*Sweep, error) {
	s, err := OpenSweep(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	wrong := func(what string, here, there any) error {
		return &results.FileError{Path: filepath.Join(f.Dir, results.SweepFile),
			Err: fmt.Errorf("%s is %v, but %v in %s", what, here, there, filepath.Join(f.Dir, results.ShardFile))}
	}
	planned := f.Seeds.Count(f.Shard) * len(f.Runs)
	switch {
	case s.Shard == nil || *s.Shard != f.Shard:
		return nil, wrong("shard", s.Shard, f.Shard)
	case s.World != f.World:
		return nil, wrong("world", s.World, f.World)
	case s.Seeds != *f.Seeds:
		return nil, wrong("seeds", s.Seeds, f.Seeds)
	case s.Planned != planned:
		return nil, wrong("planned", s.Planned, planned)
	case len(s.Tallies) != len(f.Runs):
		return nil, wrong("the number of tallies", len(s.Tallies), len(f.Runs))
	}
	for i, t := range s.Tallies {
		if k := f.Runs[i].Key; t.Scenario != k.Scenario || t.Guard != k.Guard {
			return nil, wrong(fmt.Sprintf("tallies[%d]", i), t.Scenario+" guard "+t.Guard, k)
		}
		if most := f.Seeds.Count(f.Shard); t.Seeds > most {
			return nil, wrong(fmt.Sprintf("the number of seeds of tallies[%d]", i), t.Seeds, most)
		}
	}
	return s, nil
}

// MergeSweeps puts the shards of a sweep together, as one call would have done it.
func MergeSweeps(set *results.Set) (*Sweep, error) {
	first := set.Shards[0]
	all := &Sweep{World: first.World, Suite: first.Suite, Seeds: *first.Seeds, Started: first.Started, Machine: first.Machine}
	all.Planned = first.Seeds.Count(results.Shard{Of: 1}) * len(first.Runs)
	for _, r := range first.Runs {
		all.Tallies = append(all.Tallies, &Tally{Scenario: r.Scenario, Guard: r.Guard})
	}
	var missing []string
	for _, shard := range set.Absent() {
		if n := first.Seeds.Count(shard) * len(first.Runs); n > 0 {
			missing = append(missing, fmt.Sprintf("shard %s, not there: %d of %d runs", shard, n, n))
		}
	}
	for _, f := range set.Shards {
		s, err := openShard(f)
		if err != nil {
			return nil, err
		}
		planned := f.Seeds.Count(f.Shard) * len(f.Runs)
		left := planned
		if s != nil {
			all.Merge(s)
			left = planned - s.Done
			for i, t := range s.Tallies { // the scenarios are the same
				all.Tallies[i].Expect, all.Tallies[i].System = t.Expect, t.System
			}
		}
		if left > 0 {
			missing = append(missing, fmt.Sprintf("shard %s in %s, broken off: %d of %d runs", f.Shard, filepath.Base(f.Dir), left, planned))
		}
	}
	all.Merged = set.Merged(missing)
	return all, nil
}
