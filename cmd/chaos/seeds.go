package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster/sim"
	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// mostSeeds is how many seeds one call may ask for.
const mostSeeds = 10_000_000

// seedRange reads "1-2000" or "421".
func seedRange(s string) (results.SeedRange, error) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || first < 0 || last < first || last-first >= mostSeeds {
		return results.SeedRange{}, fmt.Errorf("--seeds %q: expected a range like 1-2000, of at most %d seeds", s, mostSeeds)
	}
	return results.SeedRange{First: first, Last: last}, nil
}

// sweepPart runs the seeds of one part of the range in this process, and writes
// a line of JSON for each run. It is what a child of sweep does. It does not return.
func (f runFlags) sweepPart(list []*scenario.Scenario, seeds results.SeedRange, out io.Writer) {
	sim.Main(func(bubble func(func())) int {
		w := bufio.NewWriter(out)
		enc := json.NewEncoder(w)
		// The seed itself could not be counted past the last that there is.
		for n := int64(f.part.Index); n <= seeds.Last-seeds.First; n += int64(f.part.Of) {
			seed := seeds.First + n
			for _, s := range list {
				for _, g := range f.guardsOf(s) {
					if err := errors.Join(enc.Encode(runner.RunSeed(bubble, simWorld{}, s, g, seed)), w.Flush()); err != nil {
						return finish(harness(err)) // the parent is gone
					}
				}
			}
		}
		return results.ExitExpected
	})
}

// sweep runs a range of seeds, or a shard of it, in one single-threaded child a
// processor: within one run there is little to do at the same time, and waking
// another thread for it costs more than it brings.
func (f runFlags) sweep(ctx context.Context, args []string, found *found, seeds results.SeedRange, out io.Writer) error {
	sweep := runner.NewSweep(found.scenarios, f.guardsOf, seeds, f.part)
	if len(sweep.Tallies) == 0 {
		return usage(runner.ErrNothing)
	}
	sweep.Suite, sweep.Machine = found.suite, results.ThisMachine("simulated")
	dir, err := f.beginSweep(sweep, found.scenarios)
	if err != nil {
		return harness(err)
	}
	_, live := terminal(out)
	if f.part != nil {
		fmt.Fprintf(out, "shard %s of seeds %s: ", f.part, seeds)
	}
	progress := report.NewSweepProgress(out, live, sweep.Planned)
	err = f.children(ctx, args, sweep.Planned/len(sweep.Tallies), func(s runner.Seed) {
		sweep.Add(s)
		progress.Done(sweep.Done)
	})
	sweep.Took = time.Since(sweep.Started).Seconds()
	progress.Clear()
	why := sweep.Judge()
	if err != nil && ctx.Err() == nil {
		sweep.ExitCode = results.Worse(sweep.ExitCode, results.ExitHarness)
	}
	if serr := saveSweep(sweep, dir, out); serr != nil {
		err = errors.Join(err, serr)
	}
	switch {
	case ctx.Err() != nil:
		return harness(context.Cause(ctx))
	case err != nil:
		return harness(err)
	}
	return swept(sweep, why)
}

// beginSweep makes the directory of a sweep that is to be saved, and says there
// what it is a shard of; "" where it is not to be saved.
func (f runFlags) beginSweep(s *runner.Sweep, list []*scenario.Scenario) (dir string, err error) {
	if !f.save {
		return "", nil
	}
	if dir, err = results.NewBatch(f.results, s.Started); err != nil || f.part == nil {
		return dir, err
	}
	return dir, s.Plan(list).Save(dir)
}

// saveSweep prints what came out of a sweep, and saves it where it has a directory.
func saveSweep(s *runner.Sweep, dir string, out io.Writer) error {
	err := report.Sweep(out, s)
	if dir == "" {
		return err
	}
	if err = errors.Join(err, s.Save(dir)); err == nil {
		_, err = fmt.Fprintf(out, "results: %s\n", filepath.Join(dir, results.SweepFile))
	}
	return err
}

// swept turns a sweep that has been judged into the exit code; why says what in it
// is not as expected.
func swept(s *runner.Sweep, why []error) error {
	if s.ExitCode == results.ExitExpected {
		return nil
	}
	return &exit{code: s.ExitCode, err: errors.Join(why...)}
}

// children does the sweep in as many children as there are jobs, but at most one a
// seed, and takes in what each of their runs gave.
func (f runFlags) children(ctx context.Context, args []string, most int, take func(runner.Seed)) error {
	if f.jobs = min(f.jobs, most); f.jobs < 1 { // the shard may have no seed
		return nil
	}
	seeds := make(chan runner.Seed)
	var wg sync.WaitGroup
	errs := make([]error, f.jobs)
	for i := range f.jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[i] = f.child(ctx, args, i, seeds)
		}()
	}
	go func() {
		wg.Wait()
		close(seeds)
	}()
	for s := range seeds {
		take(s)
	}
	return errors.Join(errs...)
}

// child runs one part of the shard in a process of its own.
func (f runFlags) child(ctx context.Context, args []string, part int, seeds chan<- runner.Seed) error {
	whole := results.Shard{Of: 1}
	if f.part != nil {
		whole = *f.part
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{"run", "--on", scenario.Simulation, "--seeds", f.seeds,
		"--shard", whole.Part(part, f.jobs).String()}, args...)
	for _, g := range f.guards {
		argv = append(argv, "--guard", g)
	}
	cmd := exec.CommandContext(ctx, self, argv...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", inSimulation+"=1")
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	d := json.NewDecoder(pipe)
	for {
		var s runner.Seed
		if err = d.Decode(&s); err != nil {
			break
		}
		seeds <- s
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if werr := cmd.Wait(); werr != nil {
		err = fmt.Errorf("a part of the sweep failed: %w", werr)
	}
	return err
}
