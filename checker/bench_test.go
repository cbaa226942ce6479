package checker

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"lockchaos/history"
)

const million = 1_000_000

// bigLock is a lock of n/2 grants, one acquire and one release each, of ten
// hosts that always wait for it, with a token and an increment for each.
func bigLock(n int) *record {
	l := &lock{name: "lock", counter: &counter{}}
	r := &record{h: &history.History{}, locks: []*lock{l}}
	for i := range n / 2 {
		p := int64(20 * (i + 10))
		t := time.Duration(p) * time.Microsecond
		s := span{call: p - 150, start: p, end: p + 15, startT: t, endT: t + 15, g: i}
		l.promises = append(l.promises, s)
		l.counter.steps = append(l.counter.steps, step{call: p + 2, ret: p + 10, key: int64(i) + 1})
	}
	l.beliefs = l.promises
	return r
}

func tokensOf(l *lock) []step {
	steps := make([]step, len(l.promises))
	for i, s := range l.promises {
		steps[i] = step{call: s.call, ret: s.start, key: int64(i) + 1}
	}
	return steps
}

// peak samples the heap while f runs and gives its greatest size above what
// there was before, in MB.
func peak(f func()) float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, top := m.HeapAlloc, m.HeapAlloc
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				runtime.ReadMemStats(&m)
				top = max(top, m.HeapAlloc)
			}
		}
	}()
	f()
	close(stop)
	<-done
	runtime.ReadMemStats(&m)
	return float64(max(top, m.HeapAlloc)-before) / 1e6
}

// BenchmarkSweep1M makes and sweeps a history of a million operations, for all
// four properties.
func BenchmarkSweep1M(b *testing.B) {
	for b.Loop() {
		mb := peak(func() {
			l := bigLock(million).locks[0]
			b.StartTimer()
			ok := disjoint(l.promises) && disjoint(l.beliefs) && ordered(tokensOf(l), false) && ordered(l.counter.steps, true)
			pairs, more := overlapping(l.promises, 100)
			if !ok || len(pairs)+more > 0 {
				b.Fatal("illegal")
			}
		})
		b.ReportMetric(mb, "peak-MB")
	}
}

// BenchmarkPorcupine1M checks the same million with Porcupine, in chunks, for
// mutual exclusion, tokens and the counter.
func BenchmarkPorcupine1M(b *testing.B) {
	l := bigLock(million).locks[0]
	c := &consultation{o: Options{}.filled(), deadline: time.Now().Add(time.Hour)}
	tokens := tokensOf(l)
	for b.Loop() {
		mb := peak(func() {
			n := 0
			for _, chunks := range []func(func(chunk) bool){
				spanChunks(l.promises, c.o.ChunkOps),
				stepChunks(tokens, c.o.ChunkOps, false, 1<<62),
				stepChunks(l.counter.steps, c.o.ChunkOps, true, 1<<62),
			} {
				for ch := range chunks {
					n++
					if a := c.check(ch); a != answerOK {
						b.Fatal(a)
					}
				}
			}
			b.ReportMetric(float64(n), "chunks")
		})
		b.ReportMetric(mb, "peak-MB")
	}
}

// rounds is a history of n events: three hosts that take turns.
func rounds(n int) *history.History {
	h := &history.History{Complete: true, Header: history.Header{
		Format: history.Format, Version: history.Version, World: "sim", TTL: 300 * time.Millisecond, Quorum: 1,
		Guard: history.GuardFence, Discipline: history.ChecksLease,
	}}
	add := func(e history.Event) {
		e.Seq = int64(len(h.Events)) + 1
		e.T = time.Duration(e.Seq) * 100 * time.Microsecond
		h.Events = append(h.Events, e)
	}
	var op, value int64
	do := func(host string, d history.Do, grant, v, token int64) int64 {
		op++
		e := history.Event{Kind: history.Call, Do: d, Host: host, Lock: "lock", Op: op, Grant: grant}
		add(e)
		e.Kind, e.Result, e.Value, e.Token, e.Validity = history.Return, history.OK, v, token, 290*time.Millisecond
		if d == history.Acquire {
			e.Grant, e.Owner = op, fmt.Sprint(op)
		}
		add(e)
		return op
	}
	var ledger []history.Event
	for len(h.Events)+len(ledger)+3 < n {
		host := fmt.Sprintf("w%d", value%3+1)
		g := do(host, history.Acquire, 0, 0, value+1)
		do(host, history.Read, g, value, 0)
		do(host, history.Check, g, 0, 0)
		w := do(host, history.Write, g, value+1, 0)
		ledger = append(ledger, history.Event{Kind: history.Ledger, Do: history.Write, Host: host, Op: w, Grant: g,
			Before: value, Value: value + 1, Result: history.OK})
		do(host, history.Release, g, 0, 0)
		value++
	}
	for _, e := range ledger {
		add(e)
	}
	add(history.Event{Kind: history.Final, Value: value})
	add(history.Event{Kind: history.End})
	return h
}

// BenchmarkJudge judges a whole history of 100,000 events.
func BenchmarkJudge(b *testing.B) {
	h := rounds(100_000)
	for b.Loop() {
		mb := peak(func() {
			v, err := Judge(h)
			if err != nil || v.Outcome != Safe {
				b.Fatal(v, err)
			}
		})
		b.ReportMetric(mb, "peak-MB")
	}
}

// BenchmarkJudgeBroken judges a history of 100,000 events in which the lock
// does nothing at all: nobody ever releases.
func BenchmarkJudgeBroken(b *testing.B) {
	h := rounds(100_000)
	h.Header.Discipline, h.Header.Guard = history.Trusting, history.GuardNone
	for i := range h.Events {
		if e := &h.Events[i]; e.Do == history.Release {
			e.Do = history.Check
		}
	}
	for b.Loop() {
		if v, err := Judge(h); err != nil || v.Outcome != Violated {
			b.Fatal(v, err)
		}
	}
}
