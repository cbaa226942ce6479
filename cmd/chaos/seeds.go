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
func seedRange(s string) (first, last int64, err error) {
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		to = from
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || first < 0 || last < first || last-first >= mostSeeds {
		return 0, 0, fmt.Errorf("--seeds %q: expected a range like 1-2000, of at most %d seeds", s, mostSeeds)
	}
	return first, last, nil
}

// shard runs every n-th seed of the range in this process, and writes a line of
// JSON for each. It is what a child of sweep does. It does not return.
func (f runFlags) shard(list []*scenario.Scenario, first, last int64, out io.Writer) {
	sim.Main(func(bubble func(func())) int {
		w := bufio.NewWriter(out)
		enc := json.NewEncoder(w)
		for seed := first + int64(f.part); seed <= last; seed += int64(f.parts) {
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

// sweep runs a range of seeds in one single-threaded child a processor: within
// one run there is little to do at the same time, and waking another thread for
// it costs more than it brings.
func (f runFlags) sweep(ctx context.Context, args []string, list []*scenario.Scenario, first, last int64, out io.Writer) error {
	runs := 0
	for _, s := range list {
		runs += len(f.guardsOf(s))
	}
	if runs == 0 {
		return usage(runner.ErrNothing)
	}
	start := time.Now()
	width, live := terminal(out)
	progress := report.NewSweep(out, live, width, runs*int(last-first+1))
	seeds := make(chan runner.Seed)
	var wg sync.WaitGroup
	errs := make([]error, f.jobs)
	for part := range f.jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			errs[part] = f.child(ctx, args, part, seeds)
		}()
	}
	go func() {
		wg.Wait()
		close(seeds)
	}()
	for s := range seeds {
		progress.Add(s)
	}
	progress.Done(time.Since(start))
	if err := errors.Join(errs...); err != nil {
		if ctx.Err() != nil {
			return harness(context.Cause(ctx))
		}
		return harness(err)
	}
	return judgeSweep(list, progress.Tallies())
}

// judgeSweep turns a sweep into the exit code: what a scenario expects holds
// for each of its seeds.
func judgeSweep(list []*scenario.Scenario, tallies map[string]*runner.Tally) error {
	code := results.ExitExpected
	var why []error
	for _, s := range list {
		for _, g := range s.Guards {
			e := s.Expect[g]
			t := tallies[s.Name+" guard "+g]
			if t == nil {
				continue
			}
			if t.Failed > 0 || len(t.Unstable) > 0 {
				code = results.Worse(code, results.ExitHarness)
			}
			if t.Inconclusive > 0 {
				code = results.Worse(code, results.ExitInconclusive)
			}
			for _, text := range t.Unexpected(e) {
				code = results.Worse(code, results.ExitUnexpected)
				why = append(why, fmt.Errorf("NOT AS EXPECTED: %s guard %s: %s", s.Name, g, text))
			}
		}
	}
	if code == results.ExitExpected {
		return nil
	}
	return &exit{code: code, err: errors.Join(why...)}
}

// child runs one part of the seeds in a process of its own.
func (f runFlags) child(ctx context.Context, args []string, part int, seeds chan<- runner.Seed) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	argv := append([]string{"run", "--on", scenario.Simulation, "--seeds", f.seeds,
		"--part", strconv.Itoa(part), "--parts", strconv.Itoa(f.jobs)}, args...)
	for _, g := range f.guards {
		argv = append(argv, "--guard", g)
	}
	cmd := exec.CommandContext(ctx, self, argv...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
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
