package faults

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/cluster"
	"lockchaos/history"
)

// everyone is all that the fake world has.
var everyone = members{hosts: []string{"w1", "w2"}, nodes: []string{"n1", "n2", "n3", "s1", "s2"}}

var _ cluster.Failovers = (*world)(nil)

func (w *world) Master(context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode == refuses {
		return "", errWorld
	}
	return w.group.master, nil
}

// fakeGroup is a master and its replicas.
type fakeGroup struct {
	master  string
	struck  bool // something was done to the master
	offset  int64
	reached map[string]int64 // by replica
}

// AwaitFailover takes a second; for ever, where nothing has happened to the master.
func (w *world) AwaitFailover(ctx context.Context, old string) (string, error) {
	w.mu.Lock()
	for name, l := range w.links {
		w.group.struck = w.group.struck || strings.HasSuffix(name, ">"+old) && l.drops()
	}
	struck := w.group.struck
	w.mu.Unlock()
	if _, err := w.do("await a failover from", old, "", false); err != nil {
		return "", err
	}
	if !struck {
		<-ctx.Done()
		return "", ctx.Err()
	}
	time.Sleep(time.Second) // virtual
	w.mu.Lock()
	defer w.mu.Unlock()
	w.group.master, w.group.struck = map[string]string{"n1": "n2", "n2": "n3", "n3": "n1"}[old], false
	return old + " was the master, " + w.group.master + " is", nil
}

func (l *link) drops() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rules {
		if r.Drop {
			return true
		}
	}
	return false
}

// groupCommand answers what faults of replication ask; not ok for other commands.
func (w *world) groupCommand(n string, args []any) (reply any, err error, ok bool) {
	words := strings.TrimSpace(fmt.Sprintln(args...))
	switch {
	case w.mode == refuses:
		return nil, nil, false
	case words == "INFO replication":
		return w.info(n), nil, true
	case strings.HasPrefix(words, "SET "), strings.HasPrefix(words, "SENTINEL "):
		_, err := w.do(words, n, "OK", false)
		w.mu.Lock()
		defer w.mu.Unlock()
		if args[0] == "SET" {
			w.group.offset += 10
		} else {
			w.group.struck = w.group.struck || w.mode != idle
		}
		return "OK", err, true
	}
	return nil, nil, false
}

func (w *world) info(n string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == w.group.master {
		return fmt.Sprintf("role:master\r\nmaster_repl_offset:%d\r\n", w.group.offset)
	}
	if l := w.links[n+">"+w.group.master]; l == nil || !l.drops() {
		w.group.reached[n] = w.group.offset
	}
	return fmt.Sprintf("role:slave\r\nmaster_link_status:up\r\nslave_repl_offset:%d\r\n", w.group.reached[n])
}

// Each way to a failover is proved where it works, and a master that is cut off
// is cut off from all but the hosts that stay with it, which are from the rest.
func TestFailoverWays(t *testing.T) {
	for _, c := range []struct {
		spec, mode string
		want       string // the steps
		cut        string
	}{
		{"how: kill", honest, "start proved heal healed", ""},
		{"how: command", honest, "start proved heal healed", ""},
		{"how: isolate, hosts: [w1]", honest, "start proved heal healed",
			"n1>n2 n1>n3 n1>s1 n1>s2 n2>n1 n3>n1 s1>n1 s2>n1 w1>n2 w1>n3 w1>s1 w1>s2 w2>n1"},
		{"how: kill", idle, "start unproved heal error", ""},
		{"how: command", idle, "start unproved heal healed", ""},
		{"how: isolate", idle, "start unproved heal error", ""}, // bytes cross
		{"how: isolate, hosts: [w1]", leaky, "start proved heal error", ""},
		{"how: kill", mute, "start proved heal error", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := parse(t, "faults: [{fault: failover, "+c.spec+", from: after w1 read, until: after w1 wrote}]")
			w := newWorld(c.mode)
			s, err := NewSchedule(w, w, Fill(p.Faults, everyone.hosts, everyone.nodes), nil)
			if err != nil {
				t.Fatal(err)
			}
			w.playAll(t.Context(), s, []string{"w1: read sends wrote"})
			if got := strings.Join(w.steps("f1"), " "); got != c.want {
				t.Errorf("%s, in a world that %s: %s, want %s\n%s", c.spec, c.mode, got, c.want, w)
			}
			for _, e := range w.events { // not the host that stays with it
				if got := strings.Join(e.Targets, " "); (e.Step == history.FaultStart) != (got == "") || got != "" && got != "n1" {
					t.Errorf("%s, in a world that %s: %s of %q", c.spec, c.mode, e.Step, got)
				}
			}
			for _, way := range strings.Fields(c.cut) {
				if !strings.Contains(w.String(), "drop both "+way+"\n") {
					t.Errorf("%s: %s is not cut", c.spec, way)
				}
			}
			if n := strings.Count(w.String(), "drop both "); c.cut != "" && n != len(strings.Fields(c.cut)) {
				t.Errorf("%s: %d links are cut, want %s\n%s", c.spec, n, c.cut, w)
			}
		})
	}
}

// A replica that is not one, or that does not follow, cannot be cut off.
func TestCutReplicationOfTheMaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(honest)
		p := parse(t, `faults: [{fault: cut-replication, nodes: [n1], from: after w1 read, until: after w1 wrote}]`)
		s, err := NewSchedule(w, w, p.Faults, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.playAll(t.Context(), s, []string{"w1: read wrote"})
		if steps := w.steps("f1"); has(steps, history.FaultProved) || !has(steps, history.FaultUnproved) {
			t.Errorf("%v, want unproved", steps)
		}
	})
}

// late is a world in which somebody has written just before links are cut, and
// what is under way then takes its time.
type late struct {
	*world
	cut time.Time
}

func (w *late) Link(host, node string) cluster.Link {
	w.mu.Lock()
	if w.cut.IsZero() {
		w.cut = time.Now()
		w.group.offset += 10
	}
	w.mu.Unlock()
	return w.world.Link(host, node)
}

func (w *late) Command(ctx context.Context, n string, args ...any) (any, error) {
	w.mu.Lock()
	if !w.cut.IsZero() && time.Since(w.cut) >= silence/2 {
		w.group.reached[n] = max(w.group.reached[n], 10)
	}
	w.mu.Unlock()
	return w.world.Command(ctx, n, args...)
}

// What was under way at the cut is not taken for a replica that is not cut off.
func TestCutReplicationWithAWriteUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &late{world: newWorld(honest)}
		p := parse(t, `faults: [{fault: cut-replication, nodes: [n2], from: after w1 read, until: after w1 wrote}]`)
		s, err := NewSchedule(w, w, p.Faults, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.playAll(t.Context(), s, []string{"w1: read wrote"})
		if steps := strings.Join(w.steps("f1"), " "); steps != "start proved heal healed" {
			t.Errorf("%s\n%s", steps, w)
		}
	})
}
