package results

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/scenario"
)

// Assessment is a verdict, held against what the scenario expects.
type Assessment struct {
	Run string `json:"run,omitempty"`
	Key
	World  string `json:"world"`
	System string `json:"system"`
	Repeat string `json:"repeat,omitempty"`

	AsExpected bool `json:"as_expected"`
	// Differences say in what the verdict is not as expected.
	Differences []scenario.Difference `json:"differences,omitempty"`
	// Error is set where there is no verdict: the harness failed.
	Error   string           `json:"error,omitempty"`
	Verdict *checker.Verdict `json:"verdict,omitempty"`

	// Dir is where the run lies.
	Dir string `json:"-"`
}

// Judge judges the saved history of a run directory and saves the verdict.
// The error is a *history.LineError, a *checker.DisagreementError, or of the
// file system; it is then in the assessment too.
func Judge(dir string) (*Assessment, error) {
	var m Manifest
	if err := Load(dir, ManifestFile, &m); err != nil {
		return nil, err
	}
	a := &Assessment{Run: m.Run, Key: m.Key, World: m.World, System: m.System, Repeat: m.Repeat, Dir: dir}
	if m.Error != "" {
		a.Error = m.Error
	}
	h, err := history.Open(filepath.Join(dir, HistoryFile))
	if errors.Is(err, fs.ErrNotExist) && m.Error != "" {
		return a, errors.New(m.Error) // it failed before there was anything to record
	}
	if err == nil {
		a.Verdict, err = checker.Judge(h)
	}
	if err != nil {
		a.Error = err.Error()
		return a, err
	}
	a.Differences = m.Expect.Against(a.Verdict)
	a.AsExpected = len(a.Differences) == 0 && a.Error == ""
	if err := Save(dir, VerdictFile, a); err != nil {
		return a, fmt.Errorf("save the verdict: %w", err)
	}
	return a, nil
}

// The exit codes.
const (
	ExitExpected     = 0
	ExitUnexpected   = 1
	ExitInconclusive = 2
	ExitAvailability = 3
	ExitUsage        = 64
	ExitHarness      = 70
	ExitInterrupted  = 130
)

// ExitCode is the code of one run.
func (a *Assessment) ExitCode() int {
	code := ExitExpected
	if a.Error != "" {
		code = ExitHarness
	}
	for _, d := range a.Differences {
		code = Worse(code, map[scenario.DifferenceKind]int{
			scenario.Safety: ExitUnexpected, scenario.Proof: ExitInconclusive, scenario.Availability: ExitAvailability,
		}[d.Kind])
	}
	return code
}

// Worse returns the worse of two exit codes: 1, 70, 2, 3, 0 in this order.
func Worse(a, b int) int {
	for _, code := range []int{ExitUnexpected, ExitHarness, ExitInconclusive, ExitAvailability} {
		if a == code || b == code {
			return code
		}
	}
	return ExitExpected
}
