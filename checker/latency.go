package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// Latency is how long the operations of one kind took in one phase.
type Latency struct {
	Do history.Do `json:"do"`
	// Phase is before, during or after: during is also an operation that was
	// under way when the faults began or ended.
	Phase  string        `json:"phase"`
	N      int           `json:"n"` // answered
	Median time.Duration `json:"median"`
	P99    time.Duration `json:"p99"`
	Max    time.Duration `json:"max"`
}

// The phases of a run. One without faults is before all of them.
const (
	Before = "before"
	During = "during"
	After  = "after"
)

// latencies sums up what a holder waits for, by operation and phase.
func (r *record) latencies() []Latency {
	took := map[history.Do]map[string][]time.Duration{}
	from, to, faulty := r.period()
	for _, o := range r.ops {
		if o.ret == nil {
			continue
		}
		phase := During
		switch {
		case !faulty || pos(o.ret) < from:
			phase = Before
		case pos(o.call) > to:
			phase = After
		}
		if took[o.call.Do] == nil {
			took[o.call.Do] = map[string][]time.Duration{}
		}
		took[o.call.Do][phase] = append(took[o.call.Do][phase], o.took())
	}
	var all []Latency
	for _, do := range []history.Do{history.Acquire, history.Extend, history.Release} {
		for _, phase := range []string{Before, During, After} {
			if list := took[do][phase]; len(list) > 0 {
				slices.Sort(list)
				all = append(all, Latency{do, phase, len(list), rank(list, 50), rank(list, 99), list[len(list)-1]})
			}
		}
	}
	return all
}

// rank is the least value of a sorted list that so many percent of it do not exceed.
func rank(sorted []time.Duration, percent int) time.Duration {
	return sorted[(len(sorted)*percent+99)/100-1]
}
