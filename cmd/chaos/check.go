package main

import (
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
				as, err := check(arg)
				all = append(all, as...)
				errs = errors.Join(errs, err)
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
func check(path string) ([]*results.Assessment, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(err)
	}
	if !info.IsDir() && filepath.Base(path) != results.HistoryFile {
		return bare(path)
	}
	if !info.IsDir() {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), results.ManifestFile)); err != nil {
			return bare(path)
		}
		path = filepath.Dir(path)
	}
	dirs, err := results.Runs(path)
	if err != nil {
		return nil, usage(err)
	}
	var all []*results.Assessment
	var errs error
	for _, dir := range dirs {
		a, err := results.Judge(dir)
		if a != nil {
			all = append(all, a)
		}
		var broken *history.LineError
		switch {
		case errors.As(err, &broken):
			errs = errors.Join(errs, usage(err))
		case err != nil:
			errs = errors.Join(errs, harness(err))
		}
	}
	return all, errs
}

// bare judges a history without a manifest: nothing is expected of it.
func bare(path string) ([]*results.Assessment, error) {
	h, err := history.Open(path)
	if err != nil {
		return nil, usage(err)
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
