package checker

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"lockchaos/history"
)

// FuzzJudge: whatever can be read can be judged, or is refused with an error;
// and the oracles never disagree. Porcupine's goroutines make coverage waver,
// which stalls the minimiser: run it with -fuzzminimizetime 10x.
func FuzzJudge(f *testing.F) {
	for i := range 20 {
		f.Add(lines(f, randomHistory(rand.New(rand.NewPCG(2, uint64(i))))))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := history.ReadAll(bytes.NewReader(text), "fuzz")
		if err == nil {
			mustJudge(t, h)
		}
	})
}

// TestSoup judges events that make no sense together.
func TestSoup(t *testing.T) {
	for i := range 20_000 {
		mustJudge(t, soup(rand.New(rand.NewPCG(3, uint64(i)))))
	}
}

func mustJudge(t *testing.T, h *history.History) {
	t.Helper()
	v, err := JudgeWith(h, Options{ChunkOps: 4})
	var m *MalformedError
	if err != nil && !errors.As(err, &m) {
		t.Fatalf("%v\n%s", err, lines(t, h))
	}
	if err == nil && v.Outcome == "" {
		t.Fatal("no outcome")
	}
}

func lines(t testing.TB, h *history.History) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	if err := enc.Encode(h.Header); err != nil {
		t.Fatal(err)
	}
	for _, e := range h.Events {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// soup makes events with little regard for what belongs together: only that a
// return has its call.
func soup(rnd *rand.Rand) *history.History {
	pick := func(s ...string) string { return s[rnd.IntN(len(s))] }
	h := &history.History{Complete: true, Header: history.Header{
		TTL: time.Duration(1 + rnd.IntN(20)), Quorum: rnd.IntN(3), World: pick("sim", "local"), Faults: rnd.IntN(3),
		Guard:      pick("none", "fence", "fence-read", "version", "atomic", ""),
		Discipline: pick("trusting", "checks-lease"),
	}}
	var t time.Duration
	var open []history.Event
	for i := range rnd.IntN(60) {
		e := history.Event{
			Kind: history.Kind(pick("call", "call", "call", "return", "return", "return", "ledger", "lost", "exit", "fault", "final")),
			Do:   history.Do(pick("acquire", "acquire", "extend", "check", "release", "read", "write")),
			Host: pick("w1", "w2", "w3"), Lock: pick("a", "a", "a", "b"), Op: int64(i) + 1, Grant: int64(rnd.IntN(20)),
			Owner: pick("", "x", "y"), Token: int64(rnd.IntN(5)), Validity: time.Duration(rnd.IntN(20) - 3),
			Value: int64(rnd.IntN(8)), Before: int64(rnd.IntN(5)), Backed: rnd.IntN(2),
			Result: history.Result(pick("ok", "ok", "ok", "refused", "lost", "failed", "unknown")),
			Fault: &history.FaultStep{ID: pick("f1", "f2"), Name: pick("kill-host", "failover", "partition", "hold"),
				Step:    pick("start", "proved", "unproved", "heal", "healed", "error", "missed"),
				Targets: []string{pick("w1", "w2", "n1", "w1>n1")}},
		}
		switch e.Kind {
		case history.Call:
			open = append(open, e)
		case history.Return, history.Ledger:
			if len(open) == 0 {
				continue
			}
			k := rnd.IntN(len(open))
			e.Op, e.Do = open[k].Op, open[k].Do
			if e.Kind == history.Return {
				open = append(open[:k], open[k+1:]...)
			}
		}
		t += time.Duration(rnd.IntN(4))
		e.T, e.Seq = t, int64(len(h.Events))+1
		h.Events = append(h.Events, e)
	}
	return h
}
