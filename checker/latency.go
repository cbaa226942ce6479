package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// Latency is how long the operations of one kind took, over the whole run.
type Latency struct {
	Name string        `json:"name"` // acquire granted, acquire refused, extend, release
	N    int           `json:"n"`
	P50  time.Duration `json:"p50"`
	P90  time.Duration `json:"p90"`
	P99  time.Duration `json:"p99"`
	Max  time.Duration `json:"max"`
	// Bars are equal parts of the run in which some operation of this kind was called.
	Bars []LatencyBar `json:"bars"`
}

// LatencyBar is one part of the run.
type LatencyBar struct {
	Stretch
	N      int           `json:"n"`
	Median time.Duration `json:"median"`
	Max    time.Duration `json:"max"`
}

// bars is into how many parts a run is cut.
const bars = 60

func (r *record) latencies() []Latency {
	names := []string{"acquire granted", "acquire refused", "extend", "release"}
	took := map[string][]*op{}
	for _, o := range r.ops {
		if o.ret == nil {
			continue
		}
		switch o.call.Do {
		case history.Acquire:
			if o.result() == history.OK {
				took[names[0]] = append(took[names[0]], o)
			} else {
				took[names[1]] = append(took[names[1]], o)
			}
		case history.Extend, history.Release:
			took[string(o.call.Do)] = append(took[string(o.call.Do)], o)
		}
	}
	all := []Latency{}
	for _, name := range names {
		if len(took[name]) > 0 {
			all = append(all, r.latency(name, took[name]))
		}
	}
	return all
}

// latency sums up operations, which are in the order of their calls.
func (r *record) latency(name string, ops []*op) Latency {
	d := durations(ops)
	l := Latency{Name: name, N: len(d), P50: quantile(d, 50), P90: quantile(d, 90), P99: quantile(d, 99), Max: d[len(d)-1]}
	begin := r.begin()
	part := max((r.end().t-begin)/bars, 1)
	for i := 0; i < len(ops); {
		n := (ops[i].call.T - begin) / part
		from := i
		for i < len(ops) && (ops[i].call.T-begin)/part == n {
			i++
		}
		d := durations(ops[from:i])
		l.Bars = append(l.Bars, LatencyBar{Stretch{begin + n*part, begin + (n+1)*part}, len(d), quantile(d, 50), d[len(d)-1]})
	}
	return l
}

func durations(ops []*op) []time.Duration {
	d := make([]time.Duration, len(ops))
	for i, o := range ops {
		d[i] = o.took()
	}
	slices.Sort(d)
	return d
}

// quantile is the smallest of sorted durations that p percent do not exceed.
func quantile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)*p+99)/100-1]
}
