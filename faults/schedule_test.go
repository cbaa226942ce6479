package faults

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goccy/go-yaml"

	"lockchaos/history"
	"lockchaos/internal/golden"
)

// plan is what a scenario file says of faults.
type plan struct {
	Order  []Order
	Faults []Spec
}

func parse(t *testing.T, text string) plan {
	t.Helper()
	var p plan
	if err := yaml.UnmarshalWithOptions([]byte(text), &p, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for i := range p.Faults { // as package scenario does
		if p.Faults[i].Most == 0 {
			_ = p.Faults[i].Most.UnmarshalText([]byte(DefaultMost.String()))
		}
		if p.Faults[i].Direction == "" {
			p.Faults[i].Direction = "both"
		}
	}
	return p
}

var schedules = []struct {
	name, plan string
	hosts      []string
}{
	{"starts and ends at events; the step waits for the proof",
		`faults: [{fault: pause-host, hosts: [w1], from: after w1 acquired, until: after w2 wrote}]`,
		[]string{"w1: acquires acquired 1ms reads", "w2: 5ms writes wrote 1ms releases"}},
	{"starts at the second occurrence, of that host only",
		`faults: [{fault: kill-host, hosts: [w1], from: after w1 acquired 2}]`,
		[]string{"w1: acquires acquired 5ms acquires acquired 5ms acquires acquired", "w2: 1ms acquired 1ms acquired 1ms acquired"}},
	{"the end is counted from the start of the fault",
		`faults: [{fault: pause-node, nodes: [n1], from: after w1 acquired, until: after w2 wrote 2}]`,
		[]string{"w1: 5ms acquired", "w2: wrote 1ms wrote 1ms wrote 5ms wrote 1ms wrote 1ms wrote"}},
	{"start and end at the same point: the end is the next time",
		`faults: [{fault: pause-node, nodes: [n1], from: after w1 read, until: after w1 read}]`,
		[]string{"w1: read 1ms read 1ms read"}},
	{"an end before the start does nothing",
		`faults: [{fault: pause-node, nodes: [n1], from: after w1 read, until: after w2 read}]`,
		[]string{"w1: 2ms read", "w2: read 4ms wrote"}},
	{"for a time; the heal comes once",
		`faults: [{fault: crash-node, nodes: [n1, n2], from: before w1 writes, for: 50ms}]`,
		[]string{"w1: writes wrote 100ms released"}},
	{"at a time until a time",
		`faults: [{fault: partition, hosts: [w1], nodes: [n1], from: at 20ms, until: at 100ms}]`,
		[]string{"w1: 60ms sends 200ms read"}},
	{"the end does not come: most",
		`faults: [{fault: pause-host, hosts: [w1], from: after w1 read, until: after w2 wrote, most: 80ms}]`,
		[]string{"w1: read 200ms writes"}},
	{"a timed end beyond most is cut short",
		`faults: [{fault: pause-host, hosts: [w1], from: after w1 read, until: at 5s, most: 80ms}]`,
		[]string{"w1: read 200ms writes"}},
	{"a timed end that is past when the fault starts",
		`faults: [{fault: pause-host, hosts: [w1], from: after w1 read, until: at 10ms}]`,
		[]string{"w1: 50ms read 10ms writes"}},
	{"two faults at once, one inside the other",
		`faults:
  - {fault: delay, hosts: [w1], nodes: [n1], latency: 10ms, from: after w1 acquired, until: after w1 wrote}
  - {fault: hold, hosts: [w1], nodes: [n2], direction: requests, commands: [set, evalsha], from: after w1 acquired, until: after w1 read}`,
		[]string{"w1: acquired 1ms sends read 1ms wrote"}},
	{"a server that stays down for a time: the run goes on meanwhile",
		`faults: [{fault: restart-node, nodes: [n1, n2], down: 50ms, from: after w1 read}]`,
		[]string{"w1: read 10ms writes wrote 100ms releases"}},
	{"a power loss is done at its end",
		`faults: [{fault: power-loss, nodes: [n1], from: before w1 acquires, until: after w1 wrote}]`,
		[]string{"w1: acquires 10ms acquired wrote 1ms releases"}},
	{"several faults of one server at once",
		`faults:
  - {fault: evict, nodes: [n1], from: after w1 acquired, until: after w1 read}
  - {fault: flush-scripts, nodes: [n1], from: after w1 read}
  - {fault: read-only, nodes: [n1], from: after w1 read, for: 5ms}
  - {fault: slow, nodes: [n1], latency: 10ms, from: after w1 read, until: after w1 wrote}`,
		[]string{"w1: acquired 1ms read 1ms wrote 10ms releases"}},
	{"never started, and never ended",
		`faults:
  - {fault: restart-node, nodes: [n1], from: after w1 acquired 9}
  - {fault: pause-node, nodes: [n2], from: after w1 acquired, until: after w1 released}
  - {fault: kill-host, hosts: [w2], from: at 1h}`,
		[]string{"w1: acquired 5ms wrote"}},
	{"orders: a step waits for another, and for a time",
		`order: [w2 acquires after w1 acquired, w2 acquires 2 after w1 acquired 2, w2 writes at 100ms]`,
		[]string{"w1: 10ms acquired 30ms acquired", "w2: acquires 1ms acquires writes"}},
	{"an order that is fulfilled already does not wait",
		`order: [w2 acquires after w1 acquired, w2 writes at 5ms]`,
		[]string{"w1: acquired", "w2: 10ms acquires writes"}},
	{"an order that is never fulfilled",
		`order: [w2 writes after w1 wrote]`,
		[]string{"w2: writes wrote"}},
	{"a fault that the waiting step would start comes before the wait",
		`order: [w2 writes after w1 wrote]
faults: [{fault: kill-host, hosts: [w1], from: before w2 writes}]`,
		[]string{"w1: 10ms wrote", "w2: writes wrote"}},
	{"a hold by which no message came is not proved",
		`faults: [{fault: hold, hosts: [w1], nodes: [n1], from: after w1 read, until: after w1 wrote}]`,
		[]string{"w1: read 1ms wrote"}},
	{"a hold of commands of which none came by names them",
		`faults: [{fault: hold, hosts: [w1], nodes: [n1], direction: requests, commands: [evalsha, EVAL], from: after w1 read, until: after w1 wrote}]`,
		[]string{"w1: read 1ms wrote"}},
	{"a reset of links, and then once more with nothing left",
		`faults:
  - {fault: reset, hosts: [w1], nodes: [n1, n2], from: after w1 read}
  - {fault: reset, hosts: [w1], nodes: [n1], from: after w1 wrote}`,
		[]string{"w1: read wrote"}},
}

func TestSchedule(t *testing.T) {
	var b strings.Builder
	for _, c := range schedules {
		synctest.Test(t, func(t *testing.T) {
			p := parse(t, c.plan)
			w := newWorld(honest)
			s, err := NewSchedule(w, w, p.Faults, p.Order)
			if err != nil {
				t.Fatal(err)
			}
			w.playAll(t.Context(), s, c.hosts)
			fmt.Fprintf(&b, "# %s\n%s\n    %s\n%s\n", c.name, c.plan, strings.Join(c.hosts, "\n    "), w)
		})
	}
	golden.Check(t, "testdata/schedule.txt", b.String())
}

// everyKind is one fault of each kind.
const everyKind = `faults:
- {fault: pause-host, hosts: [w1, w2], from: after w1 read, until: after w1 wrote}
- {fault: kill-host, hosts: [w1, w2], from: after w1 read}
- {fault: pause-node, nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: crash-node, nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: restart-node, nodes: [n1, n2], from: after w1 read}
- {fault: partition, hosts: [w1], nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: hold, hosts: [w1], nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: delay, hosts: [w1], nodes: [n1, n2], latency: 10ms, jitter: 2ms, from: after w1 read, until: after w1 wrote}
- {fault: reset, hosts: [w1], nodes: [n1, n2], from: after w1 read}
- {fault: clock-jump, nodes: [n1, n2], by: -2s, from: after w1 read}
- {fault: clock-rate, nodes: [n1, n2], rate: 1.1, from: after w1 read, until: after w1 wrote}
- {fault: power-loss, nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: evict, nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: flush-scripts, nodes: [n1, n2], from: after w1 read}
- {fault: read-only, nodes: [n1, n2], from: after w1 read, until: after w1 wrote}
- {fault: slow, nodes: [n1, n2], latency: 20ms, from: after w1 read, until: after w1 wrote}
- {fault: failover, how: kill, from: after w1 read, until: after w1 wrote}
- {fault: cut-replication, nodes: [n2, n3], from: after w1 read, until: after w1 wrote}
`

// A fault whose effect was not seen is never recorded as proved; one whose end
// fails is recorded as an error, and every target's end is still tried.
func TestProofs(t *testing.T) {
	specs := parse(t, everyKind).Faults
	var kinds []string
	for _, k := range Kinds() {
		kinds = append(kinds, k.Name)
	}
	for i, s := range specs {
		if i >= len(kinds) || s.Kind != kinds[i] || len(specs) != len(kinds) {
			t.Fatalf("everyKind is not one fault of each of %v", kinds)
		}
	}
	for _, mode := range []string{honest, idle, refuses, leaky, mute, ends} {
		t.Run(strings.ReplaceAll(mode, " ", "-"), func(t *testing.T) {
			var b strings.Builder
			for _, spec := range specs {
				kind, _ := Find(spec.Kind)
				if mode == leaky && spec.Kind != "partition" || mode == ends && !kind.Heals || mode == mute && !saysItIsOver(kind) {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(mode)
					s, err := NewSchedule(w, w, Fill([]Spec{spec}, everyone.hosts, everyone.nodes), nil)
					if err != nil {
						t.Fatal(err)
					}
					w.playAll(t.Context(), s, []string{"w1: read sends 100ms wrote"})
					fmt.Fprintf(&b, "# %s, in a world that %s\n%s\n", spec.Kind, mode, w)
					steps := w.steps("f1")
					bad := has(steps, history.FaultUnproved) || has(steps, history.FaultError)
					switch mode {
					case honest:
						if bad || !has(steps, history.FaultProved) {
							t.Errorf("%s: %v, want it proved and nothing else", spec.Kind, steps)
						}
					case idle, refuses:
						if has(steps, history.FaultProved) || !has(steps, history.FaultUnproved) {
							t.Errorf("%s: %v, want it unproved and never proved", spec.Kind, steps)
						}
					case leaky, mute:
						if !bad {
							t.Errorf("%s: %v, want an error", spec.Kind, steps)
						}
					case ends:
						if !has(steps, history.FaultError) {
							t.Errorf("%s: %v, want an error of the heal", spec.Kind, steps)
						}
					}
				})
			}
			golden.Check(t, "testdata/proofs-"+strings.ReplaceAll(mode, " ", "-")+".txt", b.String())
		})
	}
}

// saysItIsOver tells of a fault whose world says something at its end, or could.
func saysItIsOver(k Kind) bool {
	return k.Nodes && !k.Link() && !k.Failovers && k.Name != "clock-jump" && k.Name != "flush-scripts"
}

// A delay whose jitter may eat it up cannot be seen.
func TestDelayWithinItsJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(idle)
		p := parse(t, `faults: [{fault: delay, hosts: [w1], nodes: [n1], latency: 5ms, jitter: 5ms, from: after w1 read, for: 1ms}]`)
		s, err := NewSchedule(w, w, p.Faults, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.playAll(t.Context(), s, []string{"w1: read 5ms"})
		if steps := w.steps("f1"); has(steps, history.FaultProved) || !has(steps, history.FaultUnproved) {
			t.Errorf("%v, want unproved:\n%s", steps, w)
		}
	})
}

// What was under way when the link was cut has not crossed it.
func TestPartitionCountsFromTheSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(honest)
		f := partition.make(w, parse(t, `faults: [{fault: partition, hosts: [w1], nodes: [n1], from: at 0s, for: 1s}]`).Faults[0], "f1")
		time.AfterFunc(silence/2, func() {
			l := w.link("w1", "n1")
			l.mu.Lock()
			defer l.mu.Unlock()
			l.counts.RequestBytes += 10
		})
		if _, err := f.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if proof, err := f.(Healer).Heal(t.Context()); err != nil {
			t.Errorf("heal: %q, %v", proof, err)
		}
	})
}

// wordless is a fault that neither proves anything nor ever will.
type wordless struct{}

func (wordless) Start(context.Context) (string, error) { return "", nil }

func TestNoProofAtAll(t *testing.T) {
	w := newWorld(honest)
	s, err := NewSchedule(w, w, parse(t, `faults: [{fault: kill-host, hosts: [w1], from: after w1 read}]`).Faults, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.faults[0].fault = wordless{}
	w.playAll(t.Context(), s, []string{"w1: read"})
	if got := strings.Join(w.steps("f1"), " "); got != "start unproved" {
		t.Errorf("the steps are %s, want start unproved", got)
	}
}

// Heal may be called more than once.
func TestHealTwice(t *testing.T) {
	for _, spec := range parse(t, everyKind).Faults {
		kind, _ := Find(spec.Kind)
		if !kind.Heals {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			f := kind.make(newWorld(honest), spec, "f1")
			if _, err := f.Start(t.Context()); err != nil {
				t.Fatalf("%s: %v", spec.Kind, err)
			}
			for range 2 {
				if proof, err := f.(Healer).Heal(t.Context()); err != nil || proof == "" {
					t.Errorf("%s: heal: %q, %v", spec.Kind, proof, err)
				}
			}
		})
	}
}

// A run that is given up must be healed all the same, and no step may hang in it.
func TestRunGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := parse(t, `
order: [w2 writes after w1 wrote, w2 reads at 1h]
faults:
  - {fault: pause-host, hosts: [w1], from: after w1 read, until: after w2 wrote}
  - {fault: partition, hosts: [w1], nodes: [n1], from: after w1 wrote, until: after w2 wrote}`)
		w := newWorld(honest)
		s, err := NewSchedule(w, w, p.Faults, p.Order)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		w.playAll(ctx, s, []string{"w1: read 60ms wrote", "w2: writes wrote", "w3: 1ms", "w2: 100ms reads"})
		golden.Check(t, "testdata/given-up.txt", w.String())
		if time.Since(w.start) > time.Second {
			t.Errorf("it took %s", time.Since(w.start))
		}
	})
}

func TestUnknownFault(t *testing.T) {
	w := newWorld(honest)
	_, err := NewSchedule(w, w, []Spec{{Kind: "meteor"}}, nil)
	if err == nil || err.Error() != `unknown fault "meteor"` {
		t.Errorf("got %v", err)
	}
}

func TestFill(t *testing.T) {
	hosts, nodes := []string{"w1", "w2"}, []string{"n1"}
	for _, c := range []struct{ spec, want Spec }{
		{Spec{Kind: "partition"}, Spec{Kind: "partition", Hosts: hosts, Nodes: nodes}},
		{Spec{Kind: "hold", Hosts: []string{"w2"}}, Spec{Kind: "hold", Hosts: []string{"w2"}, Nodes: nodes}},
		{Spec{Kind: "delay", Nodes: []string{"n3"}}, Spec{Kind: "delay", Hosts: hosts, Nodes: []string{"n3"}}},
		{Spec{Kind: "pause-host"}, Spec{Kind: "pause-host"}},
		{Spec{Kind: "crash-node"}, Spec{Kind: "crash-node"}},
	} {
		c.want.members = members{hosts, nodes}
		if got := Fill([]Spec{c.spec}, hosts, nodes); !reflect.DeepEqual(got, []Spec{c.want}) {
			t.Errorf("Fill(%+v) = %+v, want %+v", c.spec, got, c.want)
		}
	}
}

func TestKindsAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Name] || k.About == "" || !k.Hosts && !k.Nodes {
			t.Errorf("%+v: its name stands twice, or it says nothing, or is done to nothing", k)
		}
		seen[k.Name] = true
		_, heals := k.make(newWorld(honest), Spec{}, "f1").(Healer)
		if heals != k.Heals {
			t.Errorf("%s: Heals is %v, and the fault has a Heal: %v", k.Name, k.Heals, heals)
		}
	}
}

// Another host may reach the end of a fault whose start is still being proved. It
// goes on, and the end comes when it is reached again.
func TestEndWithinTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(honest)
		p := parse(t, `faults: [{fault: partition, hosts: [w1], nodes: [n1], from: after w1 read, until: after w2 wrote}]`)
		s, err := NewSchedule(w, w, p.Faults, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.playAll(t.Context(), s, []string{"w1: read 100ms", "w2: 10ms wrote 50ms wrote"})
		want := []string{history.FaultStart, history.FaultProved, history.FaultHeal, history.FaultHealed}
		if got := w.steps("f1"); !slices.Equal(got, want) || !strings.Contains(w.String(), "60ms  f1 partition heal ") {
			t.Errorf("%v, want %v and the heal at 60ms:\n%s", got, want, w)
		}
	})
}
