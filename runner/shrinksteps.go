package runner

import (
	"cmp"
	"slices"
	"time"

	"lockchaos/faults"
	"lockchaos/locks"
	"lockchaos/scenario"
)

// smallest takes away whatever can be, until nothing more can.
func (k *Shrinker) smallest() {
	for {
		size := weigh(k.best)
		k.fewerFaults()
		k.fewerOrders()
		k.fewerTargets()
		k.fewerHosts()
		k.shorter()
		if weigh(k.best) == size { // only then: it takes many runs
			k.finer()
		}
		if weigh(k.best) == size || k.over() {
			return
		}
	}
}

// weigh is what shrinking makes smaller.
func weigh(s *scenario.Scenario) [6]int64 {
	w := [6]int64{int64(len(s.Faults)), int64(len(s.Order)), 0, int64(s.Hosts), 0, int64(s.Workload.Rounds)}
	for _, f := range s.Faults {
		w[2] += int64(len(f.Hosts) + len(f.Nodes))
		w[4] += int64(f.For + f.Latency + f.Jitter)
	}
	return w
}

func (k *Shrinker) with(faults []faults.Spec) scenario.Scenario {
	s := *k.best
	s.Faults = faults
	return s
}

// mostAlone is how many faults are tried by themselves.
const mostAlone = 8

// oneFault tries single faults, the last that began before the finding first: where
// one is enough, this finds it in far fewer runs than taking away all others does, and
// is not led to a schedule from which no step leads on.
func (k *Shrinker) oneFault() {
	near := slices.DeleteFunc(slices.Clone(k.best.Faults), func(f faults.Spec) bool {
		return !f.From.Timed || f.From.At > k.when
	})
	slices.SortStableFunc(near, func(a, b faults.Spec) int { return cmp.Compare(b.From.At, a.From.At) })
	for _, f := range near[:min(len(near), mostAlone)] {
		if len(k.best.Faults) > 2 && k.keep(k.with([]faults.Spec{f})) {
			return
		}
	}
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

// fewerOrders takes orders away: all, or one by one.
func (k *Shrinker) fewerOrders() {
	s := *k.best
	if s.Order = nil; len(k.best.Order) > 1 && k.keep(s) {
		return
	}
	for i := len(k.best.Order) - 1; i >= 0; i-- {
		s := *k.best
		s.Order = slices.Delete(slices.Clone(s.Order), i, i+1)
		k.keep(s)
	}
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

// fewerHosts takes away the last host, as long as two are left, and then rounds.
func (k *Shrinker) fewerHosts() {
	for k.best.Hosts > 2 && k.keep(without(*k.best, scenario.HostName(k.best.Hosts-1))) {
	}
	for k.best.Workload.Rounds > 1 {
		s := *k.best
		s.Workload.Rounds /= 2
		if !k.keep(s) {
			break
		}
	}
}

// without is a scenario that has lost its last host, and all that names it: a fault
// or an order that waits for a host that is not there is no scenario.
func without(s scenario.Scenario, host string) scenario.Scenario {
	waits := func(t faults.Trigger) bool { return !t.IsZero() && !t.Timed && t.Point.Host == host }
	all := s.Faults
	s.Hosts--
	s.Faults = nil
	for _, f := range all {
		had := len(f.Hosts) > 0
		f.Hosts = slices.DeleteFunc(slices.Clone(f.Hosts), func(h string) bool { return h == host })
		if !(had && len(f.Hosts) == 0 || waits(f.From) || waits(f.Until)) {
			s.Faults = append(s.Faults, f)
		}
	}
	s.Order = slices.DeleteFunc(slices.Clone(s.Order), func(o faults.Order) bool {
		return o.Step.Host == host || waits(o.After)
	})
	return s
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
		by := (first / 2).Truncate(time.Millisecond)
		list := slices.Clone(k.best.Faults)
		for i := range list {
			if list[i].From.Timed {
				list[i].From = faults.At(list[i].From.At - by)
			}
		}
		k.keep(k.with(list))
	}
}

// rounder rounds times to milliseconds: the rest of their digits are from drawing
// and halving, and hide which of them matter. All at once, or else each by itself.
func (k *Shrinker) rounder() {
	list := slices.Clone(k.best.Faults)
	for i := range list {
		roundStart(&list[i])
		roundLengths(&list[i])
	}
	if k.rounded(list) {
		return
	}
	for i := range k.best.Faults {
		for _, round := range []func(*faults.Spec){roundStart, roundLengths} {
			list := slices.Clone(k.best.Faults)
			round(&list[i])
			k.rounded(list)
		}
	}
}

// rounded tries faults that were rounded. What happens at one instant has no order
// in the simulation: none may come to the instant of another.
func (k *Shrinker) rounded(list []faults.Spec) bool {
	return (apart(list) || !apart(k.best.Faults)) && k.keep(k.with(list))
}

func roundStart(f *faults.Spec) {
	if f.From.Timed {
		f.From = faults.At(whole(f.From.At))
	}
}

func roundLengths(f *faults.Spec) {
	for _, d := range []*locks.Duration{&f.For, &f.Latency, &f.Jitter, &f.By, &f.Down, &f.Most} {
		*d = locks.Duration(whole(d.D()))
	}
}

// whole is a time in whole milliseconds. What is shorter stays as it is.
func whole(d time.Duration) time.Duration {
	if r := d.Round(time.Millisecond); r != 0 {
		return r
	}
	return d
}

// apart tells that no two faults start or end at one instant, as far as the clock
// says when they do.
func apart(list []faults.Spec) bool {
	taken := map[time.Duration]bool{}
	for _, f := range list {
		if !f.From.Timed {
			continue
		}
		at := []time.Duration{f.From.At}
		if long := f.For.D() + f.Down.D(); long > 0 {
			at = append(at, f.From.At+long)
		}
		for _, t := range at {
			if taken[t] {
				return false
			}
			taken[t] = true
		}
	}
	return true
}

// plainSeed takes the seed that a run has where none is named, if that will do.
func (k *Shrinker) plainSeed() {
	if k.found.Scenario != nil && k.seed != DefaultSeed && k.givesWith(k.best, DefaultSeed) {
		k.take(k.best)
	}
}
