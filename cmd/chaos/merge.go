package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
)

type mergeFlags struct {
	results      string
	mixedCommits bool
}

func mergeCommand() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:     "merge directory ...",
		Short:   "Join the shards of one call (chaos run --shard) into one result; directories may hold many shards",
		Example: "  chaos merge /results/nightly --results results/runs\n  chaos merge shard0/ shard1/ shard2/",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.merge(args, cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVar(&f.results, "results", results.DefaultRoot, "directory that the joined result is saved under")
	cmd.Flags().BoolVar(&f.mixedCommits, "mixed-commits", false, "join shards that programs of different commits have done, too; the result names them")
	return cmd
}

func (f mergeFlags) merge(paths []string, out io.Writer) error {
	found, err := results.FindShards(paths)
	if err != nil {
		return unmerged(err)
	}
	sweep := found[0].Seeds != nil
	state := results.RunsState
	if sweep {
		state = runner.SweepState
	}
	set, err := results.Together(found, f.mixedCommits, state)
	if err != nil {
		return unmerged(err)
	}
	if sweep {
		return f.sweep(set, out)
	}
	return f.runs(set, out)
}

// unmerged says whose fault it is that shards cannot be joined: what lies in a
// path that was given is the caller's.
func unmerged(err error) error {
	var file *results.FileError
	if errors.As(err, &file) {
		return usage(err)
	}
	return harness(fmt.Errorf("merge: %w", err))
}

// runs joins shards whose runs are saved one by one.
func (f mergeFlags) runs(set *results.Set, out io.Writer) error {
	dir, sum, err := set.Merge(f.results)
	if err != nil {
		return unmerged(err)
	}
	width, _ := terminal(out)
	if len(sum.Runs) > 0 {
		if err := report.Terminal(out, sum.Runs, dir, width); err != nil {
			return harness(err)
		}
		if err := renderAll(out, dir, sum.Runs); err != nil {
			return harness(err)
		}
	}
	if len(sum.LeftOut) > 0 {
		fmt.Fprintf(out, "\nLeft out, as they are not for the world %s: %s\n", sum.World, strings.Join(sum.LeftOut, ", "))
	}
	if err := report.Merged(out, sum.Merged); err != nil {
		return harness(err)
	}
	if sum.ExitCode == results.ExitExpected {
		return nil
	}
	return &exit{code: sum.ExitCode}
}

// sweep joins the shards of a sweep.
func (f mergeFlags) sweep(set *results.Set, out io.Writer) error {
	all, err := runner.MergeSweeps(set)
	if err != nil {
		return unmerged(err)
	}
	why := all.Judge()
	dir, err := set.NewBatch(f.results)
	if err != nil {
		return harness(err)
	}
	if err := saveSweep(all, dir, out); err != nil {
		return harness(fmt.Errorf("%s: %w", filepath.Join(dir, results.SweepFile), err))
	}
	return swept(all, why)
}
