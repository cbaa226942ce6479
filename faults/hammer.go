package faults

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"lockchaos/locks"
)

// Hammer draws faults at random: several at once, overlapping, each healing by
// itself, and then a quiet end in which the system must recover.
type Hammer struct {
	// For is how long faults are started; each also ends within it.
	For locks.Duration `yaml:"for"`
	// Every is the mean time between two starts (400ms), Lasts the mean duration (300ms).
	Every locks.Duration `yaml:"every,omitempty"`
	Lasts locks.Duration `yaml:"lasts,omitempty"`
	// Weights say how often each kind of fault is drawn.
	Weights map[string]int `yaml:"weights"`
}

// The defaults of a hammer.
const (
	DefaultEvery = 400 * time.Millisecond
	DefaultLasts = 300 * time.Millisecond
)

// shortest is the least duration of a drawn fault.
const shortest = time.Millisecond

// Draw draws the schedule of a seed. The same seed gives the same schedule.
func (h Hammer) Draw(seed int64, hosts, nodes []string) []Spec {
	return h.DrawPeers(seed, hosts, hosts, nodes)
}

// DrawPeers is Draw where links lead to the nodes from others than the hosts, too.
func (h Hammer) DrawPeers(seed int64, hosts, near, nodes []string) []Spec {
	d := drawer{rng: rand.New(rand.NewPCG(uint64(seed), 0x68616d6d6572)), hosts: hosts, near: near, nodes: nodes, busy: map[string]time.Duration{}, taken: map[time.Duration]bool{}}
	var specs []Spec
	kinds := slices.Sorted(maps.Keys(h.Weights))
	for next := d.about(h.Every.D()); next < h.For.D(); next += d.about(h.Every.D()) {
		kind := d.kind(kinds, h.Weights)
		at := d.apart(next)
		end := d.apart(min(at+d.about(h.Lasts.D()), h.For.D()))
		if s, ok := d.spec(kind, at, max(end-at, shortest)); ok {
			specs = append(specs, s)
		}
	}
	return specs
}

// apart moves an instant on until no other fault starts or ends at it: what
// happens at one instant has no order in the simulation.
func (d *drawer) apart(at time.Duration) time.Duration {
	for d.taken[at] {
		at += 5 * time.Microsecond
	}
	d.taken[at] = true
	return at
}

type drawer struct {
	rng          *rand.Rand
	hosts, nodes []string
	near         []string                 // where links begin
	taken        map[time.Duration]bool   // instants at which a fault starts or ends
	busy         map[string]time.Duration // until when a host or node is paused or down
}

// about draws from an exponential distribution, in whole microseconds, up to
// ten times its mean.
func (d *drawer) about(mean time.Duration) time.Duration {
	x := min(d.rng.ExpFloat64(), 10) * float64(mean)
	return max(time.Duration(x), shortest).Round(5 * time.Microsecond)
}

func (d *drawer) kind(kinds []string, weights map[string]int) Kind {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	n := d.rng.IntN(sum)
	for _, name := range kinds {
		if n -= weights[name]; n < 0 {
			k, _ := Find(name) // validated
			return k
		}
	}
	panic("unreachable: the weights add up")
}

// spec draws the targets and the rest of one fault. There is none where all its
// targets are stopped or down already.
func (d *drawer) spec(k Kind, at, long time.Duration) (Spec, bool) {
	s := Spec{Kind: k.Name, From: At(at), Direction: "both"}
	if k.Heals {
		s.For = locks.Duration(long)
	}
	s.Most = locks.Duration(max(DefaultMost, 2*long))
	switch {
	case k.Link():
		near, nodes := d.some(d.near), d.some(d.nodes)
		if len(nodes) == 1 { // there is no link from a node to itself
			near = slices.DeleteFunc(near, func(n string) bool { return n == nodes[0] })
		}
		s.Hosts, s.Nodes = near, nodes
		d.rest(k, &s)
		return s, len(near) > 0
	case k.Hosts:
		s.Hosts = d.one(d.hosts, at, at+long)
		d.rest(k, &s)
		return s, s.Hosts != nil
	default:
		s.Nodes = d.one(d.nodes, at, at+long)
		d.rest(k, &s)
		return s, s.Nodes != nil
	}
}

// rest draws the keys that only this kind takes.
func (d *drawer) rest(k Kind, s *Spec) {
	if k.draw != nil {
		k.draw(d, s)
	}
}

func drawDirection(d *drawer, s *Spec) {
	s.Direction = []string{"both", "requests", "replies"}[d.rng.IntN(3)]
}

// one draws a target that is neither stopped nor down at the time. A node or
// host is left alone for a moment after each deed.
func (d *drawer) one(names []string, from, until time.Duration) []string {
	free := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return d.busy[n] > from })
	if len(free) == 0 {
		return nil
	}
	n := free[d.rng.IntN(len(free))]
	d.busy[n] = until + 100*time.Millisecond
	return []string{n}
}

// some draws at least one of the names, in their order.
func (d *drawer) some(names []string) []string {
	n := 1 + d.rng.IntN(len(names))
	picked := d.rng.Perm(len(names))[:n]
	slices.Sort(picked)
	out := make([]string, n)
	for i, p := range picked {
		out[i] = names[p]
	}
	return out
}

// At is the trigger at a time since the start of the run.
func At(d time.Duration) Trigger {
	return Trigger{At: d, Timed: true, text: fmt.Sprintf("at %s", d)}
}
