package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/results"
)

// Progress tells of a batch as it goes: a live line on a terminal, a line for
// each run elsewhere.
type Progress struct {
	w     io.Writer
	live  bool
	width int

	mu      sync.Mutex
	total   int
	done    int
	strange int
	running []results.Key
}

// NewProgress writes to w; live rewrites one line of at most width columns.
func NewProgress(w io.Writer, live bool, width int) *Progress {
	return &Progress{w: w, live: live, width: width}
}

// Planned says how many runs there will be.
func (p *Progress) Planned(runs int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total = runs
	if !p.live {
		fmt.Fprintf(p.w, "%s\n", count(runs, "run"))
	}
}

// Started says that a run has begun.
func (p *Progress) Started(k results.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, k)
	p.redraw()
}

// Finished says what came out of a run.
func (p *Progress) Finished(a *results.Assessment, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.ended(a.Key)
	if !a.AsExpected {
		p.strange++
	}
	if p.live {
		if p.redraw(); p.done == p.total {
			p.Clear()
		}
		return
	}
	verdict := "as expected"
	if !a.AsExpected {
		verdict = "NOT AS EXPECTED"
	}
	c := cell{[]*results.Assessment{a}}
	fmt.Fprintf(p.w, "%3d/%d  %-60s %-14s %s  %.1fs\n", p.done, p.total, Clean(a.String()),
		strings.TrimSuffix(c.text(), " !"), verdict, took.Seconds())
}

// Dropped says that a run was broken off.
func (p *Progress) Dropped(k results.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended(k)
	if p.redraw(); len(p.running) == 0 {
		p.Clear()
	}
}

// ended takes a run off the list of those that are under way. It needs mu.
func (p *Progress) ended(key results.Key) {
	if i := slices.Index(p.running, key); i >= 0 {
		p.running = slices.Delete(p.running, i, i+1)
	}
}

// Clear takes the live line away.
func (p *Progress) Clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *Progress) redraw() {
	if !p.live {
		return
	}
	names := make([]string, len(p.running))
	for i, k := range p.running {
		names[i] = k.String()
	}
	line := fmt.Sprintf("%d/%d done", p.done, p.total)
	if p.strange > 0 {
		line += fmt.Sprintf(", %d not as expected", p.strange)
	}
	line = Clean(line + "  running: " + strings.Join(names, ", "))
	if r := []rune(line); len(r) > p.width-1 {
		line = string(r[:max(0, p.width-2)]) + "…"
	}
	fmt.Fprint(p.w, "\r\x1b[K"+line)
}
