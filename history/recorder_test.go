package history_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/history"
)

// head is a header that a reader accepts.
var head = history.Header{
	Scenario: "single/x", World: "local", System: "single", TTL: 300 * time.Millisecond, Quorum: 1,
	Workload: "counter", Guard: history.GuardNone, Discipline: history.Trusting, Faults: 1,
	Needs: history.Phases{Before: history.Ops{Attempts: 2, Grants: 1}},
}

// one is an event of each kind, with every field set somewhere.
var one = []history.Event{
	{Kind: history.Call, Do: history.Acquire, Host: "w1", Lock: "counter", Op: 1},
	{Kind: history.Trace, Host: "w1", Node: "n1", Op: 1, Code: "eval", Result: history.OK},
	{Kind: history.Return, Do: history.Acquire, Host: "w1", Lock: "counter", Op: 1, Grant: 1, Owner: "a\u2028<&>\n",
		Token: 7, Validity: 299 * time.Millisecond, Result: history.OK, Backed: 1},
	{Kind: history.Fault, Fault: &history.FaultStep{ID: "f1", Name: "pause-host", Step: history.FaultProved,
		Targets: []string{"w1"}, Proof: "process state T"}},
	{Kind: history.Call, Do: history.Write, Host: "w1", Op: 2, Grant: 1, Token: 7, Value: -1},
	{Kind: history.Return, Do: history.Write, Host: "w1", Op: 2, Grant: 1, Result: history.Unknown, Code: "no-answer", Text: "EOF"},
	{Kind: history.Lost, Host: "w1", Grant: 1, Text: "extend refused"},
	{Kind: history.Exit, Host: "w1", Text: "signal: killed"},
	{Kind: history.Ledger, Do: history.Write, Op: 2, Grant: 1, Result: history.OK, Before: 4, Value: 5},
	{Kind: history.Final, Value: 5},
	{Kind: history.Note, Text: "words"},
	{Kind: history.End},
}

func TestRoundTrip(t *testing.T) {
	var out bytes.Buffer
	r, err := history.NewRecorder(&out, head)
	if err != nil {
		t.Fatal(err)
	}
	var want []history.Event
	for _, e := range one {
		want = append(want, r.Add(e))
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wantHead := head
	wantHead.Format, wantHead.Version = history.Format, history.Version
	if h.Header != wantHead {
		t.Errorf("header %+v, want %+v", h.Header, wantHead)
	}
	if !reflect.DeepEqual(h.Events, want) {
		t.Errorf("events\n%+v, want\n%+v", h.Events, want)
	}
	if !h.Complete || h.Truncated {
		t.Errorf("complete %v, truncated %v, want a complete history", h.Complete, h.Truncated)
	}
	for i, e := range h.Events {
		e.Seq, e.T = 0, 0
		if !reflect.DeepEqual(e, one[i]) {
			t.Errorf("event %d: %+v, want %+v", i+1, e, one[i])
		}
	}
}

func TestOpenNamesAMissingFile(t *testing.T) {
	if _, err := history.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
}

// Many goroutines record at once, while the recorder is flushed: ReadAll itself
// refuses a gap in the numbers and a time that goes back.
func TestConcurrentUse(t *testing.T) {
	const goroutines, each = 20, 200
	var out bytes.Buffer
	r, err := history.NewRecorder(&out, head)
	if err != nil {
		t.Fatal(err)
	}
	ops := make(chan int64, goroutines*each)
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for i := range each {
				op := r.NextOp()
				ops <- op
				e := r.Add(history.Event{Kind: history.Call, Do: history.Check, Op: op})
				f := r.Add(history.Event{Kind: history.Return, Do: history.Check, Op: op, Result: history.OK})
				if f.Seq <= e.Seq || f.T < e.T {
					t.Errorf("the return (%d, %s) is not after its call (%d, %s)", f.Seq, f.T, e.Seq, e.T)
				}
				if i%50 == 0 {
					if err := r.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	close(ops)
	seen := map[int64]bool{}
	for op := range ops {
		if seen[op] || op < 1 || op > goroutines*each {
			t.Errorf("operation number %d is given twice, or is not from 1 to %d", op, goroutines*each)
		}
		seen[op] = true
	}
	h, err := history.ReadAll(&out, "history")
	if err != nil {
		t.Fatal(err)
	}
	if len(h.Events) != 2*goroutines*each {
		t.Errorf("%d events, want %d", len(h.Events), 2*goroutines*each)
	}
	if h.Complete {
		t.Error("complete without an End")
	}
}

// guarded is a writer that can be looked into while it is written to.
type guarded struct {
	mu  sync.Mutex
	b   []byte
	err error // answers writes from now on
}

func (g *guarded) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil {
		return 0, g.err
	}
	g.b = append(g.b, p...)
	return len(p), nil
}

func (g *guarded) read(t *testing.T) *history.History {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	h, err := history.ReadAll(bytes.NewReader(g.b), "history")
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A harness that is killed loses at most FlushEvery.
func TestFlushWithoutClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &guarded{}
		r, err := history.NewRecorder(out, head)
		if err != nil {
			t.Fatal(err)
		}
		if h := out.read(t); h.Header.Scenario != head.Scenario {
			t.Errorf("the header is not there at once: %+v", h.Header)
		}
		r.Add(one[0])
		if n := len(out.read(t).Events); n != 0 {
			t.Errorf("%d events are written before any flush, the test shows nothing", n)
		}
		time.Sleep(history.FlushEvery) // virtual
		synctest.Wait()
		h := out.read(t)
		if len(h.Events) != 1 || h.Truncated || h.Complete {
			t.Errorf("after %s: %d events, truncated %v, complete %v, want the one event", history.FlushEvery, len(h.Events), h.Truncated, h.Complete)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestTimesAreSinceTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := history.NewRecorder(io.Discard, head)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		time.Sleep(70 * time.Millisecond) // virtual
		if e := r.Add(one[0]); e.T != 70*time.Millisecond || e.Seq != 1 {
			t.Errorf("seq %d at %s, want 1 at 70ms", e.Seq, e.T)
		}
	})
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := history.NewRecorder(full, head); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a header that cannot be written: got %v, want %v", err, syscall.ENOSPC)
	}
}

// The disk fills while the run is under way.
func TestDiskFillsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &guarded{}
		r, err := history.NewRecorder(out, head)
		if err != nil {
			t.Fatal(err)
		}
		r.Add(one[0])
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		out.mu.Lock()
		out.err = syscall.ENOSPC
		out.mu.Unlock()
		r.Add(one[1])
		select {
		case <-r.Failed():
			t.Fatal("failed before anything went wrong")
		default:
		}
		<-r.Failed() // at the next flush
		if err := r.Err(); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Err: %v, want %v", err, syscall.ENOSPC)
		}
		out.mu.Lock()
		out.err = nil // room again does not make the record whole
		out.mu.Unlock()
		if e := r.Add(one[2]); e.Seq != 3 {
			t.Errorf("Add after the failure gives number %d, want 3", e.Seq)
		}
		const want = "write history: no space left on device"
		if err := r.Close(); err == nil || err.Error() != want {
			t.Errorf("Close: %v, want %s", err, want)
		}
	})
}

func TestNothingAfterEnd(t *testing.T) {
	var out bytes.Buffer
	r, err := history.NewRecorder(&out, head)
	if err != nil {
		t.Fatal(err)
	}
	r.Add(history.Event{Kind: history.End})
	r.Add(history.Event{Kind: history.Note, Text: "late"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := history.ReadAll(&out, "history")
	if err != nil || !h.Complete || len(h.Events) != 1 {
		t.Errorf("%d events, complete %v, %v; want End alone", len(h.Events), h.Complete, err)
	}
}
