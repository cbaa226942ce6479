package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/runner"
)

// Sweep tells of a sweep through seeds: a live line while it goes, and at its
// end what was found by kind, each with its first failing seed.
type Sweep struct {
	w     io.Writer
	live  bool
	width int
	total int

	mu    sync.Mutex
	drawn time.Time // when the live line was last drawn
	done  int
	order []string // of the scenarios and guards
	tally map[string]*runner.Tally
}

// NewSweep writes to w.
func NewSweep(w io.Writer, live bool, width, total int) *Sweep {
	s := &Sweep{w: w, live: live, width: width, total: total, tally: map[string]*runner.Tally{}}
	fmt.Fprintf(w, "%s in the simulation\n", count(total, "run"))
	return s
}

// Add counts one seed.
func (s *Sweep) Add(seed runner.Seed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	key := seed.Scenario + " guard " + seed.Guard
	t, ok := s.tally[key]
	if !ok {
		t = &runner.Tally{}
		s.tally[key] = t
		s.order = append(s.order, key)
	}
	t.Add(seed)
	if s.live && time.Since(s.drawn) > 100*time.Millisecond {
		s.drawn = time.Now()
		fmt.Fprintf(s.w, "\r\x1b[K%d/%d done", s.done, s.total)
	}
}

// Done writes the report. took is how long the sweep took.
func (s *Sweep) Done(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
	slices.Sort(s.order)
	var b strings.Builder
	simulated := 0.0
	for _, key := range s.order {
		writeTally(&b, key, s.tally[key])
		simulated += s.tally[key].Simulated
	}
	fmt.Fprintf(&b, "\n%s of %.0f simulated seconds in %.1f s: %.0f times real time\n",
		count(s.done, "run"), simulated, took.Seconds(), simulated/took.Seconds())
	fmt.Fprint(s.w, Clean(b.String()))
}

func writeTally(b *strings.Builder, key string, t *runner.Tally) {
	fmt.Fprintf(b, "\n%s on sim: %d seeds, %d safe, %d violated, %d inconclusive", key, t.Seeds, t.Safe, t.Violated, t.Inconclusive)
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
		fmt.Fprintf(b, "  %s in %d seeds, first in %d%s\n    %s\n    repeat: %s\n", k.Kind, k.Seeds, k.First.Seed, held, k.Words, k.First.Repeat)
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

// Tallies are the tallies by scenario and guard.
func (s *Sweep) Tallies() map[string]*runner.Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.tally)
}
