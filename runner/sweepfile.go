package runner

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"lockchaos/checker"
	"lockchaos/results"
	"lockchaos/scenario"
)

// Sweep is what came out of a sweep through seeds of the simulation. Saved, it is
// sweep.json; docs/sharding.md and docs/sweep.schema.json describe that.
type Sweep struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	World   string            `json:"world"`
	Suite   string            `json:"suite,omitempty"`
	Seeds   results.SeedRange `json:"seeds"`
	// Shard is the part of it that this is; Merged says of which parts it was put
	// together. Both are absent where it was done in one call.
	Shard   *results.Shard  `json:"shard,omitempty"`
	Merged  *results.Merged `json:"merged,omitempty"`
	Started time.Time       `json:"started"`
	Took    float64         `json:"took"`    // seconds; of a merged one, those of all parts
	Planned int             `json:"planned"` // runs: each seed with each scenario and guard
	Done    int             `json:"done"`
	// Simulated is how long all runs took in virtual time, in seconds.
	Simulated float64         `json:"simulated"`
	ExitCode  int             `json:"exit_code"`
	Machine   results.Machine `json:"machine"`
	// Tallies are what was found, by scenario and guard.
	Tallies []*Tally `json:"tallies"`
}

// The name and version of the format of a sweep.
const (
	SweepFormat  = "lockchaos-sweep"
	SweepVersion = 1
)

// NewSweep is a sweep of which nothing has been done. Its scenarios are run with
// the guards that guardsOf gives; shard is nil for all of its seeds.
func NewSweep(list []*scenario.Scenario, guardsOf func(*scenario.Scenario) []string, seeds results.SeedRange, shard *results.Shard) *Sweep {
	s := &Sweep{World: scenario.Simulation, Seeds: seeds, Shard: shard, Started: time.Now()}
	for _, one := range list {
		for _, g := range guardsOf(one) {
			s.Tallies = append(s.Tallies, &Tally{Scenario: one.Name, System: one.Lock.System, Guard: g, Expect: one.Expect[g]})
		}
	}
	slices.SortFunc(s.Tallies, func(a, b *Tally) int {
		return cmp.Or(cmp.Compare(a.Scenario, b.Scenario), cmp.Compare(a.Guard, b.Guard))
	})
	whole := results.Shard{Of: 1}
	if shard != nil {
		whole = *shard
	}
	s.Planned = seeds.Count(whole) * len(s.Tallies)
	return s
}

// Add counts one run.
func (s *Sweep) Add(seed Seed) {
	if t := s.Tally(seed.Scenario, seed.Guard); t != nil {
		t.Add(seed)
		s.Done++
		s.Simulated += seed.Simulated
	}
}

// Merge takes in another part of the same sweep.
func (s *Sweep) Merge(o *Sweep) {
	for _, theirs := range o.Tallies {
		if t := s.Tally(theirs.Scenario, theirs.Guard); t != nil {
			t.Merge(theirs)
		}
	}
	s.Took, s.Done, s.Simulated = s.Took+o.Took, s.Done+o.Done, s.Simulated+o.Simulated
	if o.Started.Before(s.Started) {
		s.Started = o.Started
	}
}

// Tally is that of a scenario with a guard; nil where that is not swept.
func (s *Sweep) Tally(scenario, guard string) *Tally {
	i := slices.IndexFunc(s.Tallies, func(t *Tally) bool { return t.Scenario == scenario && t.Guard == guard })
	if i < 0 {
		return nil
	}
	return s.Tallies[i]
}

// Judge works out the exit code, and says what is not as expected.
func (s *Sweep) Judge() []error {
	code := results.ExitExpected
	var why []error
	for _, t := range s.Tallies {
		if t.Failed > 0 || len(t.Unstable) > 0 {
			code = results.Worse(code, results.ExitHarness)
		}
		if t.Inconclusive > 0 && t.Expect.Outcome != string(checker.Inconclusive) {
			code = results.Worse(code, results.ExitInconclusive)
		}
		for _, d := range s.Differences(t) {
			code = results.Worse(code, results.ExitOf(d.Kind))
			why = append(why, fmt.Errorf("NOT AS EXPECTED: %s guard %s: %s", t.Scenario, t.Guard, d.Text))
		}
	}
	if s.Done < s.Planned {
		code = results.Worse(code, results.ExitInconclusive)
	}
	s.ExitCode = code
	return why
}

// Save writes the sweep into dir.
func (s *Sweep) Save(dir string) error {
	s.Format, s.Version = SweepFormat, SweepVersion
	return results.Save(dir, results.SweepFile, s)
}

// OpenSweep reads the sweep in dir. The error is a *results.FileError, or of the
// file system.
func OpenSweep(dir string) (*Sweep, error) {
	var s Sweep
	if err := results.Load(dir, results.SweepFile, &s); err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) error {
		return &results.FileError{Path: filepath.Join(dir, results.SweepFile), Err: fmt.Errorf(format, args...)}
	}
	switch {
	case s.Format != SweepFormat:
		return nil, wrong("format %q, expected %s", s.Format, SweepFormat)
	case s.Version < 1 || s.Version > SweepVersion:
		return nil, wrong("version %d, this program reads up to %d", s.Version, SweepVersion)
	}
	done := 0
	for i, t := range s.Tallies {
		if t == nil {
			return nil, wrong("tallies[%d] is null", i)
		}
		for kind, k := range t.Kinds {
			if k == nil || k.Kind != kind {
				return nil, wrong("tallies[%d]: kind %q is not what it is called", i, kind)
			}
		}
		done += t.Seeds
	}
	if done != s.Done {
		return nil, wrong("%d runs are done, but its tallies have %d", s.Done, done)
	}
	return &s, nil
}
