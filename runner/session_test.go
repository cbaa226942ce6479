package runner

import (
	"io"
	"testing"
	"time"

	"lockchaos/history"
	"lockchaos/host"
)

// What a host tells of its nodes is kept as it was told.
func TestHeard(t *testing.T) {
	rec, err := history.NewRecorder(io.Discard, history.Header{TTL: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var h history.History
	rec.Keep(&h)
	s := &session{name: "w1", lock: lockName, rec: rec}
	hear := s.heard([]string{"n1", "n2"})
	hear(host.Event{Event: host.EventTrace, ID: 7, Node: 1, Command: "set", Vote: "no", MS: 1.234})
	hear(host.Event{Event: host.EventTrace, Node: 5, Vote: "error", MS: -1, Text: "reset"})
	hear(host.Event{Event: host.EventTrace, Vote: "yes", MS: 1e300})
	hear(host.Event{Event: host.EventLost, Grant: 3, Text: "gone"})
	hear(host.Event{Event: host.EventStall, MS: 345.5})
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	want := []history.Event{
		{Kind: history.Trace, Host: "w1", Node: "n2", Op: 7, Code: "set", Result: history.Refused, Took: 1234 * time.Microsecond},
		{Kind: history.Trace, Host: "w1", Result: history.Failed, Text: "reset"},
		{Kind: history.Trace, Host: "w1", Node: "n1", Result: history.OK, Took: 1<<63 - 1},
		{Kind: history.Lost, Host: "w1", Lock: lockName, Grant: 3, Text: "gone"},
		{Kind: history.Stall, Host: "w1", Value: 345_500_000},
	}
	if len(h.Events) != len(want) {
		t.Fatalf("%d events, want %d", len(h.Events), len(want))
	}
	for i, e := range h.Events {
		e.Seq, e.T = 0, 0
		if e != want[i] {
			t.Errorf("%+v, want %+v", e, want[i])
		}
	}
}
