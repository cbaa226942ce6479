package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/cluster/sim"
	"lockchaos/faults"
	"lockchaos/results"
	"lockchaos/scenario"
)

// sabotage is one way to do a fault, and to have it do nothing.
type sabotage struct {
	kind string
	keys string // of the fault, but for from and for
	from string // where it is not "after w1 acquired 2"
	// claim is what a control says that did nothing, where the fault has a proof of
	// its own. Elsewhere the control is the witness, and says that it saw nothing.
	claim string
	// observed is what a witness saw in place of the effect, if it saw anything.
	observed string
	// leaks: the links answer no PING, as if they were cut, and carry all the same.
	leaks bool
}

// sabotages has each kind of fault, and each way of a failover.
var sabotages = []sabotage{
	{kind: "pause-host", keys: "hosts: [w1]"},
	{kind: "pause-host", keys: "hosts: [w1]", observed: "process state S, expected T"},
	{kind: "kill-host", keys: "hosts: [w1]"},
	{kind: "kill-host", keys: "hosts: [w1]", observed: "it still runs"},
	{kind: "pause-node", keys: "nodes: [n1]"},
	{kind: "pause-node", keys: "nodes: [n1]", observed: "process state S, expected T"},
	{kind: "crash-node", keys: "nodes: [n1]"},
	{kind: "crash-node", keys: "nodes: [n1]", observed: "it still answers"},
	{kind: "restart-node", keys: "nodes: [n1]"},
	{kind: "restart-node", keys: "nodes: [n1], down: 100ms"},
	{kind: "restart-node", keys: "nodes: [n1]", claim: "signal: killed"}, // it cannot be started: it runs
	{kind: "partition", keys: "hosts: [w1], nodes: [n1]"},
	{kind: "partition", keys: "hosts: [w1], nodes: [n1], direction: requests"},
	{kind: "partition", keys: "hosts: [w1], nodes: [n1], direction: replies"},
	{kind: "partition", keys: "hosts: [w1], nodes: [n1]", leaks: true},
	{kind: "hold", keys: "hosts: [w1], nodes: [n1]"},
	{kind: "delay", keys: "hosts: [w1], nodes: [n1], latency: 20ms, jitter: 5ms"},
	{kind: "reset", keys: "hosts: [w1], nodes: [n1]"},
	{kind: "clock-jump", keys: "nodes: [n1], by: 2s"},
	{kind: "clock-jump", keys: "nodes: [n1], by: -2s", observed: "its clock jumped by 0s, expected -2s"},
	{kind: "clock-rate", keys: "nodes: [n1], rate: 1.1"},
	{kind: "clock-rate", keys: "nodes: [n1], rate: 0.9", observed: "its clock went on by 10ms in 10ms"},
	{kind: "power-loss", keys: "nodes: [n1]"},
	{kind: "power-loss", keys: "nodes: [n1]", observed: "it still runs"},
	{kind: "evict", keys: "nodes: [n1]"},
	{kind: "evict", keys: "nodes: [n1]", observed: "its keys are all there"},
	{kind: "flush-scripts", keys: "nodes: [n1]"},
	{kind: "read-only", keys: "nodes: [n1]"},
	{kind: "slow", keys: "nodes: [n1], latency: 20ms"},
	{kind: "slow", keys: "nodes: [n1], latency: 20ms", observed: "PING took 1ms at the median"},
	{kind: "failover", keys: "how: kill", from: idleMoment, claim: "signal: killed"},
	{kind: "failover", keys: "how: command", from: idleMoment},
	{kind: "failover", keys: "how: isolate", from: idleMoment},
	{kind: "failover", keys: "how: isolate", from: idleMoment, leaks: true},
	{kind: "cut-replication", keys: "nodes: [n2, n3]", from: idleMoment},
}

// idleMoment is when nobody holds the lock, and the replicas have all.
const idleMoment = "before w1 acquires 3"

func (s sabotage) String() string {
	leaks := ""
	if s.leaks {
		leaks = " leaks"
	}
	return strings.Join(strings.FieldsFunc(s.kind+" "+s.keys+" "+s.claim+" "+s.observed+leaks, func(r rune) bool {
		return strings.ContainsRune(" ,:[]", r)
	}), "-")
}

// scenario is one in which the fault does no harm, so that nothing but its proof
// tells whether it was there.
func (s sabotage) scenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	k, ok := faults.Find(s.kind)
	if !ok {
		t.Fatalf("there is no fault %s", s.kind)
	}
	lock, nodes, hosts, deadline := "{system: redlock, ttl: 1s, context_timeout: true}", "{persistence: everysec}", 2, "10s"
	if k.Failovers {
		lock, nodes, hosts, deadline = "{system: sentinel, ttl: 1s}", "{persistence: none}", 1, "60s"
	}
	from, lasts := "after w1 acquired 2", ""
	if s.from != "" {
		from = s.from
	}
	if k.Heals {
		lasts = ", for: 300ms"
	}
	text := fmt.Sprintf(`
name: sabotage
lock: %s
nodes: %s
hosts: %d
workload: {kind: counter, rounds: 4, work: 5ms, rest: 50ms}
guards: [none]
control: none
deadline: %s
faults: [{fault: %s, %s, from: %s%s}]
expect: {none: {outcome: safe}}
`, lock, nodes, hosts, deadline, s.kind, s.keys, from, lasts)
	sc, err := scenario.Parse([]byte(text), "sabotage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// sabotagedWorld is one in which no fault does anything.
type sabotagedWorld struct {
	World
	sabotage
}

func (w sabotagedWorld) Up(ctx context.Context, spec cluster.Spec) (Cluster, error) {
	c, err := w.World.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	s := &sabotaged{c, c.(cluster.Failovers), w.sabotage}
	if p, ok := c.(cluster.Pacer); ok {
		return paced{s, p}, nil
	}
	return s, nil
}

type sabotaged struct {
	Cluster
	cluster.Failovers
	sabotage
}

// paced is sabotaged, in a world that has to be paced.
type paced struct {
	*sabotaged
	cluster.Pacer
}

func (c *sabotaged) nothing() (string, error) {
	if c.observed != "" {
		return "", errors.New(c.observed)
	}
	return c.claim, nil
}

func (c *sabotaged) PauseHost(context.Context, string) (string, error) { return c.nothing() }
func (c *sabotaged) KillHost(context.Context, string) (string, error)  { return c.nothing() }
func (c *sabotaged) PauseNode(context.Context, string) (string, error) { return c.nothing() }
func (c *sabotaged) CrashNode(context.Context, string) (string, error) { return c.nothing() }
func (c *sabotaged) CutPower(context.Context, string) (string, error)  { return c.nothing() }
func (c *sabotaged) EvictKeys(context.Context, string) (string, error) { return c.nothing() }
func (c *sabotaged) SlowNode(context.Context, string, time.Duration) (string, error) {
	return c.nothing()
}
func (c *sabotaged) JumpClock(context.Context, string, time.Duration) (string, error) {
	return c.nothing()
}
func (c *sabotaged) SetClockRate(ctx context.Context, node string, rate float64) (string, error) {
	if rate == 1 { // the end of the fault
		return c.Cluster.SetClockRate(ctx, node, rate)
	}
	return c.nothing()
}

// Command takes orders without doing them. Questions are answered.
func (c *sabotaged) Command(ctx context.Context, node string, args ...any) (any, error) {
	switch words := strings.TrimSpace(fmt.Sprintln(args...)); {
	case strings.HasPrefix(words, "REPLICAOF"), words == "SCRIPT FLUSH SYNC", strings.HasPrefix(words, "SENTINEL FAILOVER"):
		return "OK", nil
	}
	return c.Cluster.Command(ctx, node, args...)
}

func (c *sabotaged) Link(host, node string) cluster.Link {
	l := deafLink{c.Cluster.Link(host, node)}
	if c.leaks {
		return leakingLink{l}
	}
	return l
}

// deafLink says that it obeys.
type deafLink struct{ cluster.Link }

func (deafLink) Apply(context.Context, string, cluster.Rule) error                 { return nil }
func (deafLink) Delay(context.Context, string, time.Duration, time.Duration) error { return nil }
func (deafLink) Reset(context.Context) (int, error)                                { return 0, nil }

// leakingLink is deaf, and keeps that from probes.
type leakingLink struct{ deafLink }

func (leakingLink) Probe(ctx context.Context) (time.Duration, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// assess runs a scenario as chaos run does, and returns what came of it.
func assess(t *testing.T, w World, name string, s *scenario.Scenario) *results.Assessment {
	t.Helper()
	b := Batch{
		World: w, WorldName: name,
		Scenarios: []*scenario.Scenario{s}, Trials: 1, Jobs: 1, Seed: 1, Root: t.TempDir(), Progress: unheard{},
	}
	if name == scenario.Simulation {
		b.Around = func(f func()) { sim.Bubble(t, f) }
	}
	_, as, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(as) != 1 || as[0].Verdict == nil {
		t.Fatalf("%d runs, expected one with a verdict: %+v", len(as), as)
	}
	return as[0]
}

type unheard struct{}

func (unheard) Planned(int)                                 {}
func (unheard) Started(results.Key)                         {}
func (unheard) Finished(*results.Assessment, time.Duration) {}
func (unheard) Dropped(results.Key)                         {}

// A fault that does nothing is found out: the run that is as expected with it is
// inconclusive without it, for want of its proof, and the exit code is 2.
func TestSabotagedFaults(t *testing.T) {
	for _, k := range faults.Kinds() {
		tried := false
		for _, s := range sabotages {
			tried = tried || s.kind == k.Name
		}
		if !tried {
			t.Errorf("%s is not sabotaged", k.Name)
		}
	}
	for _, s := range sabotages {
		t.Run(s.String(), func(t *testing.T) {
			sc := s.scenario(t)
			if a := assess(t, simWorld{}, scenario.Simulation, sc); a.ExitCode() != results.ExitExpected {
				t.Fatalf("with the fault: exit code %d, %v, %q", a.ExitCode(), a.Differences, a.Verdict.Reasons)
			}
			s.found(t, assess(t, sabotagedWorld{simWorld{}, s}, scenario.Simulation, sc))
		})
	}
}

// found sees that a sabotaged run is inconclusive, and that the fault is why.
func (s sabotage) found(t *testing.T, a *results.Assessment) {
	t.Helper()
	why := fmt.Sprintf("fault f1 (%s): its effect is not proved: ", s.kind)
	if s.leaks {
		why = "bytes crossed the cut links"
	}
	reasons := strings.Join(a.Verdict.Reasons, "\n")
	if a.Verdict.Outcome != checker.Inconclusive || a.ExitCode() != results.ExitInconclusive || !strings.Contains(reasons, why) {
		t.Errorf("without the fault: %s, exit code %d, reasons:\n%s", a.Verdict.Outcome, a.ExitCode(), reasons)
	}
	t.Log(reasons)
}

// The same on real servers, for the faults that are their own witness there. The
// controls that are witnesses are sabotaged in cluster/local.
func TestSabotagedFaultsOnServers(t *testing.T) {
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	own := []string{"partition", "hold", "delay", "reset", "flush-scripts", "read-only", "cut-replication"}
	t.Run("faults", func(t *testing.T) {
		for _, s := range sabotages {
			if !slices.Contains(own, s.kind) {
				continue
			}
			t.Run(s.String(), func(t *testing.T) {
				s.found(t, assess(t, sabotagedWorld{localWorld{m}, s}, scenario.Local, s.scenario(t)))
			})
		}
	})
}
