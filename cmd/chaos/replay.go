package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockchaos/checker"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
)

func replayCommand() *cobra.Command {
	var far remoteFlags
	cmd := &cobra.Command{
		Use:   "replay run-directory",
		Short: "Run a saved run again: same scenario, seed and options; says whether the history is identical",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			saved, err := open(args[0])
			if err != nil {
				return usage(err)
			}
			if err := far.check(saved.manifest.World); err != nil {
				return usage(err)
			}
			ctx, out := cmd.Context(), cmd.OutOrStdout()
			if saved.manifest.World == scenario.Simulation {
				simulate(ctx, func(bubble func(func())) int {
					return finish(saved.again(out, func(r runner.Run, w io.Writer) (err error) {
						bubble(func() { err = r.Do(context.Background(), simWorld{}, w) })
						return err
					}))
				})
			}
			machine, err := local.Open(ctx)
			if err != nil {
				return harness(err)
			}
			defer machine.Close()
			var world runner.World = localWorld{machine}
			end := func() error { return nil }
			if saved.manifest.World == scenario.Remote {
				fleet, err := far.open(ctx, machine)
				if err != nil {
					return err
				}
				if err := errors.Join(fleet.Lacks(specOf(saved.scenario)), fleet.Refuses(saved.scenario, specOf(saved.scenario))); err != nil {
					return usage(errors.Join(err, fleet.Close()))
				}
				world, end = remoteWorld{fleet}, fleet.Close
			}
			err = saved.again(out, func(r runner.Run, w io.Writer) error { return r.Do(ctx, world, w) })
			return ended(err, end())
		},
	}
	far.add(cmd.Flags())
	return cmd
}

// savedRun is a run directory, read back.
type savedRun struct {
	dir      string
	manifest results.Manifest
	scenario *scenario.Scenario
}

// open reads a run directory, or the one run that lies below a directory.
func open(dir string) (*savedRun, error) {
	if runs, err := results.Runs(dir); err == nil {
		if len(runs) > 1 {
			return nil, fmt.Errorf("%s: %d runs in there, name one of them:\n%s", dir, len(runs), strings.Join(runs, "\n"))
		}
		dir = runs[0]
	}
	s := &savedRun{dir: dir}
	if err := results.Load(dir, results.ManifestFile, &s.manifest); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: no run directory (no %s)", dir, results.ManifestFile)
		}
		return nil, err
	}
	var err error
	s.scenario, err = scenario.Load(filepath.Join(dir, results.ScenarioFile))
	switch {
	case err != nil:
		return nil, err
	case !slices.Contains(s.scenario.Guards, s.manifest.Guard):
		return nil, fmt.Errorf("%s: the guard is %q, and its scenario has %s",
			filepath.Join(dir, results.ManifestFile), s.manifest.Guard, strings.Join(s.scenario.Guards, ", "))
	case s.manifest.Control:
		s.scenario = s.scenario.WithoutFaults()
	}
	return s, nil
}

// again runs it again and compares.
func (s *savedRun) again(out io.Writer, do func(runner.Run, io.Writer) error) error {
	m := s.manifest
	was, err := os.ReadFile(filepath.Join(s.dir, results.HistoryFile))
	if err != nil {
		return usage(err)
	}
	logs, err := os.MkdirTemp("", "lockchaos-replay-*")
	if err != nil {
		return harness(err)
	}
	defer os.RemoveAll(logs)
	var now bytes.Buffer
	h := &history.History{}
	dir, err := os.Getwd()
	if err != nil {
		return harness(err)
	}
	r := runner.Run{Name: m.Key.String(), World: m.World, Scenario: s.scenario, Guard: m.Guard, Seed: m.Seed, Dir: dir, Logs: logs, Keep: h}
	if err := do(r, &now); err != nil {
		return harness(err)
	}
	v, err := checker.Judge(h)
	if err != nil {
		return harness(err)
	}
	fmt.Fprintf(out, "%s on %s, seed %d: %s\n", m.Key, m.World, m.Seed, v.Outcome)
	if f := report.Story(v); f != nil {
		fmt.Fprintf(out, "  %s\n", report.Clean(f.Words))
	}
	if m.World == scenario.Simulation {
		return compareBytes(out, was, now.Bytes())
	}
	return s.compareVerdicts(out, v)
}

// compareBytes says whether two histories are the same, byte for byte.
func compareBytes(out io.Writer, was, now []byte) error {
	if bytes.Equal(was, now) {
		fmt.Fprintf(out, "the history is identical: %d lines, %d bytes\n", bytes.Count(now, []byte("\n")), len(now))
		return nil
	}
	a, b := bytes.Split(was, []byte("\n")), bytes.Split(now, []byte("\n"))
	for i := range max(len(a), len(b)) {
		var x, y []byte
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if !bytes.Equal(x, y) {
			fmt.Fprintf(out, "the history differs from line %d on:\n  saved: %s\n  now:   %s\n", i+1, report.Clean(string(x)), report.Clean(string(y)))
			break
		}
	}
	return harness(errors.New("not identical: the saved files were changed, or by another version of the program or a library, or this is a bug of the simulation"))
}

// compareVerdicts is for real servers, where no two histories are the same.
func (s *savedRun) compareVerdicts(out io.Writer, now *checker.Verdict) error {
	var a results.Assessment
	if err := results.Load(s.dir, results.VerdictFile, &a); err != nil || a.Verdict == nil {
		return usage(fmt.Errorf("%s: no verdict to compare with: %w", s.dir, err))
	}
	if a.Verdict.Outcome != now.Outcome {
		fmt.Fprintf(out, "the saved run was %s\n", a.Verdict.Outcome)
		return &exit{code: results.ExitUnexpected}
	}
	fmt.Fprintln(out, "the same outcome as the saved run; on real servers no two histories are identical")
	return nil
}
