package report

import (
	"cmp"
	"encoding/json"
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
	Headline  string
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

// ask groups the cells by scenario.
func (d *Digest) ask() {
	by := map[string]*Question{}
	for i := range d.Rows {
		for _, c := range d.Rows[i].Cells {
			if c == nil {
				continue
			}
			for _, t := range c.Runs { // the control of many scenarios is one cell
				q := by[t.Scenario]
				if q == nil {
					q = newQuestion(t)
					by[t.Scenario] = q
					d.Questions = append(d.Questions, q)
				}
				switch {
				case c.Column == controlColumn:
					q.control(t)
				case !slices.Contains(q.Cells, c):
					q.Cells = append(q.Cells, c)
				}
			}
		}
	}
	for _, q := range d.Questions {
		q.Fence = q.fence()
	}
	slices.SortStableFunc(d.Questions, func(a, b *Question) int { return a.urgency() - b.urgency() })
}

// Quiet says that there is nothing to tell: all is safe, and nothing failed.
func (q *Question) Quiet() bool { return q.urgency() == quiet }

const quiet = 6 // more than any run's urgency

// urgency orders questions by how much there is to tell.
func (q *Question) urgency() int {
	least := quiet
	for _, c := range q.Cells {
		switch u := c.Shown.urgency(); {
		case c.Unexpected:
			return -1
		case u < 5:
			least = min(least, u)
		}
	}
	return least
}

// control takes in a run without the faults; the worst of them is told.
func (q *Question) control(t *Told) {
	if q.Control == "" || t.Mark != string(checker.Safe) {
		q.Control = t.Mark
	}
}

// options is what a report reads of a manifest's options.
type options struct {
	About string `json:"about"`
	Lock  struct {
		TTL string `json:"ttl"`
	} `json:"lock"`
	Workload struct {
		Discipline string `json:"discipline"`
	} `json:"workload"`
}

// Options reads what a report says of the scenario; what is not there is empty.
func (t *Told) Options() (about, ttl, discipline string) {
	var o options
	if t.Manifest == nil || json.Unmarshal(t.Manifest.Options, &o) != nil {
		return "", "", ""
	}
	return o.About, o.Lock.TTL, o.Workload.Discipline
}

func newQuestion(t *Told) *Question {
	q := &Question{Scenario: t.Scenario, System: t.System, World: WorldWords(t)}
	about, ttl, _ := t.Options()
	q.Asked = fmt.Sprintf("Does the lock of %s", t.System)
	if ttl != "" {
		q.Asked += fmt.Sprintf(" (lease %s)", ttl)
	}
	q.Asked += " keep to one holder at a time, and the counter behind it right"
	if about != "" {
		q.Asked += ", when " + strings.TrimSuffix(about, ".")
	}
	q.Asked += "?"
	return q
}

// WorldWords say where a run was done.
func WorldWords(t *Told) string {
	switch t.World {
	case "sim":
		return fmt.Sprintf("in the simulation (sim): the real lock libraries in virtual time, over simulated Redis nodes, seed %d", seed(t))
	case "local":
		s := "on real servers of one machine (local)"
		if m := t.Manifest; m != nil && m.Machine.Redis != "" {
			words := strings.Fields(m.Machine.Redis)
			s += ": " + strings.Join(words[:min(len(words), 3)], " ")
		}
		return s
	}
	return "on " + t.World
}

func seed(t *Told) int64 {
	if t.Manifest == nil {
		return 0
	}
	return t.Manifest.Seed
}

// fence says whether a guard stopped what happened without one: what the runs
// with a guard show, not what one might think of them.
func (q *Question) fence() string {
	bare := slices.IndexFunc(q.Cells, func(c *Cell) bool { return c.Guard == history.GuardNone })
	var held, broke []string
	for i, c := range q.Cells {
		if i == bare || c.Rate.Of == 0 {
			continue
		}
		stale := 0
		for _, t := range c.Runs {
			if t.Verdict != nil {
				stale += t.Verdict.Counts.Stale
			}
		}
		switch {
		case c.Mark == string(checker.Violated):
			broke = append(broke, c.Guard)
		case c.Mark == string(checker.Safe):
			held = append(held, fmt.Sprintf("%s (stale operations refused: %d)", c.Guard, stale))
		}
	}
	var parts []string
	if bare >= 0 && q.Cells[bare].Mark == string(checker.Violated) {
		if len(held) > 0 {
			parts = append(parts, "with a guard at the resource it did no damage: "+strings.Join(held, ", "))
		}
		if len(broke) > 0 {
			parts = append(parts, "it was violated in spite of the guard: "+strings.Join(broke, ", "))
		}
		if len(parts) == 0 {
			parts = append(parts, "no run had a guard at the resource, so these runs do not say whether a fence would have stopped it")
		}
	} else if len(broke) > 0 {
		parts = append(parts, "it was violated in spite of the guard: "+strings.Join(broke, ", "))
	} else if bare < 0 && len(held) > 0 {
		parts = append(parts, "the resource stayed right behind its guard: "+strings.Join(held, ", "))
	}
	return strings.Join(parts, "; ")
}

// Assessments are those of all runs.
func (d *Digest) Assessments() []*results.Assessment {
	as := make([]*results.Assessment, len(d.Runs))
	for i, t := range d.Runs {
		as[i] = t.Assessment
	}
	return as
}
