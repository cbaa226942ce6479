package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
)

// sweepsIn reads the sweeps at or below the paths. There are none where there are
// runs: sweeps that lie beside them are passed over.
func sweepsIn(paths []string) ([]*runner.Sweep, error) {
	var sweeps []*runner.Sweep
	for _, path := range paths {
		if _, err := results.Runs(path); err == nil {
			return nil, nil
		}
		dirs, err := results.Sweeps(path)
		if err != nil {
			return nil, usage(err)
		}
		for _, dir := range dirs {
			s, err := runner.OpenSweep(dir)
			if err != nil {
				return nil, unreadable(err)
			}
			sweeps = append(sweeps, s)
		}
	}
	return sweeps, nil
}

// reportSweeps writes sweeps to a file, or to out where that is "".
func reportSweeps(out io.Writer, sweeps []*runner.Sweep, format, file string) error {
	var b bytes.Buffer
	switch {
	case format == "terminal":
		for _, s := range sweeps {
			if err := report.Sweep(&b, s); err != nil {
				return harness(err)
			}
		}
	case format == "json" && len(sweeps) == 1:
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		if err := e.Encode(sweeps[0]); err != nil {
			return harness(err)
		}
	case format == "json":
		return usage(errors.New("--format json: of one sweep only"))
	default:
		return usage(fmt.Errorf("--format %q: expected terminal or json for a sweep", format))
	}
	if file == "" {
		if _, err := out.Write(b.Bytes()); err != nil {
			return harness(err)
		}
		return nil
	}
	if err := results.SaveBytes(filepath.Dir(file), filepath.Base(file), b.Bytes()); err != nil {
		return harness(err)
	}
	return nil
}

// compared reads one side of a comparison: runs, or one sweep.
func compared(path string) (*report.Digest, error) {
	sweeps, err := sweepsIn([]string{path})
	switch {
	case err != nil:
		return nil, err
	case len(sweeps) > 1:
		return nil, usage(fmt.Errorf("%s: %d sweeps in there, expected one: chaos merge joins shards", path, len(sweeps)))
	case len(sweeps) == 1:
		return report.SweepDigest(sweeps[0]), nil
	}
	return digest([]string{path})
}
