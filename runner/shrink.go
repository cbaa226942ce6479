package runner

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/faults"
	"lockchaos/locks"
	"lockchaos/scenario"
)

// Shrinker looks for the smallest schedule that still gives one finding, by
// running ever smaller ones in the simulation.
type Shrinker struct {
	Bubble func(func())
	World  World
	Guard  string
	// Seed is that of the run at first, and of the smallest one in the end. A
	// smaller schedule shifts every later draw, so that what it found is found at
	// other draws or not at all: each is tried with Seeds seeds.
	Seed   int64
	Seeds  int
	Kind   string // of the finding, with a cause or with any: double-grant/state-loss, double-grant
	Budget int    // most runs
	// Tried is told after each schedule that was tried how many runs there have
	// been, and the smallest so far.
	Tried func(runs int, best *scenario.Scenario)

	runs  int
	best  *scenario.Scenario
	last  Seed
	vague bool // the run was inconclusive to begin with
}

// ErrNotThere is returned where the schedule does not give the finding at all.
var ErrNotThere = errors.New("the run does not give this finding")

// Shrink returns the smallest scenario found, and how many runs it took.
func (k *Shrinker) Shrink(s *scenario.Scenario) (*scenario.Scenario, int, error) {
	k.vague = true
	if !k.givesWith(s, k.Seed) {
		return nil, k.runs, fmt.Errorf("%w: %s", ErrNotThere, k.Kind)
	}
	k.vague = k.last.Outcome == checker.Inconclusive
	k.best = s
	for {
		size := weigh(k.best)
		k.fewerFaults()
		k.fewerTargets()
		k.fewerHosts()
		k.shorter()
		if weigh(k.best) == size { // only then: it takes many runs
			k.finer()
		}
		if weigh(k.best) == size || k.runs >= k.Budget {
			return k.best, k.runs, nil
		}
	}
}

// weigh is what shrinking makes smaller.
func weigh(s *scenario.Scenario) [5]int64 {
	w := [5]int64{int64(len(s.Faults)), 0, int64(s.Hosts), 0, int64(s.Workload.Rounds)}
	for _, f := range s.Faults {
		w[1] += int64(len(f.Hosts) + len(f.Nodes))
		w[3] += int64(f.For + f.Latency + f.Jitter)
	}
	return w
}

// gives runs a scenario and tells whether it gives the finding: with the seed
// that gave it last, or with one of the first few.
func (k *Shrinker) gives(s *scenario.Scenario) bool {
	if k.givesWith(s, k.Seed) {
		return true
	}
	for seed := range int64(k.Seeds - 1) {
		if seed+1 != k.Seed && k.givesWith(s, seed+1) {
			k.Seed = seed + 1
			return true
		}
	}
	return false
}

func (k *Shrinker) givesWith(s *scenario.Scenario, seed int64) bool {
	if k.runs >= k.Budget {
		return false
	}
	k.runs++
	k.last = runSeed(k.Bubble, k.World, s, k.Guard, seed)
	if k.last.Outcome == checker.Inconclusive && !k.vague {
		return false // what is left proves nothing
	}
	return slices.ContainsFunc(k.last.Findings, func(f SeedFinding) bool {
		id, _, _ := strings.Cut(f.Kind, "/")
		return k.Kind == f.Kind || k.Kind == id
	})
}

// keep takes a smaller scenario if it still gives the finding.
func (k *Shrinker) keep(s scenario.Scenario) bool {
	smaller := k.gives(&s)
	if smaller {
		k.best = &s
	}
	if k.Tried != nil {
		k.Tried(k.runs, k.best)
	}
	return smaller
}

func (k *Shrinker) with(faults []faults.Spec) scenario.Scenario {
	s := *k.best
	s.Faults = faults
	return s
}

// fewerFaults is delta debugging over the faults: it takes away halves, then
// quarters, and so on to single ones. Zeller and Hildebrandt, "Simplifying and
// Isolating Failure-Inducing Input" (2002).
func (k *Shrinker) fewerFaults() {
	for size := (len(k.best.Faults) + 1) / 2; size >= 1; {
		removed := false
		for at := 0; at < len(k.best.Faults); {
			end := min(at+size, len(k.best.Faults))
			rest := slices.Concat(k.best.Faults[:at], k.best.Faults[end:])
			if k.keep(k.with(rest)) {
				removed = true
			} else {
				at = end
			}
		}
		if size == 1 && !removed {
			return
		}
		size = max(1, size/2)
	}
}

// change tries a change of one fault.
func (k *Shrinker) change(i int, f func(*faults.Spec)) bool {
	list := slices.Clone(k.best.Faults)
	spec := list[i]
	spec.Hosts, spec.Nodes = slices.Clone(spec.Hosts), slices.Clone(spec.Nodes)
	f(&spec)
	list[i] = spec
	return k.keep(k.with(list))
}

// fewerTargets takes hosts and nodes away from each fault.
func (k *Shrinker) fewerTargets() {
	for i := range k.best.Faults {
		for j := len(k.best.Faults[i].Hosts) - 1; j >= 0 && len(k.best.Faults[i].Hosts) > 1; j-- {
			k.change(i, func(f *faults.Spec) { f.Hosts = slices.Delete(f.Hosts, j, j+1) })
		}
		for j := len(k.best.Faults[i].Nodes) - 1; j >= 0 && len(k.best.Faults[i].Nodes) > 1; j-- {
			k.change(i, func(f *faults.Spec) { f.Nodes = slices.Delete(f.Nodes, j, j+1) })
		}
	}
}

// fewerHosts takes away the last host, and what is done to it, as long as two are left.
func (k *Shrinker) fewerHosts() {
	for k.best.Hosts > 2 {
		s := *k.best
		last := scenario.HostName(s.Hosts - 1)
		s.Hosts--
		s.Faults = nil
		for _, f := range k.best.Faults {
			had := len(f.Hosts) > 0
			f.Hosts = slices.DeleteFunc(slices.Clone(f.Hosts), func(h string) bool { return h == last })
			if !had || len(f.Hosts) > 0 {
				s.Faults = append(s.Faults, f)
			}
		}
		if !k.keep(s) {
			break
		}
	}
	for k.best.Workload.Rounds > 1 {
		s := *k.best
		s.Workload.Rounds /= 2
		if !k.keep(s) {
			break
		}
	}
}

// shorter halves durations and delays, and moves all faults to an earlier start.
func (k *Shrinker) shorter() {
	for i := range k.best.Faults {
		for k.best.Faults[i].For.D() > 2*time.Millisecond &&
			k.change(i, func(f *faults.Spec) { f.For = half(f.For) }) {
		}
		for k.best.Faults[i].Latency.D() > 2*time.Millisecond &&
			k.change(i, func(f *faults.Spec) { f.Latency, f.Jitter = half(f.Latency), half(f.Jitter) }) {
		}
	}
	k.earlier()
}

// finer takes less than half away from what shorter could not halve: a quarter,
// an eighth and a sixteenth.
func (k *Shrinker) finer() {
	for i := range k.best.Faults {
		for _, part := range []locks.Duration{4, 8, 16} {
			for k.best.Faults[i].For.D() > 2*time.Millisecond &&
				k.change(i, func(f *faults.Spec) { f.For = less(f.For, part) }) {
			}
			for k.best.Faults[i].Latency.D() > 2*time.Millisecond &&
				k.change(i, func(f *faults.Spec) { f.Latency, f.Jitter = less(f.Latency, part), less(f.Jitter, part) }) {
			}
		}
	}
}

// less takes one of so many parts away.
func less(d, parts locks.Duration) locks.Duration {
	return d - locks.Duration((d / parts).D().Round(5*time.Microsecond))
}

func half(d locks.Duration) locks.Duration {
	return locks.Duration((d.D() / 2).Round(5 * time.Microsecond))
}

// earlier moves all timed starts by one amount, which leaves their order.
func (k *Shrinker) earlier() {
	first := time.Duration(-1)
	for _, f := range k.best.Faults {
		if f.From.Timed && (first < 0 || f.From.At < first) {
			first = f.From.At
		}
	}
	for ; first > 10*time.Millisecond; first /= 2 {
		list := slices.Clone(k.best.Faults)
		for i := range list {
			if list[i].From.Timed {
				list[i].From = faults.At(list[i].From.At - first/2)
			}
		}
		k.keep(k.with(list))
	}
}
