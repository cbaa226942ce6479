package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"lockchaos/checker"
)

// Change is one cell of two sets of runs.
type Change struct {
	System, Guard, Column string
	A, B                  *Cell // nil where one set has no such cell
	// P is the p-value of Fisher's exact test on how often it was violated.
	P float64
	// Significant: P holds at 5 % after Holm's correction for all cells compared.
	Significant bool
}

// Changes pairs the cells of two digests, in the order of the first.
func Changes(a, b *Digest) []*Change {
	type key struct{ system, guard, column string }
	by := map[key]*Change{}
	var all []*Change
	take := func(d *Digest, put func(*Change, *Cell)) {
		for _, r := range d.Rows {
			for _, c := range r.Cells {
				if c == nil {
					continue
				}
				k := key{c.System, c.Guard, c.Column}
				if by[k] == nil {
					by[k] = &Change{System: c.System, Guard: c.Guard, Column: c.Column, P: 1}
					all = append(all, by[k])
				}
				put(by[k], c)
			}
		}
	}
	take(a, func(x *Change, c *Cell) { x.A = c })
	take(b, func(x *Change, c *Cell) { x.B = c })
	var tested []*Change
	for _, x := range all {
		if x.A != nil && x.B != nil {
			x.P = Fisher(x.A.Rate, x.B.Rate)
			tested = append(tested, x)
		}
	}
	slices.SortStableFunc(tested, func(x, y *Change) int { return cmp.Compare(x.P, y.P) })
	for i, x := range tested { // Holm: the first that fails ends it
		if x.P*float64(len(tested)-i) > 1-confidence {
			break
		}
		x.Significant = true
	}
	return all
}

// changed says whether there is anything to tell.
func (c *Change) changed() bool {
	return c.A == nil || c.B == nil || c.A.Mark != c.B.Mark || c.A.Rate.N*c.B.Rate.Of != c.B.Rate.N*c.A.Rate.Of ||
		c.A.Unexpected != c.B.Unexpected || !slices.Equal(c.A.kinds(), c.B.kinds())
}

// kinds are the kinds of findings in all trials of a cell.
func (c *Cell) kinds() []string {
	all := slices.Clone(c.found)
	for _, t := range c.Runs {
		if t.Verdict == nil {
			continue
		}
		for _, f := range t.Verdict.Findings {
			if f.ID != checker.NoConclusion {
				all = append(all, f.Kind())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Compare writes what is different between two sets of runs.
func Compare(w io.Writer, a, b *Digest) error {
	var s strings.Builder
	fmt.Fprintf(&s, "A: %s\nB: %s\n\n", a.Headline, b.Headline)
	all := Changes(a, b)
	same, compared, few := 0, 0, 0
	for _, c := range all {
		if c.A != nil && c.B != nil {
			compared++
			if Fisher(NewRate(0, c.A.Rate.Of), NewRate(c.B.Rate.Of, c.B.Rate.Of)) > 1-confidence {
				few++
			}
		}
		if !c.changed() {
			same++
			continue
		}
		writeChange(&s, c)
	}
	fmt.Fprintf(&s, "%s compared, %d the same in both.\n", count(compared, "cell"), same)
	if few > 0 {
		fmt.Fprintf(&s, "%s so few trials that no difference could be significant: 4 in each set are the least, more with many cells (--trials).\n",
			map[bool]string{true: "1 cell has", false: fmt.Sprintf("%d cells have", few)}[few == 1])
	}
	_, err := io.WriteString(w, Clean(s.String()))
	return err
}

func writeChange(s *strings.Builder, c *Change) {
	fmt.Fprintf(s, "%s × %s, %s\n", Short(c.System, mostWords), Short(c.Guard, mostWords), Short(c.Column, mostWords))
	for _, side := range []struct {
		name string
		cell *Cell
	}{{"A", c.A}, {"B", c.B}} {
		if side.cell == nil {
			fmt.Fprintf(s, "  %s: not run\n", side.name)
			continue
		}
		unclear := ""
		if n := side.cell.Unclear; n > 0 {
			unclear = fmt.Sprintf("; %d more proved nothing", n)
		}
		found := strings.Join(side.cell.kinds(), ", ")
		if found != "" {
			found = "; found: " + found
		}
		fmt.Fprintf(s, "  %s: violated in %s%s%s\n", side.name, side.cell.Rate, unclear, found)
	}
	if c.A == nil || c.B == nil {
		s.WriteByte('\n')
		return
	}
	switch {
	case c.Significant:
		fmt.Fprintf(s, "  a SIGNIFICANT change of the rate (Fisher's exact test, p = %.2g, corrected for the number of cells)\n\n", c.P)
	case c.P <= 1-confidence:
		fmt.Fprintf(s, "  not significant: p = %.2g by itself, but among so many cells that can be chance\n\n", c.P)
	default:
		fmt.Fprintf(s, "  the change of the rate is not significant (Fisher's exact test, p = %.2g)\n\n", c.P)
	}
}
