package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

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
		Args:  cobra.ExactArgs(1),
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
			simulate(cmd.Context(), func(bubble func(func())) int {
				k := &runner.Shrinker{Bubble: bubble, World: simWorld{}, Guard: saved.manifest.Guard,
					Seed: saved.manifest.Seed, Seeds: seeds, Kind: kind, Budget: budget}
				return finish(saved.shrink(k, cmd.OutOrStdout()))
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

func (s *savedRun) shrink(k *runner.Shrinker, out io.Writer) error {
	_, live := terminal(out)
	progress := report.NewShrinking(out, live, k.Kind, s.scenario)
	k.Tried = progress.Tried
	small, runs, err := k.Shrink(s.scenario)
	progress.Clear()
	if err != nil {
		return usage(err)
	}
	if small == s.scenario {
		fmt.Fprintf(out, "%s: nothing that could be taken away was found in %d runs\n", k.Kind, runs)
		return nil
	}
	e := scenario.Expect{Outcome: scenario.AnyOutcome, Findings: []string{k.Kind}}
	small, err = small.Alone(k.Guard, e, fmt.Sprintf("shrunk for %s; chaos run FILE --on sim --seed %d", k.Kind, k.Seed))
	if err != nil {
		return harness(err)
	}
	if err := results.SaveBytes(s.dir, shrunkFile, small.Source); err != nil {
		return harness(err)
	}
	path := filepath.Join(s.dir, shrunkFile)
	if runs >= k.Budget {
		fmt.Fprintf(out, "stopped at the limit of %d runs; --runs allows more\n", k.Budget)
	}
	fmt.Fprintf(out, "%s: %d of %d faults and %d of %d hosts are left after %d runs\n\n%s\nrepeat: ./chaos run %s --on sim --seed %d\n",
		k.Kind, len(small.Faults), len(s.scenario.Faults), small.Hosts, s.scenario.Hosts, runs,
		strings.TrimRight(report.Clean(string(small.Source)), "\n"), path, k.Seed)
	return nil
}
