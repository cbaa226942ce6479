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
	"strconv"
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
	m, sc, err := results.Repeatable(dir)
	if errors.Is(err, os.ErrNotExist) && results.Regular(filepath.Join(dir, results.ManifestFile)) != nil {
		return nil, fmt.Errorf("%s: no run directory (no %s)", dir, results.ManifestFile)
	}
	if err != nil {
		return nil, err
	}
	return &savedRun{dir: dir, manifest: *m, scenario: sc}, nil
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
		return s.compareBytes(out, was, now.Bytes())
	}
	return s.compareVerdicts(out, v)
}

// compareBytes says whether two histories are the same, byte for byte.
func (s *savedRun) compareBytes(out io.Writer, was, now []byte) error {
	line, x, y := firstDifference(was, now)
	if line == 0 {
		fmt.Fprintf(out, "the history is identical: %d lines, %d bytes\n", bytes.Count(now, []byte("\n")), len(now))
		return nil
	}
	fmt.Fprintf(out, "the history differs from line %d on:\n  saved: %s\n  now:   %s\n", line, x, y)
	reason := "the saved files were changed, or by another version of the program or a library, or this is a bug of the simulation"
	if unlike := s.manifest.Machine.Unlike(results.ThisMachine("")); len(unlike) > 0 {
		reason += " (it was saved with " + strings.Join(unlike, "; ") + ")"
	}
	return harness(errors.New("not identical: " + reason))
}

// firstDifference is the first line in which two texts differ, from 1, and how each
// has it; 0 where they are the same. Line ends are of the line: one that is missing
// at the end of a file is a difference, too.
func firstDifference(was, now []byte) (line int, x, y string) {
	if bytes.Equal(was, now) {
		return 0, "", ""
	}
	a, b := slices.Collect(bytes.Lines(was)), slices.Collect(bytes.Lines(now))
	i := 0
	for i < min(len(a), len(b)) && bytes.Equal(a[i], b[i]) {
		i++
	}
	return i + 1, tellLine(a, i), tellLine(b, i)
}

// tellLine shows a line, with what cannot be seen in it written as in Go, and says
// where there is nothing to show.
func tellLine(lines [][]byte, i int) string {
	if i >= len(lines) {
		return "(no more lines)"
	}
	text, ended := strings.CutSuffix(string(lines[i]), "\n")
	if report.Clean(text) != text {
		text = strconv.Quote(text)
	}
	switch {
	case text == "":
		return "(an empty line)"
	case !ended:
		return text + " (without a line end)"
	}
	return text
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
