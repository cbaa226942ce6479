package remote

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/internal/secret"
)

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func machine(t *testing.T) *local.Machine {
	t.Helper()
	m, err := local.Open(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

const testToken = "a-token-for-tests-only"

var token = secret.New(testToken)

// agent starts one and returns where it listens, and how it is ended.
func agent(t *testing.T) (addr string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // it outlives what is cleaned up before it
	at, done := make(chan string, 1), make(chan error, 1)
	a := NewAgent(deadline(t), machine(t), token, "")
	go func() { done <- a.Serve(ctx, "127.0.0.1:0", func(addr string) { at <- addr }) }()
	ended := false
	end = func() {
		if cancel(); !ended {
			ended = true
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(end)
	return <-at, end
}

func fleet(t *testing.T, members ...Member) *Fleet {
	t.Helper()
	f, err := Open(deadline(t), machine(t), &Members{members}, token)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func up(t *testing.T, f *Fleet, spec cluster.Spec) *Cluster {
	t.Helper()
	p, err := f.Reserve(deadline(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Up(deadline(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		p.Free()
	})
	return c
}

// A master and its replica behind two agents: what is between them is a link of
// the replica's agent, and can be cut like any other.
func TestPeers(t *testing.T) {
	t.Parallel()
	master, _ := agent(t)
	replica, _ := agent(t)
	logs := t.TempDir()
	c := up(t, fleet(t, Member{Name: "m", Agent: master, Roles: []string{RoleMaster}}, Member{Name: "r", Agent: replica, Roles: []string{RoleReplica}}),
		cluster.Spec{Name: "peers", Logs: logs, Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: "n2", Role: cluster.RoleReplica}}})
	set := func(value string) {
		t.Helper()
		if _, err := c.Command(deadline(t), "n1", "SET", "key", value); err != nil {
			t.Fatal(err)
		}
	}
	copied := func(value string) bool {
		v, err := c.Command(deadline(t), "n2", "GET", "key")
		return err == nil && v == value
	}
	set("one")
	until(t, "the replica has it", func() bool { return copied("one") })
	l := c.Link("n2", "n1")
	if got := l.Counts(); got.ReplyBytes == 0 || got.Connections == 0 {
		t.Errorf("nothing came over the link: %+v", got)
	}
	if _, err := l.Probe(deadline(t)); err != nil {
		t.Error(err)
	}
	if err := l.Apply(deadline(t), "cut", cluster.Rule{Direction: cluster.Both, Drop: true}); err != nil {
		t.Fatal(err)
	}
	if err := l.Apply(deadline(t), "cut", cluster.Rule{Direction: cluster.Both, Drop: true}); err == nil || !strings.Contains(err.Error(), "in force already") {
		t.Errorf("a rule twice: %v", err)
	}
	set("two")
	briefly, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := l.Probe(briefly); err == nil {
		t.Error("a link that is cut answers")
	}
	if copied("two") {
		t.Error("the replica has what came when the link was cut")
	}
	if err := l.Lift(deadline(t), "cut"); err != nil {
		t.Fatal(err)
	}
	until(t, "the replica has that, too", func() bool { return copied("two") })
	if n, err := l.Reset(deadline(t)); err != nil || n == 0 {
		t.Errorf("reset %d connections: %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"n1", "n2"} {
		if b, err := os.ReadFile(filepath.Join(logs, name+".log")); err != nil || !strings.Contains(string(b), "Ready to accept connections") {
			t.Errorf("the log of %s: %v", name, err)
		}
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx := deadline(t); !ok(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("waited in vain until ", what)
		}
	}
}

// The controls reach the node, their proofs come back, and so does the kind of an error.
func TestControls(t *testing.T) {
	t.Parallel()
	addr, _ := agent(t)
	c := up(t, fleet(t, Member{Name: "l", Agent: addr, Roles: []string{RoleLock}}), cluster.Spec{Name: "controls", Nodes: []cluster.NodeSpec{{Name: "n1", Clock: true}}})
	ctx := deadline(t)
	for _, step := range []struct {
		name string
		act  func() (string, error)
		says string
	}{
		{"pause", func() (string, error) { return c.PauseNode(ctx, "n1") }, "state T"},
		{"resume", func() (string, error) { return c.ResumeNode(ctx, "n1") }, "process state"},
		{"jump", func() (string, error) { return c.JumpClock(ctx, "n1", time.Minute) }, "TIME ahead by"},
		{"rate", func() (string, error) { return c.SetClockRate(ctx, "n1", 2) }, "TIME went on by"},
		{"slow", func() (string, error) { return c.SlowNode(ctx, "n1", 20*time.Millisecond) }, ""},
		{"hurry", func() (string, error) { return c.HurryNode(ctx, "n1") }, ""},
		{"sync", func() (string, error) { return c.SyncNode(ctx, "n1") }, "nothing is on disk"},
		{"cut power", func() (string, error) { return c.CutPower(ctx, "n1") }, "nothing was on disk"},
		{"start", func() (string, error) { return c.StartNode(ctx, "n1") }, "run id " + c.RunID("n1")[:8]},
		{"crash", func() (string, error) { return c.CrashNode(ctx, "n1") }, "connect refused"},
		{"start again", func() (string, error) { return c.StartNode(ctx, "n1") }, "run id"},
	} {
		if proof, err := step.act(); err != nil || proof == "" || !strings.Contains(proof, step.says) {
			t.Errorf("%s: %q, %v", step.name, proof, err)
		}
	}
	if _, err := c.StartNode(ctx, "n1"); err == nil || !strings.Contains(err.Error(), "runs already") || !strings.Contains(err.Error(), "agent l at "+addr) {
		t.Errorf("a start of what runs: %v", err)
	}
	if _, err := c.EvictKeys(ctx, "n1"); !errors.Is(err, cluster.ErrIdle) {
		t.Errorf("an eviction where there is no key: %v", err)
	}
	if _, err := c.PauseNode(ctx, "n9"); err == nil {
		t.Error("a node that is not there was paused")
	}
}

// Without the token, or with another version, an agent says nothing.
func TestAdmission(t *testing.T) {
	t.Parallel()
	addr, _ := agent(t)
	for _, path := range []string{pathHealth, pathPrepare, pathSession, pathTunnel, pathNode, pathLog, pathControl + doCrash, pathLink + "n1/" + doApply, "/", "/v2"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			for _, t2 := range []secret.Token{{}, secret.New("another-token-for-tests"), secret.New(testToken + "x"), secret.New(testToken[1:])} {
				if got := status(t, method, addr, path, t2, wireVersion); got != http.StatusUnauthorized {
					t.Errorf("%s %s with a wrong token: %d", method, path, got)
				}
			}
			if got := status(t, method, addr, path, token, "0"); got != http.StatusBadRequest {
				t.Errorf("%s %s of another version: %d", method, path, got)
			}
		}
	}
}

func status(t *testing.T, method, addr, path string, tok secret.Token, version string) int {
	t.Helper()
	r, err := head(deadline(t), method, addr, path, tok, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(headerVersion, version)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// One runner at a time holds an agent; what others ask of it is refused, and when
// it goes its node goes.
func TestHold(t *testing.T) {
	t.Parallel()
	addr, _ := agent(t)
	m := Member{Name: "l", Agent: addr, Roles: []string{RoleLock}}
	first := up(t, fleet(t, m), cluster.Spec{Name: "first", Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	h, err := AskHealth(deadline(t), addr, token)
	if err != nil || h.Held != "first" || !strings.HasPrefix(h.String(), "held by first; Redis server") {
		t.Errorf("%v, %v", h, err)
	}
	briefly, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := hold(briefly, m, token, "second"); !errors.Is(err, errHeld) || !strings.Contains(err.Error(), "held by first") {
		t.Errorf("a second hold: %v", err)
	}
	stranger := &client{name: "l", addr: addr, token: token, http: newHTTP(), session: "guessed"}
	if _, err := stranger.control(deadline(t), doCrash, control{}); err == nil || !strings.Contains(err.Error(), "not held by who asks") {
		t.Errorf("a stranger's control: %v", err)
	}
	tunnel, err := dialTunnel(deadline(t), addr, token)
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	if err := first.agents["n1"].conn.Close(); err != nil { // as if the runner had died
		t.Fatal(err)
	}
	until(t, "the agent is free", func() bool {
		h, err := AskHealth(deadline(t), addr, token)
		return err == nil && h.Held == ""
	})
	_ = tunnel.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := tunnel.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server of a runner that has gone still answers: %v", err)
	}
	if _, err := dialTunnel(deadline(t), addr, token); err == nil || !strings.Contains(err.Error(), "runs no node") {
		t.Errorf("a tunnel to nothing: %v", err)
	}
	first.agents = nil // it has ended by itself
}

// What is no agent is named as such.
func TestNoAgent(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = http.Serve(ln, http.NotFoundHandler()) }()
	defer ln.Close()
	if _, err := AskHealth(deadline(t), ln.Addr().String(), token); err == nil || !strings.Contains(err.Error(), "is it an agent") {
		t.Error(err)
	}
}
