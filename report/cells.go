// Package report renders what came out of runs. It derives no verdict.
package report

import (
	"fmt"
	"slices"
	"strings"

	"lockchaos/checker"
	"lockchaos/results"
)

// row and column of the matrix.
type row struct{ system, guard string }

// cell gathers the trials of one scenario with one guard.
type cell struct {
	runs []*results.Assessment
}

// controlColumn gathers the runs without faults of a row.
const controlColumn = "control"

func column(a *results.Assessment) string {
	if a.Control {
		return controlColumn
	}
	return strings.TrimPrefix(a.Scenario, a.System+"/")
}

// matrix orders runs into cells; rows and columns are in the order in which they came.
type matrix struct {
	rows    []row
	columns []string
	cells   map[row]map[string]*cell
}

func newMatrix(as []*results.Assessment) *matrix {
	m := &matrix{cells: map[row]map[string]*cell{}}
	mixed := slices.ContainsFunc(as, func(a *results.Assessment) bool { return a.World != as[0].World })
	for _, a := range as {
		r, c := row{a.System, a.Guard}, column(a)
		if mixed { // what one world shows says nothing of how often it happens in another
			r.system += " on " + a.World
		}
		if m.cells[r] == nil {
			m.cells[r] = map[string]*cell{}
			m.rows = append(m.rows, r)
		}
		if m.cells[r][c] == nil {
			m.cells[r][c] = &cell{}
		}
		if !slices.Contains(m.columns, c) {
			m.columns = append(m.columns, c)
		}
		m.cells[r][c].runs = append(m.cells[r][c].runs, a)
	}
	systems := []string{}
	for _, r := range m.rows {
		if !slices.Contains(systems, r.system) {
			systems = append(systems, r.system)
		}
	}
	slices.SortStableFunc(m.rows, func(a, b row) int {
		return slices.Index(systems, a.system) - slices.Index(systems, b.system)
	})
	// The control comes first: what follows is worth no more than it.
	slices.SortStableFunc(m.columns, func(a, b string) int {
		return rank(a) - rank(b)
	})
	return m
}

func rank(column string) int {
	switch column {
	case controlColumn:
		return 0
	case "baseline":
		return 1
	}
	return 2
}

// text is what stands in the cell: the worst outcome of its trials, how many
// violations there were, in how many trials where there is more than one, and a
// mark where a trial was not as expected.
func (c *cell) text() string {
	var violations, violated, unclear, failed int
	expected := true
	for _, a := range c.runs {
		expected = expected && a.AsExpected
		switch {
		case a.Verdict == nil || a.Error != "":
			failed++
		case a.Verdict.Outcome == checker.Violated:
			violated++
			violations += Violations(a.Verdict)
		case a.Verdict.Outcome == checker.Inconclusive:
			unclear++
		}
	}
	share := func(n int) string {
		if len(c.runs) == 1 {
			return ""
		}
		return fmt.Sprintf(" %d/%d", n, len(c.runs))
	}
	s := "safe"
	switch {
	case violated > 0:
		s = fmt.Sprintf("VIOLATED %d%s", violations, share(violated))
	case failed > 0:
		s = "error" + share(failed)
	case unclear > 0:
		s = "inconclusive" + share(unclear)
	}
	if !expected {
		s += " !"
	}
	if slices.ContainsFunc(c.runs, func(a *results.Assessment) bool { return !a.Trusted() }) {
		s += " ?"
	}
	return s
}

// Violations counts the findings that decide the outcome.
func Violations(v *checker.Verdict) int {
	n := 0
	for _, f := range v.Findings {
		if decides(f) {
			n += f.Number()
		}
	}
	return n
}

func decides(f checker.Finding) bool {
	switch f.ID {
	case checker.RefusedHolder, checker.Orphan, checker.Wedge, checker.Unavailable, checker.NoConclusion:
		return false
	}
	return !f.Contained
}

// Story is the one finding that tells best what happened, or nil.
func Story(v *checker.Verdict) *checker.Finding { return v.Story() }

// Clean makes text that came from outside harmless on a terminal.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return harmless(r)
	}, s)
}
