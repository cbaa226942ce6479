package report

import (
	"cmp"
	"slices"

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
