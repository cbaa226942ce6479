package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// shrunkFile is the name of the scenario that shrink writes into the run directory.
const shrunkFile = "shrunk.yaml"

func shrinkCommand() *cobra.Command {
	var kind string
	var budget, seeds int
	cmd := &cobra.Command{
		Use:   "shrink run-directory",
		Short: "Find the smallest schedule that still gives the same finding (simulated runs)",
		Long: "Takes away faults, orders, targets, hosts and time from a saved run of the simulation, as long\n" +
			"as it gives the same finding, and writes what is left as " + shrunkFile + " beside the run, with the\n" +
			"outcome and the findings that were seen of it as what it expects.\n\n" +
			"The same finding is one of the same kind, from a run without any safety finding of a kind, or\n" +
			"of a cause, that the saved run did not have: that would be another fault that ends alike.\n" +
			"Interrupted, it saves the smallest schedule so far, and ends with 130.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := open(args[0])
			if err != nil {
				return usage(err)
			}
			if saved.manifest.World != scenario.Simulation {
				return usage(fmt.Errorf("%s: a run on %s: only simulated runs can be shrunk, as only they repeat exactly", args[0], saved.manifest.World))
			}
			if budget < 1 {
				return usage(fmt.Errorf("--runs %d: expected 1 or more", budget))
			}
			if seeds < 1 {
				return usage(fmt.Errorf("--seeds %d: expected 1 or more", seeds))
			}
			if kind == "" {
				kind, err = saved.finding()
			} else if err = scenario.CheckFinding(kind); err != nil {
				err = fmt.Errorf("--finding: %w", err)
			}
			if err != nil {
				return usage(err)
			}
			k := &runner.Shrinker{World: simWorld{}, Guard: saved.manifest.Guard,
				Seed: saved.manifest.Seed, Seeds: seeds, Kind: kind, Budget: budget}
			s := &shrinking{saved: saved, k: k, out: cmd.OutOrStdout()}
			simulateUntil(cmd.Context(), s.end, func(bubble func(func())) int {
				k.Bubble = bubble
				return finish(s.do(cmd.Context()))
			})
			return nil
		},
	}
	cmd.Flags().StringVar(&kind, "finding", "", "the finding to keep, as double-grant/state-loss (default: the one that the report tells)")
	cmd.Flags().IntVar(&seeds, "seeds", 10, "with how many seeds each smaller schedule is tried")
	cmd.Flags().IntVar(&budget, "runs", 3000, "most runs")
	return cmd
}

// finding is the kind of the finding that the report tells of a saved run.
func (s *savedRun) finding() (string, error) {
	var a results.Assessment
	if err := results.Load(s.dir, results.VerdictFile, &a); err != nil {
		return "", err
	}
	if a.Verdict != nil {
		if i := a.Verdict.Told(); i >= 0 {
			return a.Verdict.Findings[i].Kind(), nil
		}
	}
	return "", fmt.Errorf("%s: there is no finding to shrink for; --finding names one", s.dir)
}

// shrinking is one call of shrink. Two may come to its end: the search, and a signal
// that has not been minded for too long, as within a long run.
type shrinking struct {
	saved    *savedRun
	k        *runner.Shrinker
	out      io.Writer
	progress atomic.Pointer[report.Shrinking]
	once     sync.Once
	err      error
}

// do looks, and then saves and tells.
func (s *shrinking) do(ctx context.Context) error {
	_, live := terminal(s.out)
	progress := report.NewShrinking(s.out, live, s.k.Kind, s.saved.scenario)
	s.progress.Store(progress)
	s.k.Tried = progress.Tried
	return s.end(s.k.Shrink(ctx, s.saved.scenario))
}

// end saves and tells what was found, once. err is why there is no more.
func (s *shrinking) end(err error) error {
	s.once.Do(func() { s.err = s.tell(s.k.Found(), err) })
	return s.err
}

func (s *shrinking) tell(f runner.Shrunk, err error) error {
	if p := s.progress.Load(); p != nil {
		p.Clear()
	}
	switch {
	case errors.Is(err, errInterrupted):
		err = fmt.Errorf("%w after %d runs", err, f.Runs)
	case err != nil:
		return usage(err)
	}
	if f.Scenario == nil {
		fmt.Fprintf(s.out, "%s: nothing that could be taken away was found in %d runs\n", s.k.Kind, f.Runs)
		return err
	}
	return errors.Join(err, s.save(f, err != nil))
}

// save writes the schedule that was found, and shows it. It is cut where it was
// broken off.
func (s *shrinking) save(f runner.Shrunk, cut bool) error {
	small, err := f.File()
	if err != nil {
		return harness(err)
	}
	if err := results.SaveBytes(s.saved.dir, shrunkFile, small.Source); err != nil {
		return harness(err)
	}
	switch {
	case cut:
		fmt.Fprintf(s.out, "broken off after %d runs: what is left may not be the smallest\n", f.Runs)
	case f.Runs >= s.k.Budget:
		fmt.Fprintf(s.out, "stopped at the limit of %d runs; --runs allows more\n", s.k.Budget)
	}
	path := filepath.Join(s.saved.dir, shrunkFile)
	was := s.saved.scenario
	fmt.Fprintf(s.out, "%s: %d of %d faults and %d of %d hosts are left after %d runs\n\n%s\nrepeat: ./chaos run %s --on sim --seed %d\n",
		s.k.Kind, len(small.Faults), len(was.Faults), small.Hosts, was.Hosts, f.Runs,
		strings.TrimRight(report.Clean(string(small.Source)), "\n"), runner.Quote(path), f.Seed)
	return nil
}
