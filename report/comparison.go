package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Comparison is two sets of runs side by side.
type Comparison struct {
	A, B string // what each is in all
	// Changed are the cells that are not the same in both, Same those that are.
	Changed, Same []*Change
	Compared      int // cells that both have
	Few           int // of these, those that have too few trials for any difference to be significant
}

// NewComparison holds two sets of runs against each other.
func NewComparison(a, b *Digest) *Comparison {
	x := &Comparison{A: a.Headline, B: b.Headline}
	for _, c := range Changes(a, b) {
		if c.A != nil && c.B != nil {
			x.Compared++
			if Fisher(NewRate(0, c.A.Rate.Of), NewRate(c.B.Rate.Of, c.B.Rate.Of)) > 1-confidence {
				x.Few++
			}
		}
		if c.changed() {
			x.Changed = append(x.Changed, c)
		} else {
			x.Same = append(x.Same, c)
		}
	}
	return x
}

// Counted says how many cells were compared, and how many of them could show nothing.
func (x *Comparison) Counted() string {
	s := fmt.Sprintf("%s compared, %d the same in both.", count(x.Compared, "cell"), len(x.Same))
	if x.Few == 0 {
		return s
	}
	have := "1 cell has"
	if x.Few > 1 {
		have = fmt.Sprintf("%d cells have", x.Few)
	}
	return s + fmt.Sprintf("\n%s so few trials that no difference could be significant: 4 in each set are the least, more with many cells (--trials).", have)
}

// Told says what came of a cell in one of the sets; the cell is nil where it was not run.
func (c *Cell) Told() string {
	if c == nil {
		return "not run"
	}
	s := "violated in " + c.Rate.String()
	if c.Unclear > 0 {
		s += fmt.Sprintf("; %d more proved nothing", c.Unclear)
	}
	if found := strings.Join(c.kinds(), ", "); found != "" {
		s += "; found: " + found
	}
	return s
}

// Says tells whether the rate has changed by more than chance; "" where one of
// the sets has no such cell.
func (c *Change) Says() string {
	switch {
	case c.A == nil || c.B == nil:
		return ""
	case c.Significant:
		return fmt.Sprintf("a SIGNIFICANT change of the rate (Fisher's exact test, p = %.2g, corrected for the number of cells)", c.P)
	case c.P <= 1-confidence:
		return fmt.Sprintf("not significant: p = %.2g by itself, but among so many cells that can be chance", c.P)
	}
	return fmt.Sprintf("the change of the rate is not significant (Fisher's exact test, p = %.2g)", c.P)
}

// Terminal writes what is different.
func (x *Comparison) Terminal(w io.Writer) error {
	var s strings.Builder
	fmt.Fprintf(&s, "A: %s\nB: %s\n\n", x.A, x.B)
	for _, c := range x.Changed {
		fmt.Fprintf(&s, "%s × %s, %s\n", Short(c.System, mostWords), Short(c.Guard, mostWords), Short(c.Column, mostWords))
		fmt.Fprintf(&s, "  A: %s\n  B: %s\n", c.A.Told(), c.B.Told())
		if says := c.Says(); says != "" {
			fmt.Fprintf(&s, "  %s\n", says)
		}
		s.WriteByte('\n')
	}
	fmt.Fprintln(&s, x.Counted())
	_, err := io.WriteString(w, Clean(s.String()))
	return err
}

// Markdown writes what is different as a table for a pull-request comment.
func (x *Comparison) Markdown(w io.Writer) error {
	var s strings.Builder
	fmt.Fprintf(&s, "## Lock chaos: two sets of runs\n\n- **A**: %s\n- **B**: %s\n\n", md(x.A), md(x.B))
	if len(x.Changed) > 0 {
		s.WriteString("| lock system | guard | what was done | A | B | is it more than chance? |\n| --- | --- | --- | --- | --- | --- |\n")
	}
	for i, c := range x.Changed {
		says := md(c.Says())
		if c.Significant {
			says = "**" + says + "**"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", md(c.System), md(c.Guard), md(c.Column), md(c.A.Told()), md(c.B.Told()), says)
		const room = 1000 // for the lines after it
		if s.Len()+len(row) > MaxMarkdown-room {
			fmt.Fprintf(&s, "\n*%s left out, as the report would be too long.*\n", count(len(x.Changed)-i, "cell"))
			break
		}
		s.WriteString(row)
	}
	fmt.Fprintf(&s, "\n%s\n", md(strings.ReplaceAll(x.Counted(), "\n", " ")))
	_, err := io.WriteString(w, s.String())
	return err
}

// The name and version of a comparison in JSON. docs/compare.schema.json describes it.
const (
	CompareFormat  = "lockchaos-comparison"
	CompareVersion = 1
)

type jsonComparison struct {
	Format   string       `json:"format"`
	Version  int          `json:"version"`
	A        string       `json:"a"`
	B        string       `json:"b"`
	Compared int          `json:"compared"`
	Few      int          `json:"too_few_trials"`
	Cells    []jsonChange `json:"cells"`
}

type jsonChange struct {
	System      string    `json:"system"`
	Guard       string    `json:"guard"`
	Column      string    `json:"column"`
	Changed     bool      `json:"changed"`
	A           *jsonSide `json:"a"`
	B           *jsonSide `json:"b"`
	P           *float64  `json:"p,omitempty"`
	Significant bool      `json:"significant"`
}

type jsonSide struct {
	Outcome    string   `json:"outcome"`
	Violated   Rate     `json:"violated"`
	Unclear    int      `json:"unclear"`
	AsExpected bool     `json:"as_expected"`
	Found      []string `json:"found"`
}

// JSON writes all cells for machines, those that have changed first.
func (x *Comparison) JSON(w io.Writer) error {
	side := func(c *Cell) *jsonSide {
		if c == nil {
			return nil
		}
		return &jsonSide{c.Mark, c.Rate, c.Unclear, !c.Unexpected, append([]string{}, c.kinds()...)}
	}
	r := jsonComparison{Format: CompareFormat, Version: CompareVersion, A: x.A, B: x.B, Compared: x.Compared, Few: x.Few, Cells: []jsonChange{}}
	for i, c := range slices.Concat(x.Changed, x.Same) {
		j := jsonChange{System: c.System, Guard: c.Guard, Column: c.Column, Changed: i < len(x.Changed), A: side(c.A), B: side(c.B), Significant: c.Significant}
		if c.A != nil && c.B != nil {
			j.P = &c.P
		}
		r.Cells = append(r.Cells, j)
	}
	return writeJSON(w, r)
}
