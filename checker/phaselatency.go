package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// PhaseLatency is how long the operations of one kind took in one phase.
type PhaseLatency struct {
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

// phaseLatencies sums up what a holder waits for, by operation and phase.
func (r *record) phaseLatencies() []PhaseLatency {
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
	var all []PhaseLatency
	for _, do := range []history.Do{history.Acquire, history.Extend, history.Release} {
		for _, phase := range []string{Before, During, After} {
			if list := took[do][phase]; len(list) > 0 {
				slices.Sort(list)
				all = append(all, PhaseLatency{do, phase, len(list), quantile(list, 50), quantile(list, 99), list[len(list)-1]})
			}
		}
	}
	return all
}
