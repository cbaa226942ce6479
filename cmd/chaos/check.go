package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/report"
	"lockchaos/results"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check run-directory | history.jsonl ...",
		Short: "Judge saved histories again, offline",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []*results.Assessment
			var errs error
			for _, arg := range args {
				as, err := check(cmd.Context(), arg)
				all = append(all, as...)
				errs = errors.Join(errs, err)
				if cmd.Context().Err() != nil {
					break
				}
			}
			if err := results.SettleAll(all); err != nil {
				errs = errors.Join(errs, harness(err))
			}
			width, _ := terminal(cmd.OutOrStdout())
			if len(all) > 0 {
				if err := report.Terminal(cmd.OutOrStdout(), all, "", width); err != nil {
					return harness(err)
				}
			}
			if errs != nil {
				return errs
			}
			return outcome(all)
		},
	}
}

// check judges all runs at or below a path, or one bare history.
func check(ctx context.Context, path string) ([]*results.Assessment, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(err)
	}
	switch m := info.Mode(); {
	case m.IsDir():
	case !m.IsRegular():
		return nil, usage(fmt.Errorf("%s: neither a run directory nor a history file", path))
	case !hasManifest(path):
		return bare(ctx, path)
	default:
		path = filepath.Dir(path)
	}
	dirs, err := results.Runs(path)
	if err != nil {
		return nil, usage(err)
	}
	var all []*results.Assessment
	var errs error
	for i, dir := range dirs {
		if ctx.Err() != nil {
			return all, fmt.Errorf("%w: %d of %d runs judged", context.Cause(ctx), i, len(dirs))
		}
		a, err := results.JudgeContext(ctx, dir)
		if a != nil {
			all = append(all, a)
		}
		if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) {
			errs = errors.Join(errs, unreadable(err))
		}
	}
	return all, errors.Join(errs, context.Cause(ctx))
}

// hasManifest tells whether a file is the history of a run directory.
func hasManifest(path string) bool {
	_, err := os.Stat(filepath.Join(filepath.Dir(path), results.ManifestFile))
	return err == nil && filepath.Base(path) == results.HistoryFile
}

// unreadable says whose fault it is that a run cannot be judged.
func unreadable(err error) error {
	var line *history.LineError
	var file *results.FileError
	switch {
	case errors.As(err, &line), errors.As(err, &file):
		return usage(err)
	case err != nil:
		return harness(err)
	}
	return nil
}

// bare judges a history without a manifest: nothing is expected of it.
func bare(ctx context.Context, path string) ([]*results.Assessment, error) {
	h, err := history.Open(path)
	if err != nil {
		return nil, usage(err)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	v, err := checker.Judge(h)
	if err != nil {
		return nil, harness(fmt.Errorf("%s: %w", path, err))
	}
	return []*results.Assessment{{
		Key:   results.Key{Scenario: h.Header.Scenario, Guard: h.Header.Guard, Trial: 1},
		World: h.Header.World, System: h.Header.System, AsExpected: true, Verdict: v,
		Repeat: "unknown: a history without its manifest",
	}}, nil
}
