package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
	"lockchaos/host"
)

func world(hosts ...cluster.HostSpec) cluster.Spec {
	return cluster.Spec{
		Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: "n2"}, {Name: cluster.Resource}},
		Hosts: hosts,
	}
}

func TestHost(t *testing.T) {
	t.Parallel()
	spec := world(cluster.HostSpec{Name: "w1", Command: play("host")})
	spec.Logs = t.TempDir()
	c := up(t, spec)
	ctx := deadline(t)
	var events []host.Event
	h, err := c.StartHost(ctx, "w1", host.Init{}, func(e host.Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.StartHost(ctx, "w1", host.Init{}, nil); err == nil {
		t.Error("started a host that runs")
	}
	reply, err := h.Do(ctx, host.Request{ID: 1, Op: host.OpAcquire})
	if err != nil || reply.Owner != fmt.Sprint(c.hosts["w1"].proc.pid) || len(events) != 1 {
		t.Fatalf("%+v %v, events %v", reply, err, events)
	}

	if proof, err := c.PauseHost(ctx, "w1"); err != nil || !strings.HasPrefix(proof, "process state T") {
		t.Fatal(proof, err)
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err := h.Do(short, host.Request{ID: 2, Op: host.OpCheck}); err == nil {
		t.Error("a paused host answers")
	}
	if proof, err := c.ResumeHost(ctx, "w1"); err != nil {
		t.Fatal(proof, err)
	}
	if _, err := h.Do(ctx, host.Request{ID: 3, Op: host.OpCheck}); err != nil {
		t.Error(err)
	}

	if proof, err := c.KillHost(ctx, "w1"); err != nil || !strings.HasPrefix(proof, "signal: killed") {
		t.Fatal(proof, err)
	}
	<-h.Done()
	if err := h.Err(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Error("want the end of the process:", err)
	}
	again, err := c.StartHost(ctx, "w1", host.Init{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(ctx); err != nil {
		t.Error(err)
	}
	if log, err := os.ReadFile(filepath.Join(spec.Logs, "w1.log")); err != nil || bytes.Count(log, []byte("speaks")) != 2 {
		t.Errorf("log: %q, %v", log, err)
	}
}

func TestHostThatCannotStart(t *testing.T) {
	t.Parallel()
	c := up(t, world(
		cluster.HostSpec{Name: "w1", Command: []string{"no-such-program", "x"}},
		cluster.HostSpec{Name: "w2", Command: []string{"false"}},
		cluster.HostSpec{Name: "w3", Command: play("deaf")},
	))
	for name, want := range map[string]string{"w1": "no-such-program", "w2": "w2.log", "w3": "deadline", "w9": "w1, w2, w3"} {
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		_, err := c.StartHost(ctx, name, host.Init{}, nil)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want an error with %q: %v", name, want, err)
		}
	}
}

// A host that dies, or fails to start, is quoted with the last that it said.
func TestHostLastWords(t *testing.T) {
	t.Parallel()
	c := up(t, world(
		cluster.HostSpec{Name: "w1", Command: []string{"sh", "-c", `echo first >&2; printf 'no module \033[31mredis\n\n' >&2; exit 3`}},
		cluster.HostSpec{Name: "w2", Command: []string{"sh", "-c", `read init; echo '{"id":1125899906842624,"ok":true}'; echo "bad luck" >&2; exit 4`}},
	))
	_, err := c.StartHost(deadline(t), "w1", host.Init{}, nil)
	if want := `exit status 3; the last line of its log: "no module ?[31mredis"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("want %s: %v", want, err)
	}
	h, err := c.StartHost(deadline(t), "w2", host.Init{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	<-h.Done()
	if want := `exit status 4; the last line of its log: "bad luck"`; !strings.Contains(h.Err().Error(), want) {
		t.Errorf("want %s: %v", want, h.Err())
	}
}

func TestLastLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for text, want := range map[string]string{
		"old\n":           "",
		"old\n\n \n":      "",
		"old\nnew":        "new",
		"old\na\r\nb\r\n": "b",
		"old\n\xff\x00":   "??",
		"old\n" + strings.Repeat("x", 9999) + "\nlast\n": "last",
		"old\n" + strings.Repeat("y", 9999):              strings.Repeat("y", 200) + "…",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(path, 4); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
	if got := lastLine(path+"x", 0); got != "" {
		t.Errorf("of no file: %q", got)
	}
}

// TestClose: everything is stopped, and yet the end comes soon and leaves nothing.
func TestClose(t *testing.T) {
	before := runtime.NumGoroutine()
	m, err := openIn(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx := deadline(t)
	c, err := m.Up(ctx, world(
		cluster.HostSpec{Name: "w1", Command: play("host")},
		cluster.HostSpec{Name: "w2", Command: play("host")},
	))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w1", "w2"} {
		if _, err := c.StartHost(ctx, name, host.Init{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Pool("w1", "n1").Get(ctx); err != nil {
		t.Fatal(err)
	}
	for _, f := range []func() (string, error){
		func() (string, error) { return c.PauseHost(ctx, "w1") },
		func() (string, error) { return c.PauseNode(ctx, "n1") },
		func() (string, error) { return c.CrashNode(ctx, "n2") },
	} {
		if _, err := f(); err != nil {
			t.Fatal(err)
		}
	}
	l := c.Link("w1", "n1")
	for _, err := range []error{
		l.Apply(ctx, "h", cluster.Rule{}), l.Delay(ctx, "d", time.Second, 0),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	stuck := dial(t, c, "w1", "n1")
	stuck.send("SET", "a", "1")
	until(t, "the request is held", func() bool { return l.Counts().HeldBytes > 0 })

	start := time.Now()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("close took %v", took)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range c.nodes {
		until(t, "the node is gone", func() bool { return gone(n.proc.pid) })
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) {
		t.Error("the directory is there still:", err)
	}
	if ps := m.toxi.api.Collection.Proxies(); len(ps) != 0 {
		t.Errorf("%d proxies are left", len(ps))
	}
	if _, err := c.StartHost(ctx, "w1", host.Init{}, nil); err == nil {
		t.Error("started a host in a closed cluster")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	stuck.Close()
	until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+2 })
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	c := up(t, world(cluster.HostSpec{Name: "w1"}))
	ctx := deadline(t)
	for what, err := range map[string]error{
		"link": c.Link("w1", "n9").Apply(ctx, "x", cluster.Rule{}),
		"pool": func() error { _, err := c.Pool("w9", "n1").Get(ctx); return err }(),
		"node": func() error { _, err := c.Direct("n9").Get(ctx); return err }(),
		"host": func() error { _, err := c.PauseHost(ctx, "w1"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "n1, n2, resource") {
			t.Errorf("%s: want an error that lists the names: %v", what, err)
		}
	}
}

func TestBacked(t *testing.T) {
	t.Parallel()
	c := up(t, world(cluster.HostSpec{Name: "w1"}))
	ctx := deadline(t)
	backed := cluster.Backed([]cluster.Link{c.Link("w1", "n1"), c.Link("w1", "n2")})
	if _, err := c.Link("w1", "n2").Probe(ctx); err != nil {
		t.Fatal(err)
	}
	for i, node := range []string{cluster.Resource, "n1", "n2"} {
		conn, err := c.Pool("w1", node).Get(ctx)
		if err == nil {
			_, err = conn.Set("a", "1")
		}
		if n := backed(); err != nil || n != i {
			t.Errorf("after %s, %d nodes have answered, want %d (%v)", node, n, i, err)
		}
	}
}
