package report

import (
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"

	"lockchaos/results"
)

// The name and version of the JSON report. docs/report.schema.json describes it.
const (
	JSONFormat  = "lockchaos-report"
	JSONVersion = 1
)

type jsonReport struct {
	Format   string     `json:"format"`
	Version  int        `json:"version"`
	Headline string     `json:"headline"`
	Cells    []jsonCell `json:"cells"`
	Runs     []jsonRun  `json:"runs"`
}

type jsonCell struct {
	System  string `json:"system"`
	Guard   string `json:"guard"`
	Column  string `json:"column"`
	Outcome string `json:"outcome"` // of the worst trial
	Answer  string `json:"answer"`
	// Violated is how often, of the trials that were conclusive.
	Violated   Rate `json:"violated"`
	Unclear    int  `json:"unclear"`
	AsExpected bool `json:"as_expected"`
}

type jsonRun struct {
	*results.Assessment
	Manifest *results.Manifest `json:"manifest"`
}

// JSON writes the report for machines: the verdicts as they were saved, the
// manifests, and how often each cell was violated.
func JSON(w io.Writer, d *Digest) error {
	r := jsonReport{Format: JSONFormat, Version: JSONVersion, Headline: d.Headline, Cells: []jsonCell{}, Runs: []jsonRun{}}
	for _, row := range d.Rows {
		for _, c := range row.Cells {
			if c != nil {
				r.Cells = append(r.Cells, jsonCell{c.System, c.Guard, c.Column, c.Mark, c.Answer, c.Rate, c.Unclear, !c.Unexpected})
			}
		}
	}
	for _, t := range d.Runs {
		r.Runs = append(r.Runs, jsonRun{t.Assessment, t.Manifest})
	}
	return writeJSON(w, r)
}

func writeJSON(w io.Writer, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(ascii(b), '\n'))
	return err
}

// ascii writes what is not ASCII in JSON as escapes, so that nothing in it can
// command a terminal it is shown on.
func ascii(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, "\\u%04x\\u%04x", hi, lo)
		default:
			out = fmt.Appendf(out, "\\u%04x", r)
		}
	}
	return out
}
