package remote

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/internal/redistest"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// plainWorld brings clusters up all of whose nodes are plain servers.
type plainWorld struct {
	machine *local.Machine
	plains  *Plains
	nodes   map[string]string
}

func (w plainWorld) Up(ctx context.Context, spec cluster.Spec) (runner.Cluster, error) {
	loan, err := w.plains.Lend(w.nodes)
	if err != nil {
		return nil, err
	}
	spec.KeyPrefix = loan.Prefix()
	c, err := w.machine.UpWith(ctx, spec, local.Outside{Servers: loan.Servers()})
	if err != nil {
		return nil, err
	}
	return loan.Cover(c), nil
}

// farm are plain servers with keys of others, which are watched.
type farm struct {
	plainWorld
	servers  map[string]*redistest.Server
	monitors map[string]*monitor
}

const strangers = 50

func newFarm(t *testing.T, nodes ...string) *farm {
	t.Helper()
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	f := &farm{servers: map[string]*redistest.Server{}, monitors: map[string]*monitor{}}
	entries, names := map[string]Plain{}, map[string]string{}
	for _, n := range nodes {
		s := redistest.Start(t)
		for i := range strangers {
			if err := s.Set(t.Context(), fmt.Sprint("stranger", i), i, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Set(t.Context(), "counter", "another's", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		f.servers[n], entries["the "+n], names[n] = s, limited(t, s), "the "+n
		f.monitors[n] = watch(t, s)
	}
	f.plainWorld = plainWorld{m, opened(t, entries), names}
	return f
}

// unharmed sees that the keys of others are as they were, and no other is there.
func (f *farm) unharmed(t *testing.T) {
	t.Helper()
	for n, s := range f.servers {
		if size := s.DBSize(t.Context()).Val(); size != strangers+1 {
			t.Errorf("%s has %d keys, expected %d: %q", n, size, strangers+1, s.Keys(t.Context(), everyPrefix+"*").Val())
		}
		if v, left := s.Value(t, "counter"), s.PTTL(t.Context(), "counter").Val(); v != "another's" || left < 50*time.Minute {
			t.Errorf("%s: another's counter is %q for %s", n, v, left)
		}
		refused, err := s.Do(t.Context(), "ACL", "LOG").Slice()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range refused {
			if text := fmt.Sprint(r); !strings.Contains(text, "object info ") {
				t.Errorf("%s refused %s", n, text)
			}
		}
	}
}

const plainRun = `
name: plain
lock: {system: %s}
hosts: 2
workload: {kind: counter, rounds: 5, work: 5ms, rest: 20ms}
guards: [%s]
deadline: 30s
faults:
  - {fault: %s}
expect: {%[2]s: {outcome: safe}}
`

func parsed(t *testing.T, lock, guard, fault string) *scenario.Scenario {
	t.Helper()
	s, err := scenario.Parse(fmt.Appendf(nil, plainRun, lock, guard, fault), "plain.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Runs against servers of others, as a user who may do next to nothing, keep to
// their prefix, leave nothing, and change nothing of the server.
func TestPlainRuns(t *testing.T) {
	f := newFarm(t, "n1", "n2", "n3", "n4", "n5", cluster.Resource, cluster.Tokens)
	for name, c := range map[string]struct{ lock, guard, fault string }{
		"clock":     {"single, ttl: 1s", "fence", "clock-jump, nodes: [n1], by: 100ms, from: after w1 acquired 2"},
		"partition": {"redlock, token: quorum, ttl: 1s", "fence-read", "partition, hosts: [w1], nodes: [n1, n2], from: after w1 acquired 2, for: 100ms"},
		"hold":      {"redlock, token: external, ttl: 1s", "version", "hold, hosts: [w1], nodes: [n2], from: after w1 acquired 2, for: 50ms"},
		"delay":     {"single-mint-after, ttl: 1s", "atomic", "delay, hosts: [w2], nodes: [n1], latency: 20ms, from: after w1 acquired 2, for: 100ms"},
		"reset":     {"single-bare-del, ttl: 1s", "none", "reset, nodes: [n1, resource], from: after w1 acquired 2"},
		"pause":     {"redsync-single, ttl: 1s", "none", "pause-host, hosts: [w1], from: after w1 acquired 2, for: 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, c.lock, c.guard, c.fault)
			loan, err := f.plains.Lend(f.nodes)
			if err != nil {
				t.Fatal(err)
			}
			if err := loan.Check(s); err != nil {
				t.Fatal(err)
			}
			var keep history.History
			logs := t.TempDir()
			r := runner.Run{Name: name, World: "remote", Scenario: s, Guard: c.guard, Seed: 1, Logs: logs, Keep: &keep}
			w := f.plainWorld
			w.nodes = map[string]string{}
			for _, n := range append(s.NodeNames(), cluster.Resource) {
				w.nodes[n] = f.nodes[n]
			}
			if err := r.Do(t.Context(), w, io.Discard); err != nil {
				t.Fatal(err)
			}
			proved := slices.ContainsFunc(keep.Events, func(e history.Event) bool { return e.Fault != nil && e.Fault.Step == history.FaultProved })
			granted := slices.ContainsFunc(keep.Events, func(e history.Event) bool { return e.Do == history.Acquire && e.Result == history.OK })
			if !proved || !granted {
				t.Errorf("fault proved: %v, lock granted: %v", proved, granted)
			}
			f.unharmed(t)
			silent(t, logs)
		})
	}
	all := map[string]int{}
	for _, m := range f.monitors {
		for name, n := range m.keep(t) {
			all[name] += n
		}
	}
	for _, name := range []string{"set", "incr", "evalsha", "pexpire", "rpush", "scan", "unlink", "auth"} {
		if all[name] == 0 {
			t.Errorf("the monitors saw no %s, only %v", name, all)
		}
	}
}

// silent sees that no log has a secret.
func silent(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("logs: %v, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(b), hush) {
			t.Errorf("%s has a secret, or cannot be read: %v", file, err)
		}
	}
}

// A run that is broken off leaves nothing either.
func TestPlainRunInterrupted(t *testing.T) {
	f := newFarm(t, "n1", cluster.Resource)
	ctx, cancel := context.WithCancel(t.Context())
	s := parsed(t, "single, ttl: 5s", "none", "pause-host, hosts: [w1], from: after w1 acquired, for: 9s")
	go func() {
		redistest.Until(t, "the lock is held", func() bool { return len(f.servers["n1"].Keys(t.Context(), everyPrefix+"*counter").Val()) > 0 })
		cancel()
	}()
	r := runner.Run{Name: "cut", World: "remote", Scenario: s, Guard: "none", Seed: 1, Logs: t.TempDir()}
	if err := r.Do(ctx, f.plainWorld, io.Discard); err == nil {
		t.Error("it was not broken off")
	}
	f.unharmed(t)
}

// What cannot be done to a plain server is refused before a run, and by the cluster
// itself; its neighbours are not meant.
func TestPlainRefuses(t *testing.T) {
	f := newFarm(t, "n1")
	loan, err := f.plains.Lend(map[string]string{"n1": "the n1"})
	if err != nil {
		t.Fatal(err)
	}
	err = loan.Check(parsed(t, "single, ttl: 1s", "none", "crash-node, nodes: [n1], from: at 0s, for: 1s"))
	want := "plain.yaml:9: faults[0].fault: crash-node acts on its process, and n1 is a plain server, which we did not start: the n1 (" + f.servers["n1"].Addr + ")"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %v, expected %q", err, want)
	}
	if err := loan.Check(parsed(t, "single, ttl: 1s", "none", "pause-node, nodes: [resource], from: at 0s, for: 1s")); err != nil {
		t.Error(err)
	}
	jump := parsed(t, "single, ttl: 1s", "none", "clock-jump, nodes: [n1], by: 1s, from: at 0s")
	if err := loan.Check(jump); err != nil {
		t.Error(err)
	}
	loan.nodes["n1"].facts.keys = MostKeys + 1
	if err := loan.Check(jump); err == nil || !strings.Contains(err.Error(), "1000001 keys") {
		t.Errorf("of too many keys it says %v", err)
	}
	c, err := f.machine.UpWith(deadline(t), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: "own"}}}, local.Outside{Servers: loan.Servers()})
	if err != nil {
		t.Fatal(err)
	}
	covered := loan.Cover(c)
	for what, do := range controls(covered) {
		if _, err := do("n1"); err == nil || !strings.Contains(err.Error(), "which we did not start") {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := do("own"); err != nil && strings.Contains(err.Error(), "which we did not start") {
			t.Errorf("%s of a node of our own: %v", what, err)
		}
	}
	if err := covered.Close(); err != nil {
		t.Error(err)
	}
	f.unharmed(t)
	for name := range f.monitors["n1"].keep(t) {
		if name == "config" || name == "debug" {
			t.Errorf("%s was sent", name)
		}
	}
}

func controls(c Base) map[string]func(string) (string, error) {
	ctx := context.Background()
	return map[string]func(string) (string, error){
		"pause":  func(n string) (string, error) { return c.PauseNode(ctx, n) },
		"resume": func(n string) (string, error) { return c.ResumeNode(ctx, n) },
		"crash":  func(n string) (string, error) { return c.CrashNode(ctx, n) },
		"start":  func(n string) (string, error) { return c.StartNode(ctx, n) },
		"rate":   func(n string) (string, error) { return c.SetClockRate(ctx, n, 1.1) },
		"sync":   func(n string) (string, error) { return c.SyncNode(ctx, n) },
		"power":  func(n string) (string, error) { return c.CutPower(ctx, n) },
		"evict":  func(n string) (string, error) { return c.EvictKeys(ctx, n) },
		"free":   func(n string) (string, error) { return c.FreeMemory(ctx, n) },
		"slow":   func(n string) (string, error) { return c.SlowNode(ctx, n, 10*time.Millisecond) },
		"hurry":  func(n string) (string, error) { return c.HurryNode(ctx, n) },
		"order": func(n string) (string, error) {
			_, err := c.Command(ctx, n, "PING")
			return "", err
		},
	}
}
