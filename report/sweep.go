package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lockchaos/results"
	"lockchaos/runner"
)

// SweepProgress tells of a sweep through seeds while it goes: a live line on a
// terminal, nothing elsewhere.
type SweepProgress struct {
	w     io.Writer
	live  bool
	total int
	drawn time.Time // when the live line was last drawn
}

// NewSweepProgress writes to w how many runs there will be.
func NewSweepProgress(w io.Writer, live bool, total int) *SweepProgress {
	fmt.Fprintf(w, "%s in the simulation\n", count(total, "run"))
	return &SweepProgress{w: w, live: live, total: total}
}

// Done says how many runs are done.
func (p *SweepProgress) Done(runs int) {
	if p.live && time.Since(p.drawn) > 100*time.Millisecond {
		p.drawn = time.Now()
		fmt.Fprintf(p.w, "\r\x1b[K%d/%d done", runs, p.total)
	}
}

// Clear takes the live line away.
func (p *SweepProgress) Clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

// Sweep writes what was found in a sweep by kind, each with its first failing seed.
func Sweep(w io.Writer, s *runner.Sweep) error {
	var b strings.Builder
	for _, t := range s.Tallies {
		writeTally(&b, t)
	}
	fmt.Fprintf(&b, "\n%s of %.0f simulated seconds in %.1f s", count(s.Done, "run"), s.Simulated, s.Took)
	if s.Took > 0 {
		fmt.Fprintf(&b, ": %.0f times real time", s.Simulated/s.Took)
	}
	b.WriteByte('\n')
	switch {
	case s.Merged != nil:
		merged(&b, s.Merged)
	case s.Done < s.Planned:
		fmt.Fprintf(&b, "BROKEN OFF: %d of %s not done\n", s.Planned-s.Done, count(s.Planned, "run"))
	}
	_, err := io.WriteString(w, Clean(b.String()))
	return err
}

// Merged writes of which shards a result was put together, and which are missing.
func Merged(w io.Writer, m *results.Merged) error {
	var b strings.Builder
	merged(&b, m)
	_, err := io.WriteString(w, Clean(b.String()))
	return err
}

func merged(b *strings.Builder, m *results.Merged) {
	fmt.Fprintf(b, "put together from %d of %s: %s\n", len(m.From), count(m.Of, "shard"), strings.Join(m.From, ", "))
	if len(m.Aside) > 0 {
		fmt.Fprintf(b, "set aside, as broken off and done again: %s\n", strings.Join(m.Aside, ", "))
	}
	if len(m.Commits) > 0 {
		fmt.Fprintf(b, "of several commits: %s\n", strings.Join(m.Commits, ", "))
	}
	if len(m.Missing) == 0 {
		return
	}
	fmt.Fprintf(b, "MISSING, so this proves nothing for the rest (%d of %s):\n", len(m.Missing), count(m.Of, "shard"))
	const most = 20
	for i, words := range m.Missing {
		if i == most {
			fmt.Fprintf(b, "  and %d more\n", len(m.Missing)-most)
			break
		}
		fmt.Fprintf(b, "  %s\n", words)
	}
}

func writeTally(b *strings.Builder, t *runner.Tally) {
	fmt.Fprintf(b, "\n%s guard %s on sim: %s, %d safe, %d violated, %d inconclusive", t.Scenario, t.Guard, count(t.Seeds, "seed"), t.Safe, t.Violated, t.Inconclusive)
	if t.Failed > 0 {
		fmt.Fprintf(b, ", %d failed", t.Failed)
	}
	b.WriteByte('\n')
	kinds := slices.SortedFunc(maps.Values(t.Kinds), func(a, c *runner.KindTally) int {
		return cmp.Or(cmp.Compare(c.Seeds, a.Seeds), cmp.Compare(a.Kind, c.Kind))
	})
	for _, k := range kinds {
		held := ""
		if k.Contained {
			held = ", held by the guard"
		}
		fmt.Fprintf(b, "  %s in %s, first in %d%s\n    %s\n    repeat: %s\n", k.Kind, count(k.Seeds, "seed"), k.First.Seed, held, k.Words, k.First.Repeat)
	}
	if s := t.FirstInconclusive; s != nil {
		fmt.Fprintf(b, "  inconclusive, first in %d: %s\n    repeat: %s\n", s.Seed, strings.Join(s.Reasons, "; "), s.Repeat)
	}
	if s := t.FirstFailed; s != nil {
		fmt.Fprintf(b, "  failed, first in %d: %s\n    repeat: %s\n", s.Seed, s.Error, s.Repeat)
	}
	for _, s := range t.Unstable {
		fmt.Fprintf(b, "  NOT REPEATED: seed %d gave another history when it was run again: this is a bug of the simulation\n", s.Seed)
	}
}
