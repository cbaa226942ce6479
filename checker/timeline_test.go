package checker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/history"
	"lockchaos/internal/golden"
)

func TestTimeline(t *testing.T) {
	text, err := os.ReadFile("testdata/timeline/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, c := range parseCases(t, string(text)) {
		v, tl, err := Examine(c.h)
		if err != nil {
			t.Fatal(err)
		}
		if got := kindsOf(v); v.Outcome != c.outcome || !slices.Equal(got, c.ids) {
			t.Errorf("%s: %s %v, want %s %v", c.name, v.Outcome, got, c.outcome, c.ids)
		}
		writeTimeline(&b, c.name, tl)
	}
	golden.Check(t, "testdata/timeline/cases.golden", b.String())
}

func writeTimeline(b *strings.Builder, name string, tl *Timeline) {
	fmt.Fprintf(b, "== %s\n%s to %s of %s, whole %v: %s\n", name, ms(tl.From), ms(tl.To), ms(tl.End), tl.Whole, tl.Why)
	for _, m := range tl.Moments {
		fmt.Fprintf(b, "%3d %-9s %-8s %s\n", m.N, ms(m.T), m.Lane, m.Words)
	}
	for _, k := range tl.Keys {
		fmt.Fprintf(b, "  %s holds the key of %s from %s to %s, full %d times: %s\n", k.Node, k.Host, ms(k.From), ms(k.To), len(k.Full), k.Ended)
	}
	fmt.Fprintf(b, "  nodes: %s\n", strings.Join(tl.Nodes, " "))
	for _, c := range tl.Clocks {
		fmt.Fprintf(b, "  the clock of %s from %s to %s: %s off, rate %g\n", c.Node, ms(c.From), ms(c.To), ms(c.Offset), c.Rate)
	}
	for _, e := range tl.Effects {
		fmt.Fprintf(b, "  %s %s %d, ok %v, stale %v, %s to %s\n", e.Host, e.Do, e.Value, e.OK, e.Stale, ms(e.From), ms(e.To))
	}
	if c := tl.Closest; c != nil {
		fmt.Fprintf(b, "  closest: %s and %s, %s, at %s\n", c.First, c.Second, ms(c.Gap), ms(c.At))
	}
	for _, l := range tl.Latency {
		fmt.Fprintf(b, "  %s: %d, median %s, longest %s, in %d bars\n", l.Name, l.N, ms(l.P50), ms(l.Max), len(l.Bars))
	}
	b.WriteByte('\n')
}

// Of every case there is: the picture holds what it tells of, in order, says
// the same of the margin as the verdict, and comes back from JSON as it was.
func TestTimelineHolds(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range parseCases(t, string(text)) {
			t.Run(c.name, func(t *testing.T) { examine(t, c.h) })
		}
	}
}

func examine(t *testing.T, h *history.History) {
	v, tl, err := Examine(h)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := Judge(h); err != nil || !reflect.DeepEqual(plain, v) {
		t.Errorf("Examine and Judge differ: %v", err)
	}
	for i, m := range tl.Moments {
		if m.N != i+1 || m.T < tl.From || m.T > tl.To || i > 0 && m.T < tl.Moments[i-1].T {
			t.Errorf("moment %+v in %s to %s", m, ms(tl.From), ms(tl.To))
		}
	}
	if tl.Finding >= 0 && Safety(v.Findings[tl.Finding].ID) && len(tl.Moments) == 0 {
		for _, seq := range v.Findings[tl.Finding].Events {
			if h.Events[seq-1].Kind != history.Final { // which is of no moment
				t.Errorf("nothing is told of %+v", v.Findings[tl.Finding])
			}
		}
	}
	if (v.Margin == nil) != (tl.Closest == nil) || v.Margin != nil && *v.Margin != tl.Closest.Gap {
		t.Errorf("margin %v, closest %+v", v.Margin, tl.Closest)
	}
	for _, k := range tl.Keys {
		if k.To < k.From || k.To-k.Full[len(k.Full)-1] > tl.TTL {
			t.Errorf("key %+v", k)
		}
	}
	b, err := json.Marshal(tl)
	if err != nil {
		t.Fatal(err)
	}
	var back Timeline
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if again, _ := json.Marshal(back); string(again) != string(b) {
		t.Errorf("it comes back from JSON as\n%s\nand was\n%s", again, b)
	}
}

// inTurn are n rounds of three hosts, one after another, with a refused try in
// each; in the middle a holder overruns its lease.
func inTurn(n int) *history.History {
	h := &history.History{Complete: true, Header: history.Header{
		Format: history.Format, Version: history.Version, World: "sim", TTL: 50 * time.Millisecond, Quorum: 1,
		Guard: history.GuardNone, Discipline: history.Trusting,
	}}
	var op int64
	now := time.Duration(0)
	add := func(e history.Event) {
		now += 100 * time.Microsecond
		e.Seq, e.T, e.Lock = int64(len(h.Events))+1, now, "lock"
		h.Events = append(h.Events, e)
	}
	do := func(host string, do history.Do, grant, value int64, r history.Result) int64 {
		op++
		e := history.Event{Kind: history.Call, Do: do, Host: host, Op: op, Grant: grant}
		if do == history.Write {
			e.Value = value
		}
		add(e)
		e.Kind, e.Result, e.Value = history.Return, r, value
		if do == history.Acquire && r == history.OK {
			e.Grant = op
		}
		id := op
		add(e)
		return id
	}
	for i := range n {
		host, other := fmt.Sprintf("w%d", i%3+1), fmt.Sprintf("w%d", (i+1)%3+1)
		g := do(host, history.Acquire, 0, 0, history.OK)
		if i == n/2 {
			now += 60 * time.Millisecond
			g2 := do(other, history.Acquire, 0, 0, history.OK)
			do(other, history.Release, g2, 0, history.OK)
		}
		do(other, history.Acquire, 0, 0, history.Refused)
		do(host, history.Read, g, int64(i), history.OK)
		do(host, history.Write, g, int64(i)+1, history.OK)
		do(host, history.Release, g, 0, history.OK)
	}
	add(history.Event{Kind: history.Final, Value: int64(n)})
	add(history.Event{Kind: history.End})
	return h
}

// Of a long run the window around what is told is kept, and no more than can be drawn.
func TestTimelineOfALongRun(t *testing.T) {
	v, tl, err := Examine(inTurn(4000))
	if err != nil {
		t.Fatal(err)
	}
	if v.Story() == nil || tl.Whole || tl.To-tl.From > time.Second || len(tl.Moments) < 3 {
		t.Errorf("story %v, window %s to %s, moments %v", v.Story(), ms(tl.From), ms(tl.To), tl.Moments)
	}
	b, err := json.Marshal(tl)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > 100_000 {
		t.Errorf("%d bytes", len(b))
	}
}

// Where there is too much in the window, what is left out is counted, and what
// is told stays in.
func TestTimelineLeavesOut(t *testing.T) {
	r, err := assemble(inTurn(4000))
	if err != nil {
		t.Fatal(err)
	}
	last := r.ops[len(r.ops)-2] // a write
	tl := &Timeline{To: r.end().t, Moments: []Moment{{Op: last.id}}}
	r.fill(tl)
	if len(tl.Asked) != mostDrawn || len(tl.Effects) != mostDrawn+1 || tl.Effects[mostDrawn].Op != last.id {
		t.Errorf("%d asked, %d effects", len(tl.Asked), len(tl.Effects))
	}
	if want := 4001 - mostDrawn + 12002 - mostDrawn + 8000 - mostDrawn - 1; tl.Left != want {
		t.Errorf("%d left out, expected %d", tl.Left, want)
	}
}
