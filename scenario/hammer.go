package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"lockchaos/faults"
	"lockchaos/locks"
)

func (s *Scenario) validateHammer() *problem {
	h := s.Hammer
	if h == nil {
		return nil
	}
	if p := first(
		must(len(s.Faults)+len(s.Order) == 0, "hammer", "a hammer draws its own faults, it goes with neither faults nor order"),
		must(h.For > 0 && h.For < s.Deadline, "hammer.for", "%s, expected above 0 and below the deadline %s", h.For, s.Deadline),
		must(h.Every > 0, "hammer.every", "%s, expected above 0", h.Every),
		must(h.Lasts > 0, "hammer.lasts", "%s, expected above 0", h.Lasts),
		must(h.For.D()/h.Every.D() <= 10_000, "hammer.every", "%s in %s, expected at most 10000 faults", h.Every, h.For),
		must(len(h.Weights) > 0, "hammer.weights", "none given, expected kinds of fault with a weight each"),
	); p != nil {
		return p
	}
	sum := 0
	for _, kind := range slices.Sorted(maps.Keys(h.Weights)) {
		path := "hammer.weights." + kind
		k, ok := faults.Find(kind)
		if !ok {
			return oneOf(path, kind, kindNames())
		}
		if p := must(!k.Data || !s.failsOver(), path, "%s is not drawn over a Sentinel group: it may fall on a Sentinel", kind); p != nil {
			return p
		}
		if p := must(!k.Failovers, path, "%s is not drawn: what it is done to depends on who is the master by then", kind); p != nil {
			return p
		}
		w := h.Weights[kind]
		if p := must(w >= 0 && w <= 1000, path, "%d, expected 0 to 1000", w); p != nil {
			return p
		}
		sum += w
	}
	return must(sum > 0, "hammer.weights", "all are 0")
}

func kindNames() []string {
	var names []string
	for _, k := range faults.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Drawn is the scenario with the faults that its hammer draws for a seed; the
// scenario itself where it has none. Its source is a file that can be run by
// itself, with the same seed.
func (s *Scenario) Drawn(seed int64) (*Scenario, error) {
	if s.Hammer == nil {
		return s, nil
	}
	d := *s
	near := s.HostNames()
	if s.failsOver() { // nodes have links among each other
		near = append(near, s.NodeNames()...)
	}
	d.Hammer, d.Faults = nil, s.Hammer.DrawPeers(seed, s.HostNames(), near, s.NodeNames())
	// What a drawn fault finds to do is chance: it may have no message to hold.
	for i := range d.Faults {
		d.Faults[i].Optional = true
	}
	return d.withSource(fmt.Sprintf("drawn from %s; the same again: chaos run FILE --on sim --seed %d", s.Name, seed))
}

// withSource writes the scenario as a file of its own, under a comment.
func (s *Scenario) withSource(comment string) (*Scenario, error) {
	b, err := yaml.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write scenario %s: %w", s.Name, err)
	}
	c := *s
	c.Source = append([]byte("# "+strings.ReplaceAll(comment, "\n", " ")+"\n"), b...)
	return &c, nil
}

func (s *Scenario) hammerDefaults() {
	if s.Hammer == nil {
		return
	}
	if s.Hammer.Every == 0 {
		s.Hammer.Every = locks.Duration(faults.DefaultEvery)
	}
	if s.Hammer.Lasts == 0 {
		s.Hammer.Lasts = locks.Duration(faults.DefaultLasts)
	}
}

// Alone is the scenario with one guard and what is expected with it, written as
// a file of its own under a comment, and read back from it: what it then holds is
// what a run of that file does. The error is an *Error where no such file can be.
func (s *Scenario) Alone(guard string, e Expect, comment string) (*Scenario, error) {
	c := *s
	c.Guards, c.Expect, c.Control = []string{guard}, map[string]Expect{guard: e}, NoControl
	w, err := c.withSource(comment)
	if err != nil {
		return nil, err
	}
	return Parse(w.Source, s.File)
}
