package report

import (
	"fmt"
	"io"
	"time"

	"lockchaos/scenario"
)

// Shrinking tells how far the search for a smaller schedule is: a live line on
// a terminal; elsewhere a line where faults or hosts have become fewer, and one
// now and then.
type Shrinking struct {
	w      io.Writer
	live   bool
	faults int // at first

	left, hosts int // when the last line was written
	runs        int
	drawn       time.Time // when the live line was
}

// NewShrinking writes to w of a search that begins with s.
func NewShrinking(w io.Writer, live bool, kind string, s *scenario.Scenario) *Shrinking {
	fmt.Fprintf(w, "%s and %s that give %s: looking for fewer\n", count(len(s.Faults), "fault"), count(s.Hosts, "host"), Clean(kind))
	return &Shrinking{w: w, live: live, faults: len(s.Faults), left: len(s.Faults), hosts: s.Hosts}
}

// silence is after how many runs there is a line at the latest.
const silence = 100

// Tried says how many runs there have been, and the smallest schedule so far.
func (s *Shrinking) Tried(runs int, best *scenario.Scenario) {
	line := fmt.Sprintf("%d of %d faults and %s left after %s", len(best.Faults), s.faults, count(best.Hosts, "host"), count(runs, "run"))
	if s.live {
		if time.Since(s.drawn) > 100*time.Millisecond {
			s.drawn = time.Now()
			fmt.Fprint(s.w, "\r\x1b[K"+line)
		}
		return
	}
	if len(best.Faults) == s.left && best.Hosts == s.hosts && runs-s.runs < silence {
		return
	}
	s.left, s.hosts, s.runs = len(best.Faults), best.Hosts, runs
	fmt.Fprintln(s.w, line)
}

// Clear takes the live line away.
func (s *Shrinking) Clear() {
	if s.live {
		fmt.Fprint(s.w, "\r\x1b[K")
	}
}
