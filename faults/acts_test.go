package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/cluster"
	"lockchaos/history"
	"lockchaos/internal/golden"
)

// Which kinds exclude each other at one target: each is started while each other acts,
// and either acts on as if it were alone, or does not start and names the other.
func TestKindsThatExcludeEachOther(t *testing.T) {
	var b strings.Builder
	for _, first := range Kinds() {
		if !first.Heals && first.Name != killHost.Name {
			continue // it is over before another can start
		}
		var not []string
		for _, second := range Kinds() {
			if first.Link() && second.Link() {
				continue // rules of one link are independent: their proofs are tested by themselves
			}
			steps, text := meet(t, first, second)
			refused := slices.Equal(steps, []string{history.FaultError}) || slices.Equal(steps, []string{history.FaultStart, history.FaultError})
			if refused {
				not = append(not, second.Name)
			}
			if named := strings.Contains(text, "f1 ("+first.Name+") still acts on it"); refused != named {
				t.Errorf("%s while %s acts: %v\n%s", second.Name, first.Name, steps, text)
			}
		}
		fmt.Fprintf(&b, "%s: %s\n", first.Name, strings.Join(not, ", "))
	}
	golden.Check(t, "testdata/exclude.txt", b.String())
}

// meet starts the second fault while the first acts, and returns what came of it.
func meet(t *testing.T, first, second Kind) (steps []string, text string) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(honest)
		specs := Fill([]Spec{sample(t, first, "10ms"), sample(t, second, "2s")}, everyone.hosts, everyone.nodes)
		s, err := NewSchedule(w, w, specs, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.playAll(t.Context(), s, []string{"w1: 1s sends 1500ms sends 3s"})
		steps, text = w.steps("f2"), w.String()
	})
	return steps, text
}

// sample is a fault of a kind on w1, or on n1: the master at the start.
func sample(t *testing.T, k Kind, from string) Spec {
	var keys string
	if k.Hosts && !k.FewHosts {
		keys += ", hosts: [w1]"
	}
	if k.Name == cutReplication.Name {
		keys += ", nodes: [n2]"
	} else if k.Nodes {
		keys += ", nodes: [n1]"
	}
	if k.Name == failover.Name {
		keys += ", how: kill"
	}
	if k.Heals {
		keys += ", for: 4s"
	}
	if slices.Contains(k.Takes, "latency") {
		keys += ", latency: 10ms"
	}
	return parse(t, fmt.Sprintf("faults: [{fault: %s, from: at %s%s}]", k.Name, from, keys)).Faults[0]
}

// odd is a world whose links have a delay do nothing, or let go for once what waits.
type odd struct {
	*world
	deaf  string // the id of the delay that does nothing
	flush time.Duration
}

func (w *odd) Link(host, node string) cluster.Link { return &oddLink{w.link(host, node), w} }

type oddLink struct {
	*link
	w *odd
}

func (l *oddLink) Delay(ctx context.Context, id string, latency, jitter time.Duration) error {
	if id == l.w.deaf {
		return nil
	}
	return l.link.Delay(ctx, id, latency, jitter)
}

func (l *oddLink) Probe(ctx context.Context) (time.Duration, error) {
	if at := l.w.flush; at > 0 && time.Since(l.w.start) < at {
		time.Sleep(at - time.Since(l.w.start))
		return time.Millisecond, nil
	}
	return l.link.Probe(ctx)
}

// A delay is not proved by another of the same link, and one whose PING another has
// let go early is looked at again.
func TestDelaysOfOneLink(t *testing.T) {
	one, two := "{fault: delay, hosts: [w1], nodes: [n1], latency: 30ms, from: at 10ms, for: 1s}", "{fault: delay, hosts: [w1], nodes: [n1], latency: 30ms, from: at 40ms, for: 500ms}"
	for _, c := range []struct {
		name, faults string
		odd          odd
		f1, f2       string
	}{
		{"both act", one + ", " + two, odd{}, "start proved heal healed", "start proved heal healed"},
		{"the second does nothing", one + ", " + two, odd{deaf: "f2"}, "start proved heal healed", "start unproved heal healed"},
		{"the second lets the first's PING go", one + ", " + two, odd{flush: 41 * time.Millisecond}, "start proved heal healed", "start proved heal healed"},
		{"a PING is early, and no other delay is why", one, odd{flush: 41 * time.Millisecond}, "start unproved heal healed", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &c.odd
			w.world = newWorld(honest)
			s, err := NewSchedule(w, w, parse(t, "faults: ["+c.faults+"]").Faults, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.playAll(t.Context(), s, []string{"w1: 6s"})
			f1, f2 := strings.Join(w.steps("f1"), " "), strings.Join(w.steps("f2"), " ")
			if f1 != c.f1 || f2 != c.f2 {
				t.Errorf("%s: %q and %q, want %q and %q\n%s", c.name, f1, f2, c.f1, c.f2, w)
			}
		})
	}
}

// At the end of a run what keeps a server from answering ends before what asks it.
func TestLastEndsDoNotWaitForEachOther(t *testing.T) {
	for _, asks := range []string{"read-only", "evict", "slow, latency: 10ms", "clock-rate, rate: 2"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(honest)
			list := fmt.Sprintf("faults: [{fault: %s, nodes: [n1], from: at 10ms, until: after w1 wrote}, {fault: pause-node, nodes: [n1], from: at 20ms, until: after w1 wrote}]", asks)
			s, err := NewSchedule(w, w, parse(t, list).Faults, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.playAll(t.Context(), s, []string{"w1: 100ms"})
			text := w.String()
			resumed, healed := strings.Index(text, "f2 pause-node healed"), strings.Index(text, "f1 "+strings.Split(asks, ",")[0]+" heal ")
			if resumed < 0 || healed < resumed || time.Since(w.start) > time.Second {
				t.Errorf("%s, after %s:\n%s", asks, time.Since(w.start), text)
			}
		})
	}
}

// silent is a world in which a node does not answer while another fault acts on it: what
// asks it waits for that, or fails.
type silent struct {
	*world
	mu     sync.Mutex
	paused chan struct{} // closed when it goes on
}

func (w *silent) PauseNode(ctx context.Context, n string) (string, error) {
	w.mu.Lock()
	w.paused = make(chan struct{})
	w.mu.Unlock()
	return w.world.PauseNode(ctx, n)
}

func (w *silent) ResumeNode(ctx context.Context, n string) (string, error) {
	close(w.paused)
	return w.world.ResumeNode(ctx, n)
}

// answers waits until the node goes on.
func (w *silent) answers(ctx context.Context) error {
	w.mu.Lock()
	paused := w.paused
	w.mu.Unlock()
	if paused == nil {
		return nil
	}
	select {
	case <-paused:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *silent) SlowNode(ctx context.Context, n string, d time.Duration) (string, error) {
	time.Sleep(20 * time.Millisecond)
	if err := w.answers(ctx); err != nil {
		return "", err
	}
	return w.world.SlowNode(ctx, n, d)
}

// The end of a pause comes in its time, whatever asks the server meanwhile.
func TestPauseEndsInItsTime(t *testing.T) {
	for name, c := range map[string]struct{ slow, f2 string }{
		"before it":   {"at 5ms", "start proved heal healed"}, // its proof is met by the pause
		"after it":    {"at 50ms", "error"},
		"at its end":  {"at 710ms", "start proved heal healed"},
		"if optional": {"at 50ms, optional: true", "idle"},
		"while long":  {"at 5ms, most: 20s", "start unproved heal healed"}, // it does not wait for it to end
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &silent{world: newWorld(honest)}
			pause := 600 * time.Millisecond
			if strings.Contains(name, "long") {
				pause = 5 * time.Second
			}
			list := fmt.Sprintf("faults: [{fault: pause-node, nodes: [n1], from: at 10ms, for: %s}, {fault: slow, nodes: [n1], latency: 10ms, from: %s, for: 100ms}]", pause, c.slow)
			s, err := NewSchedule(w, w, parse(t, list).Faults, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.playAll(t.Context(), s, []string{"w1: 6s"})
			if got := strings.Join(w.steps("f2"), " "); got != c.f2 {
				t.Errorf("%s: %q, want %q\n%s", name, got, c.f2, w)
			}
			if end := fmt.Sprintf(" %s  f1 pause-node healed", pause+10*time.Millisecond); !strings.Contains(w.String(), end) {
				t.Errorf("%s: the pause did not end after %s:\n%s", name, pause, w)
			}
		})
	}
}
