package results

import (
	"context"
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
	Suite  string `json:"suite,omitempty"`
	// Canary: a suite must find this run violated.
	Canary bool   `json:"canary,omitempty"`
	Repeat string `json:"repeat,omitempty"`

	AsExpected bool `json:"as_expected"`
	// Spoilt is how often it was done before, on a machine too busy for it.
	Spoilt int `json:"spoilt,omitempty"`
	// Differences say in what the verdict is not as expected.
	Differences []scenario.Difference `json:"differences,omitempty"`
	// Error is set where there is no verdict: the harness failed.
	Error   string           `json:"error,omitempty"`
	Verdict *checker.Verdict `json:"verdict,omitempty"`
	// Trust is set when the batch is done: see Settle.
	Trust *Trust `json:"trust,omitempty"`

	// Dir is where the run lies.
	Dir string `json:"-"`
}

// Judge is JudgeContext without an end.
func Judge(dir string) (*Assessment, error) { return JudgeContext(context.Background(), dir) }

// JudgeContext judges the saved history of a run directory and saves the
// verdict. The error is a *FileError, a *history.LineError, a
// *checker.DisagreementError, the cause of ctx, or of the file system; where
// the manifest could be read it is in the assessment too.
func JudgeContext(ctx context.Context, dir string) (*Assessment, error) {
	m, err := manifest(dir)
	if err != nil {
		return nil, err
	}
	a := &Assessment{Run: m.Run, Key: m.Key, World: m.World, System: m.System, Suite: m.Suite, Canary: m.Canary, Repeat: m.Repeat, Spoilt: m.Spoilt, Dir: dir}
	a.Trust = trust(dir)
	if m.Error != "" {
		a.Error = m.Error
	}
	h, err := open(filepath.Join(dir, HistoryFile))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	switch reason := unbegun(err); {
	case reason != "" && m.Error != "":
		return a, errors.New(m.Error) // it failed before there was anything to record
	case reason != "":
		a.Verdict, err = nothing(reason), nil
	case err == nil:
		a.Verdict, err = examine(dir, h)
	}
	if err != nil {
		a.Error = err.Error()
		return a, err
	}
	a.Differences = m.Expect.Against(a.Verdict)
	a.AsExpected = len(a.Differences) == 0 && a.Error == ""
	return a, a.SaveVerdict()
}

// trust is what a run was told of its batch when it was judged before: it cannot
// be seen from the run alone. None where there is no verdict that can be read.
func trust(dir string) *Trust {
	var before Assessment
	if Load(dir, VerdictFile, &before) != nil {
		return nil
	}
	return before.Trust
}

// manifest reads the manifest of a run.
func manifest(dir string) (*Manifest, error) {
	var m Manifest
	if err := Load(dir, ManifestFile, &m); err != nil {
		return nil, err
	}
	if m.Version < 1 || m.Version > ManifestVersion {
		return nil, &FileError{filepath.Join(dir, ManifestFile),
			fmt.Errorf("manifest version %d, this program reads up to %d", m.Version, ManifestVersion)}
	}
	return &m, nil
}

func open(path string) (*history.History, error) {
	if err := Regular(path); err != nil {
		return nil, err
	}
	return history.Open(path)
}

// unbegun says for which reason there is nothing to judge; "" where err is
// another error, or none.
func unbegun(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the run has no history"
	case errors.Is(err, history.ErrNotBegun):
		return "the run was broken off before it began"
	}
	return ""
}

// nothing is the verdict of a run of which nothing is known.
func nothing(reason string) *checker.Verdict {
	return &checker.Verdict{
		Outcome: checker.Inconclusive, Lock: checker.Inconclusive, Resource: checker.Inconclusive, Reasons: []string{reason},
		Findings: []checker.Finding{{ID: checker.NoConclusion, Blame: "harness", Words: reason}},
	}
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
		code = Worse(code, ExitOf(d.Kind))
	}
	if !a.Trusted() {
		code = Worse(code, ExitInconclusive)
	}
	return code
}

// ExitOf is the code of one difference.
func ExitOf(k scenario.DifferenceKind) int {
	return map[scenario.DifferenceKind]int{
		scenario.Safety: ExitUnexpected, scenario.Proof: ExitInconclusive, scenario.Availability: ExitAvailability,
	}[k]
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
