package remote

import (
	"context"
	"errors"
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
	"lockchaos/internal/secret"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// fleetWorld is what chaos run makes of a fleet.
type fleetWorld struct{ *Fleet }

func (w fleetWorld) Up(ctx context.Context, spec cluster.Spec) (runner.Cluster, error) {
	p, err := w.Reserve(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer p.Free()
	c, err := p.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// farm are plain servers with keys of others, which are watched.
type farm struct {
	fleetWorld
	servers  map[string]*redistest.Server
	monitors map[string]*monitor
}

const strangers = 50

// newFarm has a plain server for each role that is given.
func newFarm(t *testing.T, roles ...string) *farm {
	t.Helper()
	f := &farm{servers: map[string]*redistest.Server{}, monitors: map[string]*monitor{}}
	var members Members
	for i, role := range roles {
		s, name := redistest.Start(t), fmt.Sprint(role, i)
		for k := range strangers {
			if err := s.Set(t.Context(), fmt.Sprint("stranger", k), k, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Set(t.Context(), "counter", "another's", time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		f.servers[name], f.monitors[name] = s, watch(t, s)
		members.Nodes = append(members.Nodes, Member{Name: name, Plain: limited(t, s), Roles: []string{role}})
	}
	if at, message := members.check(); message != "" {
		t.Fatal(at, message)
	}
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if f.Fleet, err = Open(deadline(t), m, &members, secret.Token{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
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
			if text := fmt.Sprint(r); !strings.Contains(text, "object:info ") {
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
	f := newFarm(t, RoleLock, RoleLock, RoleLock, RoleLock, RoleLock, RoleResource, RoleTokens)
	for name, c := range map[string]struct{ lock, guard, fault string }{
		"clock":     {"single, ttl: 1s", "fence", "clock-jump, nodes: [n1], by: 100ms, from: after w1 acquired 2"},
		"partition": {"redlock, token: quorum, ttl: 1s", "fence-read", "partition, hosts: [w1], nodes: [n1, n2], from: after w1 acquired 2, for: 500ms"},
		"hold":      {"redlock, token: external, ttl: 1s", "version", "hold, hosts: [w1], nodes: [n2], from: after w1 acquired 2, for: 500ms"},
		"delay":     {"single-mint-after, ttl: 1s", "atomic", "delay, hosts: [w2], nodes: [n1], latency: 20ms, from: after w1 acquired 2, for: 500ms"},
		"reset":     {"single-bare-del, ttl: 1s", "none", "reset, nodes: [n1, resource], from: after w1 acquired 2"},
		"pause":     {"redsync-single, ttl: 1s", "none", "pause-host, hosts: [w1], from: after w1 acquired 2, for: 100ms"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parsed(t, c.lock, c.guard, c.fault)
			var keep history.History
			logs := t.TempDir()
			r := runner.Run{Name: name, World: scenario.Remote, Scenario: s, Guard: c.guard, Seed: 1, Logs: logs, Keep: &keep}
			if err := f.Refuses(s, r.Spec()); err != nil {
				t.Fatal(err)
			}
			if err := r.Do(t.Context(), f, io.Discard); err != nil {
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
	for _, name := range []string{"set", "incr", "evalsha", "pexpire", "rpush", "scan", "unlink"} {
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
	f := newFarm(t, RoleLock, RoleResource)
	ctx, cancel := context.WithCancel(t.Context())
	s := parsed(t, "single, ttl: 5s", "none", "pause-host, hosts: [w1], from: after w1 acquired, for: 9s")
	go func() {
		redistest.Until(t, "the lock is held", func() bool { return len(f.servers["lock0"].Keys(t.Context(), everyPrefix+"*counter").Val()) > 0 })
		cancel()
	}()
	r := runner.Run{Name: "cut", World: scenario.Remote, Scenario: s, Guard: "none", Seed: 1, Logs: t.TempDir()}
	if err := r.Do(ctx, f, io.Discard); err == nil {
		t.Error("it was not broken off")
	}
	f.unharmed(t)
}

// What cannot be done to a plain server is refused before a run, with the place of
// the fault. A server behind an agent is taken in its place where there is one.
func TestPlainRefuses(t *testing.T) {
	f := newFarm(t, RoleLock, RoleResource)
	addr := f.servers["lock0"].Addr
	spec := func(s *scenario.Scenario) cluster.Spec { return runner.Run{Scenario: s, Guard: "none"}.Spec() }
	crash := parsed(t, "single, ttl: 1s", "none", "crash-node, nodes: [n1], from: at 0s, for: 1s")
	err := f.Refuses(crash, spec(crash))
	want := "plain.yaml:9: faults[0].fault: crash-node acts on its process, and n1 is a plain server, which we did not start: lock0 (" + addr + ")"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it says %v, expected %q", err, want)
	}
	if _, err := f.Reserve(t.Context(), spec(crash)); !errors.Is(err, ErrLacks) {
		t.Errorf("a run that was not to be gets nodes: %v", err)
	}
	for _, fault := range []string{"clock-jump, nodes: [n1], by: 1s, from: at 0s", "kill-host, hosts: [w1], from: at 0s"} {
		s := parsed(t, "single, ttl: 1s", "none", fault)
		if err := f.Refuses(s, spec(s)); err != nil {
			t.Error(err)
		}
	}
	f.members = append(f.members, Member{Name: "supervised", Agent: "a:1", Roles: []string{RoleLock}})
	if err := f.Refuses(crash, spec(crash)); err != nil {
		t.Error(err)
	}
	placed, err := f.place(spec(crash), all)
	if err != nil || placed["n1"].Name != "supervised" || placed["resource"].Name != "resource1" {
		t.Errorf("placed %v, %v", placed, err)
	}
	f.members = f.members[:1]
	if err := f.Refuses(crash, spec(crash)); !errors.Is(err, ErrLacks) {
		t.Errorf("without a resource: %v", err)
	}
}

// The cluster itself refuses, too: nothing is sent to the server.
func TestPlainControls(t *testing.T) {
	f := newFarm(t, RoleLock)
	c, err := f.Up(deadline(t), cluster.Spec{Name: "plain", Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, do := range controls(c) {
		if _, err := do("n1"); err == nil || !strings.Contains(err.Error(), "which we did not start: lock0") {
			t.Errorf("%s: %v", what, err)
		}
	}
	prefix := c.(*Cluster).KeyPrefix()
	if err := f.servers["lock0"].Set(t.Context(), prefix+"counter", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	f.unharmed(t)
	f.monitors["lock0"].keep(t)
}

func controls(c runner.Cluster) map[string]func(string) (string, error) {
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
