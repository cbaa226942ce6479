package checker

import (
	"slices"
	"testing"
	"time"

	"lockchaos/history"
)

// Operations are sorted by the faults that they overlap, not by where they ended.
func TestLatencies(t *testing.T) {
	h := &history.History{Header: history.Header{TTL: time.Second}}
	op := int64(0)
	add := func(at time.Duration, e history.Event) {
		e.Seq, e.T = int64(len(h.Events))+1, at
		h.Events = append(h.Events, e)
	}
	call := func(at time.Duration, do history.Do) int64 {
		op++
		add(at, history.Event{Kind: history.Call, Do: do, Host: "w1", Op: op})
		return op
	}
	ret := func(at time.Duration, do history.Do, op int64) {
		add(at, history.Event{Kind: history.Return, Do: do, Host: "w1", Op: op, Result: history.Refused})
	}
	fault := func(at time.Duration, step string) {
		add(at, history.Event{Kind: history.Fault, Fault: &history.FaultStep{ID: "f1", Name: "slow", Step: step}})
	}
	for i := range time.Duration(4) { // 10, 20, 30 and 40 ms
		ret(100*i+10*(i+1), history.Acquire, call(100*i, history.Acquire))
	}
	hung := call(400, history.Release)
	fault(410, history.FaultStart)
	fault(411, history.FaultProved)
	ret(430, history.Acquire, call(420, history.Acquire))
	late := call(440, history.Acquire)
	fault(450, history.FaultHeal)
	fault(460, history.FaultHealed)
	ret(500, history.Release, hung)
	ret(510, history.Acquire, late)
	ret(525, history.Extend, call(520, history.Extend))
	call(530, history.Extend) // never answered
	r, err := assemble(h)
	if err != nil {
		t.Fatal(err)
	}
	want := []PhaseLatency{
		{history.Acquire, Before, 4, 20, 40, 40}, {history.Acquire, During, 2, 10, 70, 70},
		{history.Extend, After, 1, 5, 5, 5},
		{history.Release, During, 1, 100, 100, 100},
	}
	if got := r.phaseLatencies(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	h.Events = h.Events[:8]
	if r, err = assemble(h); err != nil {
		t.Fatal(err)
	}
	if got := r.phaseLatencies(); !slices.Equal(got, want[:1]) {
		t.Errorf("without faults: %v", got)
	}
}
