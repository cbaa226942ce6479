package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"lockchaos/checker"
	"lockchaos/runner"
)

// SweepDigest is what Compare needs of a sweep, in which each seed is a trial:
// there are no runs in it, so it can be rendered in no other way.
func SweepDigest(s *runner.Sweep) *Digest {
	d := &Digest{Headline: fmt.Sprintf("%s of seeds %s on %s", count(s.Done, "run"), s.Seeds, s.World)}
	if s.Shard != nil {
		d.Headline += fmt.Sprintf(", shard %s", s.Shard)
	}
	if s.Done < s.Planned {
		d.Headline += fmt.Sprintf("; %d more were planned and are MISSING", s.Planned-s.Done)
	}
	for _, t := range s.Tallies {
		c := &Cell{System: t.System, Guard: t.Guard, Column: strings.TrimPrefix(t.Scenario, t.System+"/"), Mark: sweepMark(t)}
		c.Rate, c.Unclear = NewRate(t.Violated, t.Violated+t.Safe), t.Inconclusive+t.Failed
		c.Unexpected = len(s.Differences(t)) > 0
		c.found = slices.Sorted(maps.Keys(t.Kinds))
		d.Rows = append(d.Rows, Row{System: c.System, Guard: c.Guard, Cells: []*Cell{c}})
	}
	return d
}

func sweepMark(t *runner.Tally) string {
	switch {
	case t.Violated > 0:
		return string(checker.Violated)
	case t.Failed > 0:
		return "error"
	case t.Inconclusive > 0 || t.Seeds == 0:
		return string(checker.Inconclusive)
	}
	return string(checker.Safe)
}
