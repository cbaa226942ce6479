package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/locks"
	"lockchaos/results"
	"lockchaos/scenario"
)

// Batch is one call of chaos run: many runs, some side by side.
type Batch struct {
	World     World
	WorldName string
	// Around runs one run; where it is nil, the run is just done. The simulation
	// does each in a bubble of virtual time, which no context from outside may enter.
	Around func(func())
	// WorldFlags are what the command that repeats a run says beside the world's name.
	WorldFlags string
	Scenarios  []*scenario.Scenario
	Guards     []string // only these; all of a scenario where empty
	// Suite is the name of what the scenarios are of, and Canary its run that must
	// be violated: with its only guard, and first. Absent outside a suite.
	Suite  string
	Canary *scenario.Scenario
	// TrialsOf are the trials of some scenarios by name, in place of Trials.
	TrialsOf map[string]int
	Trials   int
	// Shard is the part of all runs that is done; nil for all. Each shard does the
	// canary: it must prove for itself that it can see a violation.
	Shard    *results.Shard
	Jobs     int // runs at a time
	Seed     int64
	Root     string // results/runs
	Machine  results.Machine
	Progress Progress
}

// Progress is told of a batch as it goes. Its methods may be called from many
// goroutines.
type Progress interface {
	Planned(runs int)
	Started(k results.Key)
	Finished(a *results.Assessment, took time.Duration)
	// Dropped says that a run was broken off by an interrupt.
	Dropped(k results.Key)
}

// planned is one run of a batch.
type planned struct {
	key      results.Key
	scenario *scenario.Scenario // as it is run: a control has no faults
	from     *scenario.Scenario // as it was read
	source   []byte             // what is saved of it: the drawn one of a hammer
	canary   bool
}

// ErrNothing is returned where no run is left to do.
var ErrNothing = errors.New("nothing to run: no scenario has such a guard and is for this world")

// plan lists all runs: the canary, then for each scenario its guards and its
// control, each in all its trials.
func (b Batch) plan() []planned {
	var plan []planned
	for _, s := range b.Scenarios {
		guards := b.GuardsOf(s)
		for _, g := range guards {
			for t := range b.trials(s) {
				plan = append(plan, planned{key: results.Key{Scenario: s.Name, Guard: g, Trial: t + 1}, scenario: s, from: s, source: s.Source})
			}
		}
		if s.Hammer != nil || len(guards) == 0 || s.Control == scenario.NoControl || len(s.Faults)+len(s.Order) == 0 {
			continue
		}
		for t := range b.trials(s) {
			k := results.Key{Scenario: s.Name, Guard: guards[0], Control: true, Trial: t + 1}
			plan = append(plan, planned{key: k, scenario: s.WithoutFaults(), from: s, source: s.Source})
		}
	}
	if c := b.Canary; c != nil && len(plan) > 0 {
		k := results.Key{Scenario: c.Name, Guard: c.Guards[0], Trial: 1}
		plan = slices.DeleteFunc(plan, func(p planned) bool { return p.key == k }) // it is that one
		plan = slices.Insert(plan, 0, planned{key: k, scenario: c, from: c, source: c.Source, canary: true})
	}
	return plan
}

func (b Batch) trials(s *scenario.Scenario) int {
	if n := b.TrialsOf[s.Name]; n > 0 {
		return n
	}
	return b.Trials
}

// LeftOut lists the scenarios that are not for this world.
func (b Batch) LeftOut() []string {
	var names []string
	for _, s := range b.Scenarios {
		if !s.RunsOn(b.WorldName) {
			names = append(names, s.Name)
		}
	}
	return names
}

// GuardsOf lists the guards of a scenario that are asked for: none where it is
// not for this world.
func (b Batch) GuardsOf(s *scenario.Scenario) []string {
	if !s.RunsOn(b.WorldName) {
		return nil
	}
	if len(b.Guards) == 0 {
		return s.Guards
	}
	var list []string
	for _, g := range s.Guards {
		for _, want := range b.Guards {
			if g == want {
				list = append(list, g)
			}
		}
	}
	return list
}

// Cut is the error of a batch that ctx has ended when so many of its runs were done.
func (b Batch) Cut(ctx context.Context, done int) error {
	whole := b.plan()
	if b.Shard != nil {
		whole = results.Deal(*b.Shard, whole, func(p planned) bool { return p.canary })
	}
	return cutShort(ctx, done, len(whole))
}

func cutShort(ctx context.Context, done, planned int) error {
	return fmt.Errorf("%w: %d of %d runs done", context.Cause(ctx), done, planned)
}

// Run does all runs and returns what came out of each, in the order of the
// plan, and the batch's directory. A run that fails is an assessment with an
// error; the batch's own error means that it could not be carried through.
func (b Batch) Run(ctx context.Context) (string, []*results.Assessment, error) {
	whole := b.plan()
	if len(whole) == 0 {
		return "", nil, ErrNothing
	}
	dir, err := results.NewBatch(b.Root, time.Now())
	if err != nil {
		return "", nil, err
	}
	plan, err := b.deal(dir, whole)
	if err != nil {
		return dir, nil, err
	}
	b.Progress.Planned(len(plan))
	out := make([]*results.Assessment, len(plan))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(b.Jobs, len(plan)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				b.Progress.Started(plan[i].key)
				start := time.Now()
				if out[i] = b.one(ctx, dir, plan[i]); out[i] == nil {
					b.Progress.Dropped(plan[i].key)
					continue
				}
				b.Progress.Finished(out[i], time.Since(start))
			}
		}()
	}
	for i := range plan {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	done := out[:0]
	for _, a := range out {
		if a != nil {
			done = append(done, a)
		}
	}
	var cut error
	if ctx.Err() != nil {
		cut = cutShort(ctx, len(done), len(plan))
	}
	if len(done) < len(plan) { // what is saved must not look like the whole
		results.Incomplete(done, cut.Error())
	}
	err = results.SettleBatch(done)
	sum := results.Summarise(b.Suite, b.WorldName, b.LeftOut(), done)
	if sum.Shard = b.Shard; cut != nil {
		sum.ExitCode = results.ExitInterrupted
	}
	return dir, done, errors.Join(cut, err, results.Save(dir, results.SummaryFile, sum))
}

// one does one run: manifest, history, manifest again, and only then the judge.
// A run that ctx has cut short gives nil: what broke in it says nothing.
func (b Batch) one(ctx context.Context, batch string, p planned) *results.Assessment {
	if ctx.Err() != nil {
		return nil
	}
	drawn, err := p.scenario.Drawn(b.seed(p.key))
	if err == nil && p.scenario.Hammer != nil {
		p.scenario, p.source = drawn, drawn.Source
	}
	fail := func(err error) *results.Assessment {
		return &results.Assessment{Key: p.key, World: b.WorldName, System: p.scenario.Lock.System, Suite: b.Suite, Canary: p.canary, Error: err.Error()}
	}
	if err != nil {
		return fail(err)
	}
	dir, err := results.Create(batch, p.key)
	if err != nil {
		return fail(err)
	}
	m, err := b.manifest(batch, p)
	if err != nil {
		return fail(err)
	}
	if err := errors.Join(
		results.SaveBytes(dir, results.ScenarioFile, p.source),
		results.Save(dir, results.ManifestFile, m),
	); err != nil {
		return fail(fmt.Errorf("write the run's files: %w", err))
	}
	for {
		runErr := b.record(ctx, dir, p)
		ended := time.Now()
		m.Ended = &ended
		if runErr != nil {
			m.Error, m.Dropped = runErr.Error(), ctx.Err() != nil
		}
		if err := results.Save(dir, results.ManifestFile, m); err != nil {
			return fail(errors.Join(runErr, err))
		}
		if runErr != nil && ctx.Err() != nil {
			return nil
		}
		a, err := results.Judge(dir)
		if a == nil {
			return fail(errors.Join(runErr, err))
		}
		if !spoilt(a) || m.Spoilt == mostSpoilt || ctx.Err() != nil {
			return a
		}
		m.Spoilt++
		spoilt := fmt.Sprintf(results.SpoiltFiles, m.Spoilt)
		if err := os.Rename(filepath.Join(dir, results.HistoryFile), filepath.Join(dir, spoilt)); err != nil {
			return fail(err)
		}
	}
}

// mostSpoilt is how often a run is done again because the machine was too busy for it.
const mostSpoilt = 2

// spoilt tells that a run is not as expected and says nothing about the lock,
// as the harness or a host stood still in it, with nothing done to it.
func spoilt(a *results.Assessment) bool {
	return !a.AsExpected && a.Error == "" && a.Verdict != nil && a.Verdict.Stalled > 0 &&
		!slices.ContainsFunc(a.Differences, func(d scenario.Difference) bool { return d.Kind != scenario.Proof })
}

// record writes the history of one run.
func (b Batch) record(ctx context.Context, dir string, p planned) (err error) {
	f, err := os.Create(filepath.Join(dir, results.HistoryFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	workDir, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	r := Run{
		Name: p.key.String(), World: b.WorldName, Scenario: p.scenario, Guard: p.key.Guard, Seed: b.seed(p.key),
		Dir: workDir, Logs: filepath.Join(dir, results.LogsDir),
	}
	if b.Around == nil {
		return r.Do(ctx, b.World, f)
	}
	b.Around(func() { err = r.Do(context.Background(), b.World, f) })
	return err
}

func (b Batch) seed(k results.Key) int64 { return b.Seed + int64(k.Trial) - 1 }

func (b Batch) manifest(batch string, p planned) (*results.Manifest, error) {
	options, err := p.scenario.JSON()
	if err != nil {
		return nil, fmt.Errorf("options of %s: %w", p.key, err)
	}
	machine := b.Machine
	if len(p.scenario.Clocks()) == 0 {
		machine.Clock = ""
	}
	return &results.Manifest{
		Version: results.ManifestVersion, Run: filepath.Join(filepath.Base(batch), p.key.Path()), Key: p.key,
		World: b.WorldName, Seed: b.seed(p.key), Started: time.Now(), Repeat: b.repeat(p),
		Suite: b.Suite, Canary: p.canary,
		System: p.scenario.Lock.System, Options: options, LockOptions: lockOptions(p.scenario),
		Expect: p.from.Expected(p.key.Guard, p.key.Control), Machine: machine,
	}, nil
}

// lockOptions are the options in effect of a built-in lock system.
func lockOptions(s *scenario.Scenario) map[string]any {
	sys, err := locks.Find(s.Lock.System)
	if err != nil { // a host of the user's own
		return nil
	}
	return s.Lock.Effective(sys)
}

// repeat is the command that does this run again.
func (b Batch) repeat(p planned) string {
	return repeat(p.from, strings.TrimSpace(b.WorldName+" "+b.WorldFlags), p.key.Guard, b.seed(p.key))
}

func repeat(s *scenario.Scenario, world, guard string, seed int64) string {
	name := s.Name
	if !strings.HasPrefix(s.File, scenario.CataloguePrefix) {
		name = s.File
	}
	cmd := fmt.Sprintf("./chaos run %s --on %s --guard %s", Quote(name), world, guard)
	if seed != DefaultSeed {
		cmd += fmt.Sprintf(" --seed %d", seed)
	}
	return cmd
}

// DefaultSeed is used where none is asked for.
const DefaultSeed = 1

// Quote makes a word safe for a shell.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
