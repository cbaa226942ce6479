package drawing

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/internal/golden"
)

const ms = time.Millisecond

func span(from, to int) checker.Stretch {
	return checker.Stretch{From: time.Duration(from) * ms, To: time.Duration(to) * ms}
}

// small is the stale holder, as short as it can be told.
func small() *checker.Timeline {
	return &checker.Timeline{
		Version: checker.TimelineVersion, TTL: 300 * ms, End: 400 * ms, From: 0, To: 400 * ms, Whole: true, Why: "the whole run",
		Hosts: []string{"w1", "w2"}, Nodes: []string{"n1"},
		Grants: []checker.Held{
			{Grant: 1, Host: "w1", Token: 33, Belief: []checker.Stretch{span(12, 360)}, Promise: []checker.Stretch{span(12, 310)}, RanOut: true},
			{Grant: 2, Host: "w2", Token: 34, Belief: []checker.Stretch{span(320, 350)}, Promise: []checker.Stretch{span(320, 350)}},
		},
		Asked: []checker.Asked{
			{Op: 1, Stretch: span(10, 12), Host: "w1", Do: history.Acquire, Result: history.OK},
			{Op: 5, Stretch: span(40, 41), Host: "w2", Do: history.Acquire, Result: history.Refused},
			{Op: 2, Stretch: span(318, 320), Host: "w2", Do: history.Acquire, Result: history.OK},
			{Op: 6, Stretch: span(350, 351), Host: "w2", Do: history.Release, Result: history.OK},
		},
		Effects: []checker.Effect{
			{Op: 3, Stretch: span(340, 345), Host: "w2", Do: history.Write, Token: 34, Value: 1, OK: true},
			{Op: 4, Stretch: span(356, 360), Host: "w1", Do: history.Write, Token: 33, Value: 1, Before: 1, Stale: true},
		},
		Keys: []checker.Key{
			{Node: "n1", Host: "w1", Op: 1, Stretch: span(11, 311), Full: []time.Duration{11 * ms}, Ended: checker.KeyExpired},
			{Node: "n1", Host: "w2", Op: 2, Stretch: span(319, 351), Full: []time.Duration{319 * ms}, Ended: checker.KeyReleased},
		},
		Faults: []checker.Strike{{ID: "f1", Name: "pause-host", Targets: []string{"w1"}, Stretch: span(14, 355), Proof: []string{"proved: state T"}, Proved: true}},
		Clocks: []checker.Clock{{Node: "n1", Stretch: span(200, 400), Offset: -20 * ms}, {Node: "n1", Stretch: span(362, 400), Offset: 80 * ms, Rate: 1.1}},
		Moments: []checker.Moment{
			{N: 1, Seq: 2, T: 12 * ms, Lane: "w1", Op: 1, Words: "w1 gets the lock, token 33"},
			{N: 2, Seq: 3, T: 14 * ms, Lane: "w1", Words: "w1 is stopped"},
			{N: 3, T: 310 * ms, Lane: "w1", Words: "the lease of w1 is over"},
			{N: 4, Seq: 9, T: 320 * ms, Lane: "w2", Op: 2, Words: "w2 gets the lock, token 34"},
			{N: 5, Seq: 19, T: 360 * ms, Lane: checker.LaneResource, Op: 4, Words: "write of 1 with token 33 of w1: refused"},
		},
		Latency: []checker.Latency{{Name: "acquire granted", N: 2, P50: 2 * ms, P90: 2 * ms, P99: 2 * ms, Max: 2 * ms,
			Bars: []checker.LatencyBar{{Stretch: span(0, 10), N: 1, Median: 2 * ms, Max: 2 * ms}}}},
	}
}

func TestTimeline(t *testing.T) {
	got := Timeline(small(), "t1")
	golden.Check(t, "testdata/small.svg", got)
	if again := Timeline(small(), "t1"); again != got {
		t.Error("the same timeline is drawn in two ways")
	}
	wellFormed(t, got)
	lat := Latency(small())
	golden.Check(t, "testdata/latency.svg", lat)
	wellFormed(t, lat)
}

// wellFormed checks that a picture can be read, and has nothing in it but shapes.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%v in\n%.2000s", err, svg)
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch e.Name.Local {
		case "svg", "defs", "pattern", "rect", "path", "circle", "text", "title":
		default:
			t.Errorf("element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("attribute %s=%q of %s", a.Name.Local, a.Value, e.Name.Local)
			}
		}
	}
}

// Names from outside cannot leave the text they stand in, however long.
func TestHostileNames(t *testing.T) {
	tl := small()
	evil := `"><script>alert(1)</script>` + "\x1b[31m\x00\u202e" + strings.Repeat("x", 10_000)
	tl.Hosts[0], tl.Grants[0].Host, tl.Moments[0].Lane, tl.Moments[0].Words = evil, evil, evil, evil
	tl.Nodes[0], tl.Keys[0].Node, tl.Keys[0].Host = evil, evil, evil
	tl.Faults[0].Name, tl.Faults[0].Targets, tl.Faults[0].Proof, tl.Why = evil, []string{evil}, []string{evil}, evil
	tl.Latency[0].Name = evil
	for _, svg := range []string{Timeline(tl, "t"), Latency(tl)} {
		wellFormed(t, svg)
		if strings.ContainsAny(svg, "\x1b\x00\u202e") || len(svg) > 40_000 {
			t.Errorf("%d bytes:\n%.3000s", len(svg), svg)
		}
	}
}

// Whatever is missing, or is at one instant, there is a picture.
func TestDegenerate(t *testing.T) {
	one := small()
	one.From, one.To = 320*ms, 320*ms
	many := small()
	for i := range 40 {
		many.Hosts = append(many.Hosts, strings.Repeat("h", i+3))
		many.Nodes = append(many.Nodes, strings.Repeat("n", i+3))
		many.Faults = append(many.Faults, many.Faults[0])
	}
	for name, tl := range map[string]*checker.Timeline{
		"nothing": {}, "an instant": one, "many": many, "no faults": {TTL: 1, End: 10, To: 10, Hosts: []string{"w1"}},
	} {
		t.Run(name, func(t *testing.T) {
			wellFormed(t, Timeline(tl, "t"))
			wellFormed(t, Latency(tl))
		})
	}
}

// Time goes from left to right, over shortened stretches too, and what is told
// of stands apart.
func TestScale(t *testing.T) {
	s := newScale(small(), 100, 1000)
	shorts := 0
	for _, p := range s.parts {
		if p.short {
			shorts++
		}
	}
	if shorts != 1 {
		t.Errorf("%d stretches are shortened: %+v", shorts, s.parts)
	}
	last := s.at(0)
	if last != 100 || s.at(400*ms) < 1099.9 || s.at(400*ms) > 1100.1 || s.at(time.Hour) != s.at(400*ms) {
		t.Errorf("from %g to %g", last, s.at(400*ms))
	}
	for d := time.Duration(0); d <= 400*ms; d += ms / 4 {
		if x := s.at(d); x < last {
			t.Fatalf("%s is left of what was before it", d)
		} else {
			last = x
		}
	}
	if apart := s.at(355*ms) - s.at(350*ms); apart < 20 {
		t.Errorf("5 ms are %g apart", apart)
	}
}

func TestSpread(t *testing.T) {
	var all []*badge
	for _, x := range []float64{500, 501, 502, 600, 1170, 1171} {
		all = append(all, &badge{x: x, at: x})
	}
	spread(all, 21)
	for i := 1; i < len(all); i++ {
		if all[i].x-all[i-1].x < 20.9 || all[i].x > width {
			t.Errorf("badge %d at %g, the one before at %g", i, all[i].x, all[i-1].x)
		}
	}
}

func TestTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 1500: "0.002 ms", 450 * time.Microsecond: "0.45 ms", 148139007: "148.1 ms", 100 * ms: "100 ms",
		12 * time.Second: "12000 ms", 90 * time.Second: "90 s", -13848217: "-13.8 ms",
	} {
		if got := Time(d); got != want {
			t.Errorf("%d: %s, expected %s", d, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "w1": "w1", "n1 n2": "n1, n2", "w1>n1": "w1 > n1", "w1>n1 w1>n2 w2>n1 w2>n2": "w1, w2 > n1, n2",
		"w1>n1 w2>n2": "w1>n1, w2>n2", "w1>n1 n2": "w1>n1, n2",
	} {
		if got := targets(strings.Fields(in)); got != want {
			t.Errorf("%q: %q, expected %q", in, got, want)
		}
	}
}
