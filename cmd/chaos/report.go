package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"lockchaos/report"
	"lockchaos/report/page"
	"lockchaos/results"
)

// rendering is one form of a report.
type rendering struct {
	format, file string
	// write renders d; base is the directory it will lie in, "" for none.
	write func(w io.Writer, d *report.Digest, base string) error
}

// renderings are all forms, with the names of their files in a batch's directory.
func renderings() []rendering {
	plain := func(f func(io.Writer, *report.Digest) error) func(io.Writer, *report.Digest, string) error {
		return func(w io.Writer, d *report.Digest, _ string) error { return f(w, d) }
	}
	return []rendering{
		{"terminal", "report.txt", func(w io.Writer, d *report.Digest, _ string) error {
			width, _ := terminal(w)
			return report.Terminal(w, d.Assessments(), "", width)
		}},
		{"html", page.File, page.Write},
		{"markdown", "report.md", plain(report.Markdown)},
		{"junit", "report.junit.xml", plain(report.JUnit)},
		{"json", "report.json", plain(report.JSON)},
	}
}

func reportCommand() *cobra.Command {
	var format, file string
	var names []string
	for _, r := range renderings() {
		names = append(names, r.format)
	}
	cmd := &cobra.Command{
		Use:     "report run-or-batch-directory ...",
		Short:   "Render saved runs or sweeps, without judging them again",
		Example: "  chaos report results/runs/20261129-201501-3f2a --format html -o report.html",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.IndexFunc(renderings(), func(r rendering) bool { return r.format == format })
			if i < 0 {
				return usage(fmt.Errorf("--format %q: expected one of %s", format, strings.Join(names, ", ")))
			}
			sweeps, err := sweepsIn(args)
			if err != nil {
				return err
			}
			if len(sweeps) > 0 {
				return reportSweeps(cmd.OutOrStdout(), sweeps, format, file)
			}
			d, err := digest(args)
			if err != nil {
				return err
			}
			r := renderings()[i]
			return render(cmd.OutOrStdout(), r, d, file)
		},
	}
	cmd.Flags().StringVar(&format, "format", "terminal", strings.Join(names, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write to (default: standard output)")
	return cmd
}

// digest reads all runs at or below the paths.
func digest(paths []string) (*report.Digest, error) {
	var runs []*results.Saved
	for _, path := range paths {
		dirs, err := results.Runs(path)
		if err != nil {
			return nil, usage(err)
		}
		for _, dir := range dirs {
			s, err := results.OpenRun(dir)
			if err != nil {
				return nil, unreadable(err)
			}
			if s.Manifest.Dropped && len(dirs) > 1 { // the others know that it is missing
				continue
			}
			runs = append(runs, s)
		}
	}
	return report.NewDigest(runs), nil
}

// render writes one form to a file, or to out where no file is named.
func render(out io.Writer, r rendering, d *report.Digest, file string) error {
	dir := "" // a page on standard output lies nowhere
	if file != "" {
		dir = filepath.Dir(file)
	}
	return save(out, file, func(w io.Writer) error { return r.write(w, d, dir) })
}

// renderAll writes every form into a batch's directory and a page into that of
// each run, and says where the page of the batch is.
func renderAll(out io.Writer, batch string, done []*results.Assessment) error {
	var runs []*results.Saved
	var errs error
	for _, a := range done {
		dir := filepath.Join(batch, a.Path())
		s, err := results.OpenRun(dir)
		if err != nil { // it failed before there was anything to open
			s = &results.Saved{Assessment: a}
			runs = append(runs, s)
			continue
		}
		runs = append(runs, s)
		one := report.NewDigest([]*results.Saved{s})
		errs = errors.Join(errs, render(nil, rendering{write: page.Write}, one, filepath.Join(dir, page.File)))
	}
	d := report.NewDigest(runs)
	for _, r := range renderings() {
		errs = errors.Join(errs, render(nil, r, d, filepath.Join(batch, r.file)))
	}
	if errs == nil {
		_, errs = fmt.Fprintf(out, "report: %s\n", filepath.Join(batch, page.File))
	}
	return errs
}

// compareFormats are the forms of a comparison, in the order of the help.
var compareFormats = []struct {
	name  string
	write func(*report.Comparison, io.Writer) error
}{
	{"terminal", (*report.Comparison).Terminal}, {"markdown", (*report.Comparison).Markdown}, {"json", (*report.Comparison).JSON},
	{"html", func(x *report.Comparison, w io.Writer) error { return page.Compare(w, x) }},
}

func compareCommand() *cobra.Command {
	var format, file string
	var names []string
	for _, f := range compareFormats {
		names = append(names, f.name)
	}
	cmd := &cobra.Command{
		Use:     "compare directory directory",
		Short:   "Hold two sets of runs, or two sweeps, against each other, as before and after an upgrade: what changed, and whether that can be chance",
		Example: "  chaos compare before/ after/ --format markdown -o compare.md",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(names, format)
			if i < 0 {
				return usage(fmt.Errorf("--format %q: expected one of %s", format, strings.Join(names, ", ")))
			}
			a, err := compared(args[0])
			if err != nil {
				return err
			}
			b, err := compared(args[1])
			if err != nil {
				return err
			}
			x := report.NewComparison(a, b)
			return save(cmd.OutOrStdout(), file, func(w io.Writer) error { return compareFormats[i].write(x, w) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "terminal", strings.Join(names, ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write to (default: standard output)")
	return cmd
}

// save writes to a file, whole or not at all, or to out where no file is named.
func save(out io.Writer, file string, write func(io.Writer) error) error {
	if file == "" {
		if err := write(out); err != nil {
			return harness(err)
		}
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return harness(fmt.Errorf("write %s: %w", file, err))
	}
	if err := results.SaveBytes(filepath.Dir(file), filepath.Base(file), b.Bytes()); err != nil {
		return harness(err)
	}
	return nil
}
