package runner

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/checker"
	"lockchaos/scenario"
)

// Shrinker looks for the smallest schedule that still gives one finding, by
// running ever smaller ones in the simulation. Each is run as its own file gives it,
// so that none is tried that could not be written down.
type Shrinker struct {
	Bubble func(func())
	World  World
	Guard  string
	// Seed is that of the run at first. A smaller schedule shifts every later draw,
	// so that what it found is found at other draws or not at all: each is tried
	// with Seeds seeds.
	Seed   int64
	Seeds  int
	Kind   string // of the finding, with a cause or with any: double-grant/state-loss, double-grant
	Budget int    // most runs
	// Tried is told after each schedule that was tried how many runs there have
	// been, and the smallest so far.
	Tried func(runs int, best *scenario.Scenario)

	ctx context.Context
	// had are the safety findings of the run at first: what gives another has gone
	// wrong for another reason, even where it ends in the same damage.
	had   map[string]bool
	when  time.Duration // the finding came in that run
	vague bool          // it was inconclusive to begin with
	seed  int64
	last  Seed
	// failed are the files that none of the seeds gave the finding with: after a
	// change that is kept, many of the same are come to again.
	failed map[[sha256.Size]byte]bool
	best   *scenario.Scenario // of found

	mu    sync.Mutex
	runs  int
	found Shrunk
}

// Shrunk is the smallest schedule that was found.
type Shrunk struct {
	// Scenario is nil where nothing that could be taken away was found.
	Scenario *scenario.Scenario
	Seed     int64
	Runs     int

	guard, kind string
	gives       Seed
}

// ErrNotThere is returned where the schedule does not give the finding at all.
var ErrNotThere = errors.New("the run does not give this finding")

// Shrink looks until nothing smaller is found, or the runs are used up, or ctx is
// over, whose cause it then returns. Found has what it came to.
func (k *Shrinker) Shrink(ctx context.Context, s *scenario.Scenario) error {
	k.ctx, k.seed, k.vague, k.failed = ctx, k.Seed, true, map[[sha256.Size]byte]bool{}
	first, err := k.named(s)
	if err != nil {
		return err
	}
	if !k.givesWith(first, k.Seed) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %s", ErrNotThere, k.Kind)
	}
	k.vague, k.had = k.last.Outcome == checker.Inconclusive, safety(k.last)
	k.when = k.last.Findings[slices.IndexFunc(k.last.Findings, k.wanted)].at
	k.best = first
	k.oneFault()
	k.smallest()
	k.rounder()
	k.plainSeed()
	return context.Cause(ctx)
}

// Found is the smallest schedule so far. It may be asked while Shrink is at work.
func (k *Shrinker) Found() Shrunk {
	k.mu.Lock()
	defer k.mu.Unlock()
	f := k.found
	f.Runs, f.guard, f.kind = k.runs, k.Guard, k.Kind
	return f
}

// File is the schedule as a file of its own that expects what was seen of it, so
// that it is as expected when it is run by itself.
func (f Shrunk) File() (*scenario.Scenario, error) {
	e := scenario.Expect{Outcome: string(f.gives.Outcome)}
	for _, finding := range f.gives.Findings {
		name := finding.Kind
		if scenario.CheckFinding(name) != nil { // no cause can be expected of it
			name, _, _ = strings.Cut(name, "/")
		}
		if !slices.Contains(e.Findings, name) {
			e.Findings = append(e.Findings, name)
		}
	}
	return f.Scenario.Alone(f.guard, e, fmt.Sprintf("shrunk for %s; chaos run FILE --on sim --seed %d", f.kind, f.Seed))
}

// shrunkSuffix is what a shrunk scenario is called beside the one that it is made of.
const shrunkSuffix = "-shrunk"

// named is the file to begin with. It has a name of its own, or a report would put
// it in one column with what it is made of.
func (k *Shrinker) named(s *scenario.Scenario) (*scenario.Scenario, error) {
	c := *s
	if !strings.HasSuffix(s.Name, shrunkSuffix) {
		c.Name = s.Name + shrunkSuffix
		c.About = fmt.Sprintf("what is left of %s for %s", s.Name, k.Kind)
	}
	return k.file(c)
}

// file is a scenario as its own file gives it. The error says why no such file can be.
func (k *Shrinker) file(s scenario.Scenario) (*scenario.Scenario, error) {
	return s.Alone(k.Guard, scenario.Expect{Outcome: scenario.AnyOutcome}, "tried")
}

// over tells that no more runs are to be done.
func (k *Shrinker) over() bool { return k.runs >= k.Budget || k.ctx.Err() != nil }

// gives runs a scenario and tells whether it gives the finding: with the seed
// that gave it last, or with one of the first few.
func (k *Shrinker) gives(s *scenario.Scenario) bool {
	sum := sha256.Sum256(s.Source)
	if k.failed[sum] {
		return false
	}
	if k.givesWith(s, k.seed) {
		return true
	}
	for seed := range int64(k.Seeds - 1) {
		if seed+1 != k.seed && k.givesWith(s, seed+1) {
			k.seed = seed + 1
			return true
		}
	}
	if !k.over() {
		k.failed[sum] = true
	}
	return false
}

func (k *Shrinker) givesWith(s *scenario.Scenario, seed int64) bool {
	if k.over() {
		return false
	}
	k.last = runSeed(k.Bubble, k.World, s, k.Guard, seed)
	k.mu.Lock()
	k.runs++
	k.mu.Unlock()
	if k.last.Outcome == checker.Inconclusive && !k.vague {
		return false // what is left proves nothing
	}
	return k.same(k.last)
}

// same tells that a run gives the finding, and no fault that the first one had not.
func (k *Shrinker) same(s Seed) bool {
	there := slices.ContainsFunc(s.Findings, k.wanted)
	if k.had == nil { // it is the first
		return there
	}
	for kind := range safety(s) {
		there = there && k.had[kind]
	}
	return there
}

// wanted tells that a finding is of the kind that is looked for.
func (k *Shrinker) wanted(f SeedFinding) bool { return k.Kind == f.Kind || k.Kind == id(f) }

func id(f SeedFinding) string {
	name, _, _ := strings.Cut(f.Kind, "/")
	return name
}

// safety are the kinds of safety finding of a run, with their causes.
func safety(s Seed) map[string]bool {
	kinds := map[string]bool{}
	for _, f := range s.Findings {
		if checker.Safety(id(f)) {
			kinds[f.Kind] = true
		}
	}
	return kinds
}

// keep takes a smaller scenario if a file can hold it and it still gives the finding.
func (k *Shrinker) keep(s scenario.Scenario) bool {
	if k.over() {
		return false
	}
	c, err := k.file(s)
	smaller := err == nil && k.gives(c)
	if smaller {
		k.take(c)
	}
	if k.Tried != nil {
		k.Tried(k.runs, k.best)
	}
	return smaller
}

// take makes what was run last the smallest so far.
func (k *Shrinker) take(s *scenario.Scenario) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.best = s
	k.found = Shrunk{Scenario: s, Seed: k.last.Seed, gives: k.last}
}
