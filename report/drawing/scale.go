package drawing

import (
	"math"
	"slices"
	"strconv"
	"time"

	"lockchaos/checker"
)

// scale maps time to the width of a picture. Long stretches in which nothing
// happens are shortened, and marked: the rest is in one proportion.
type scale struct {
	parts []part
}

type part struct {
	from, to time.Duration
	x, w     float64
	short    bool
}

// Of a stretch without events that is longer than this share of the window, as
// wide as shortWidth is drawn.
const (
	longShare  = 0.14
	shortWidth = 96.0
)

// newScale fits the window of t between x and x+w.
func newScale(t *checker.Timeline, x, w float64) *scale {
	from, to := t.From, max(t.To, t.From+1)
	times := events(t)
	long := time.Duration(longShare * float64(to-from))
	s := &scale{}
	cut := from
	for i := 1; i < len(times); i++ {
		a, b := times[i-1], times[i]
		if b-a <= long {
			continue
		}
		// A little of the stretch stays in proportion at both ends.
		a, b = a+(b-a)/30, b-(b-a)/30
		s.parts = append(s.parts, part{from: cut, to: a}, part{from: a, to: b, short: true})
		cut = b
	}
	s.parts = append(s.parts, part{from: cut, to: to})
	var plain time.Duration
	shorts := 0.0
	for _, p := range s.parts {
		if p.short {
			shorts++
		} else {
			plain += p.to - p.from
		}
	}
	for i := range s.parts {
		p := &s.parts[i]
		p.x, p.w = x, shortWidth
		if !p.short {
			p.w = (w - shorts*shortWidth) * float64(p.to-p.from) / float64(max(plain, 1))
		}
		x += p.w
	}
	return s
}

// events are the instants of the window at which something is drawn, in order.
// A refused acquire is none: a busy lock is refused all the time.
func events(t *checker.Timeline) []time.Duration {
	times := []time.Duration{t.From, t.To}
	add := func(all ...time.Duration) {
		for _, d := range all {
			if d > t.From && d < t.To {
				times = append(times, d)
			}
		}
	}
	for _, m := range t.Moments {
		add(m.T)
	}
	for _, g := range t.Grants {
		for _, s := range append(slices.Clone(g.Promise), g.Belief...) {
			add(s.From, s.To)
		}
	}
	for _, e := range t.Effects {
		add(e.From, e.To)
	}
	for _, f := range t.Faults {
		add(f.From, f.To)
	}
	for _, k := range t.Keys {
		add(k.To)
		add(k.Full...)
	}
	slices.Sort(times)
	return times
}

// at is where an instant is, at the edge if it is outside.
func (s *scale) at(d time.Duration) float64 {
	for _, p := range s.parts {
		if d <= p.to {
			share := float64(max(d-p.from, 0)) / float64(max(p.to-p.from, 1))
			return p.x + p.w*share
		}
	}
	last := s.parts[len(s.parts)-1]
	return last.x + last.w
}

// knots are the ends of the parts between two instants: where a straight line
// over time is bent.
func (s *scale) knots(from, to time.Duration) []time.Duration {
	all := []time.Duration{from}
	for _, p := range s.parts[:len(s.parts)-1] {
		if p.to > from && p.to < to {
			all = append(all, p.to)
		}
	}
	return append(all, to)
}

// ticks are the instants that the axis names, at least gap apart.
func (s *scale) ticks(gap float64) []time.Duration {
	pixel := 0.0 // nanoseconds in one
	for _, p := range s.parts {
		if !p.short && p.w > 0 {
			pixel = float64(p.to-p.from) / p.w
		}
	}
	step := nice(pixel * gap)
	var all []time.Duration
	last := math.Inf(-1)
	for _, p := range s.parts {
		if p.short {
			last = p.x + p.w - gap/2
			continue
		}
		for d := (p.from + step - 1) / step * step; d <= p.to; d += step {
			if x := s.at(d); x-last >= gap*0.9 && p.x+p.w-x > -1 {
				all, last = append(all, d), x
			}
		}
	}
	return all
}

// nice is the least of 1, 2, 5, 10, … not below n.
func nice(n float64) time.Duration {
	p := math.Pow(10, math.Floor(math.Log10(max(n, 1))))
	for _, f := range []float64{1, 2, 5} {
		if f*p >= n {
			return time.Duration(max(f*p, 1))
		}
	}
	return time.Duration(10 * p)
}

// Time gives a time in milliseconds as findings do, and long ones in seconds.
func Time(d time.Duration) string {
	switch {
	case d.Abs() >= 20*time.Second:
		return strconv.FormatFloat(d.Round(10*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d.Abs() < time.Millisecond:
		return number(float64(d.Round(time.Microsecond))/1e6, 3) + " ms"
	}
	return number(float64(d.Round(100*time.Microsecond))/1e6, 1) + " ms"
}

func number(f float64, digits int) string {
	s := strconv.FormatFloat(f, 'f', digits, 64)
	if digits > 0 {
		for s[len(s)-1] == '0' {
			s = s[:len(s)-1]
		}
		if s[len(s)-1] == '.' {
			s = s[:len(s)-1]
		}
	}
	return s
}

// px writes a coordinate to a tenth.
func px(f float64) string { return number(f, 1) }
