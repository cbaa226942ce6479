package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/results"
)

// Digest is what every rendering of a set of runs says, worked out once from
// the saved verdicts. It judges nothing.
type Digest struct {
	Headline string
	// Missing says which shards, or runs, that were planned are missing; "" for none.
	Missing   string
	Questions []*Question
	Columns   []string
	Rows      []Row
	Runs      []*Told
}

// Question is one scenario: what was asked, and the answers by guard.
type Question struct {
	Scenario string
	System   string
	Asked    string
	World    string
	Cells    []*Cell // without the control
	Control  string  // what came out without the faults; "" where that was not run
	Fence    string  // whether a guard at the resource stopped it; "" where nothing tells
}

// Row is one row of the matrix; a cell is nil where there was no run.
type Row struct {
	System, Guard string
	Cells         []*Cell
}

// Cell gathers the trials of one scenario with one guard.
type Cell struct {
	ID     string // unique in the digest, safe in a link
	System string
	Guard  string
	Column string
	// Mark is one of safe, violated, inconclusive, error. Text is what stands in the matrix.
	Mark       string
	Text       string
	Unexpected bool
	// Rate is how often it was violated, of the trials that were conclusive; the
	// others are Unclear.
	Rate    Rate
	Unclear int
	Answer  string // the outcome in words, with who broke it
	Often   string // the rate in words
	Runs    []*Told
	// Shown is the run that is told in full.
	Shown *Told

	found []string // kinds of findings, where there are no runs
}

// Told is one run and what is said of it.
type Told struct {
	*results.Saved
	Mark  string
	Blame string // "" where nothing is decided
	Kinds string // of the findings that decide, or that a guard held off, or of what is told
	// Story tells the finding that decides, or what a guard held off; "" without one.
	Story string
	// Rest are the other findings.
	Rest []checker.Finding
	Took time.Duration // 0 where the manifest does not say

	held bool // what is told did no harm, thanks to a guard
}

// guards are the guards in the order in which they are told; others follow.
var guards = []string{
	history.GuardNone, history.GuardFenceGreater, history.GuardFenceGreaterOrEqual, history.GuardFence, history.GuardFenceRead,
	history.GuardVersion, history.GuardAtomic,
}

// inOrder keeps the scenarios in their order, and sorts the runs of each.
func inOrder(runs []*results.Saved) []*results.Saved {
	place := map[string]int{}
	for _, s := range runs {
		if _, ok := place[s.Scenario]; !ok {
			place[s.Scenario] = len(place)
		}
	}
	rank := func(s *results.Saved) int {
		i := slices.Index(guards, s.Guard)
		if i < 0 {
			i = len(guards)
		}
		if s.Control {
			i += 2 * len(guards)
		}
		return i
	}
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b *results.Saved) int {
		return cmp.Or(place[a.Scenario]-place[b.Scenario], rank(a)-rank(b), a.Trial-b.Trial)
	})
	return runs
}

// NewDigest takes in runs. Their scenarios are told in the order in which they come.
func NewDigest(runs []*results.Saved) *Digest {
	d := &Digest{}
	runs = inOrder(runs)
	told := map[*results.Assessment]*Told{}
	var as []*results.Assessment
	for _, s := range runs {
		t := tell(s)
		told[s.Assessment], as, d.Runs = t, append(as, s.Assessment), append(d.Runs, t)
	}
	var b strings.Builder
	summary(&b, as, "")
	d.Headline = strings.TrimSuffix(strings.TrimSpace(b.String()), ".")
	if i := slices.IndexFunc(as, func(a *results.Assessment) bool { return a.Trust != nil && a.Trust.Missing != "" }); i >= 0 {
		d.Missing = as[i].Trust.Missing
		d.Headline += "; " + d.Missing
	}
	m := newMatrix(as)
	d.Columns = m.columns
	for _, r := range m.rows {
		row := Row{System: r.system, Guard: r.guard}
		for _, c := range m.columns {
			var cell *Cell
			if x := m.cells[r][c]; x != nil {
				cell = newCell(x, r, c, told)
				cell.ID = fmt.Sprintf("c%d-%d", len(d.Rows)+1, len(row.Cells)+1)
			}
			row.Cells = append(row.Cells, cell)
		}
		d.Rows = append(d.Rows, row)
	}
	d.ask()
	return d
}

func newCell(x *cell, r row, column string, told map[*results.Assessment]*Told) *Cell {
	c := &Cell{System: r.system, Guard: r.guard, Column: column, Text: x.text()}
	violated := 0
	for _, a := range x.runs {
		t := told[a]
		c.Runs = append(c.Runs, t)
		c.Unexpected = c.Unexpected || !a.AsExpected
		switch t.Mark {
		case string(checker.Violated):
			violated++
		case string(checker.Safe):
		default:
			c.Unclear++
		}
	}
	c.Rate = NewRate(violated, len(c.Runs)-c.Unclear)
	c.Shown = slices.MinFunc(c.Runs, func(a, b *Told) int { return a.urgency() - b.urgency() })
	c.Mark = c.Shown.Mark
	c.Answer, c.Often = c.answer(), c.often()
	return c
}

// urgency orders the trials of a cell by how much there is to tell.
func (t *Told) urgency() int {
	switch {
	case t.Mark == string(checker.Violated):
		return 0
	case t.Mark == "error":
		return 1
	case t.Mark == string(checker.Inconclusive):
		return 2
	case !t.AsExpected:
		return 3
	case t.Story != "":
		return 4
	}
	return 5
}

// answer says what came out, and who broke it.
func (c *Cell) answer() string {
	if c.Shown.Blame == "" {
		return c.Mark
	}
	return c.Mark + ", broken by: " + c.Shown.Blame
}

// often says in how many of the trials it was violated.
func (c *Cell) often() string {
	s := "violated in " + c.Rate.String()
	if c.Rate.Of == 0 {
		return "no trial proved anything"
	}
	if c.Unclear > 0 {
		s += fmt.Sprintf("; %d more proved nothing", c.Unclear)
	}
	return s
}

func tell(s *results.Saved) *Told {
	t := &Told{Saved: s, Mark: "error"}
	if m := s.Manifest; m != nil && m.Ended != nil {
		t.Took = m.Ended.Sub(m.Started)
	}
	v := s.Verdict
	if v == nil {
		return t
	}
	if s.Error == "" {
		t.Mark = string(v.Outcome)
	}
	if k := kinds(v); k != "" {
		t.Kinds = k
		t.Blame = strings.TrimPrefix(Blamed(v), "blame: ")
	}
	i := v.Told()
	if i >= 0 {
		t.Story, t.held = v.Findings[i].Words, v.Findings[i].Contained
		switch {
		case t.held:
			t.Kinds = tally(v, func(f checker.Finding) bool { return f.Contained })
		case t.Kinds == "":
			t.Kinds = v.Findings[i].Kind()
		}
	}
	for j, f := range v.Findings {
		if j != i {
			t.Rest = append(t.Rest, f)
		}
	}
	return t
}

// Held is what comes before the story of a run that is safe all the same.
func (t *Told) Held() string {
	if t.Mark == string(checker.Safe) && t.held {
		return "The lock failed, and the guard at the resource held: "
	}
	return ""
}

// Assessments are those of all runs.
func (d *Digest) Assessments() []*results.Assessment {
	as := make([]*results.Assessment, len(d.Runs))
	for i, t := range d.Runs {
		as[i] = t.Assessment
	}
	return as
}
