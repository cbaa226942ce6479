package local

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

func get(t *testing.T, c *Cluster, node, key string) string {
	t.Helper()
	conn, err := c.Direct(node).Get(deadline(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // a connection of the pool may be of the server before
		var v string
		if v, err = conn.Get(key); err == nil {
			return v
		}
	}
	t.Fatal(err)
	return ""
}

func set(t *testing.T, c *Cluster, node, key, value string) {
	t.Helper()
	conn, err := c.Direct(node).Get(deadline(t))
	if err == nil {
		_, err = conn.Set(key, value)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRestart(t *testing.T) {
	t.Parallel()
	keeps := map[string]bool{cluster.PersistNone: false, cluster.PersistEverySec: true, cluster.PersistAlways: true, "": false}
	for persistence, keep := range keeps {
		t.Run("persistence "+persistence, func(t *testing.T) {
			t.Parallel()
			c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: persistence}}})
			restart(t, c, keep)
		})
	}
}

func restart(t *testing.T, c *Cluster, keep bool) {
	ctx := deadline(t)
	addr, err := c.NodeAddr("n1")
	if err != nil {
		t.Fatal(err)
	}
	id := c.RunID("n1")
	set(t, c, "n1", "key", "value")
	if _, err := c.StartNode(ctx, "n1"); err == nil {
		t.Error("started a node that runs")
	}
	proof, err := c.CrashNode(ctx, "n1")
	if err != nil || !strings.Contains(proof, "signal: killed") || !strings.Contains(proof, "refused") {
		t.Fatal(proof, err)
	}
	if _, err := c.CrashNode(ctx, "n1"); err == nil {
		t.Error("crashed a node twice")
	}
	proof, err = c.StartNode(ctx, "n1")
	if err != nil || !strings.HasPrefix(proof, "run id "+id[:8]) {
		t.Fatal(proof, err)
	}
	if now, _ := c.NodeAddr("n1"); now != addr || c.RunID("n1") == id {
		t.Errorf("address %s → %s, run id %s → %s", addr, now, id, c.RunID("n1"))
	}
	if v := get(t, c, "n1", "key"); (v == "value") != keep {
		t.Errorf("after the restart the key is %q, kept is to be %v", v, keep)
	}
}

func TestPauseNode(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	ctx := deadline(t)
	if proof, err := c.PauseNode(ctx, "n1"); err != nil || !strings.HasPrefix(proof, "process state T") {
		t.Fatal(proof, err)
	}
	addr, _ := c.NodeAddr("n1")
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := ask(short, "", addr, "PING"); err == nil {
		t.Error("a paused node answers")
	}
	if proof, err := c.ResumeNode(ctx, "n1"); err != nil || strings.Contains(proof, "state T") {
		t.Fatal(proof, err)
	}
	if _, err := ask(ctx, "", addr, "PING"); err != nil {
		t.Error(err)
	}
	if _, err := c.PauseNode(ctx, "n9"); err == nil || !strings.Contains(err.Error(), "n1") {
		t.Error("an unknown node: want an error that lists the nodes:", err)
	}
}

// TestPortTaken: another server listens where the node was to.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	other, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() { // it takes connections and ends them
		for {
			conn, err := other.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	n := newNode(c.machine, c, cluster.NodeSpec{Name: "n2"}, c.nodes["n1"].redis)
	tries := 0
	n.reserve = func(number int) (*port, error) {
		if tries++; tries == 1 {
			return &port{number: other.Addr().(*net.TCPAddr).Port, fd: -1}, nil
		}
		return reserve(number)
	}
	if err := n.open(deadline(t)); err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if tries != 2 {
		t.Errorf("%d ports were tried, want 2", tries)
	}
}

func TestPortIsKept(t *testing.T) {
	t.Parallel()
	p, err := reserve(0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.free()
	if ln, err := net.Listen("tcp4", p.addr()); err == nil { // Go sets SO_REUSEADDR, too
		ln.Close()
	}
	if _, err := net.DialTimeout("tcp4", p.addr(), time.Second); err == nil {
		t.Error("a kept port is to refuse")
	}
}

func TestNodeThatDoesNotStart(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	n := newNode(c.machine, c, cluster.NodeSpec{Name: "n2", Persistence: "sometimes"}, c.nodes["n1"].redis)
	err := n.open(deadline(t))
	defer n.close()
	if err == nil || !strings.Contains(err.Error(), "appendfsync") || !strings.Contains(err.Error(), n.log) {
		t.Error("want the last lines of the log and its name:", err)
	}
}

func TestSpecIsChecked(t *testing.T) {
	t.Parallel()
	m := open(t)
	for want, spec := range map[string]cluster.Spec{
		"no nodes":       {},
		"../n1":          {Nodes: []cluster.NodeSpec{{Name: "../n1"}}},
		"twice":          {Nodes: []cluster.NodeSpec{{Name: "a"}}, Hosts: []cluster.HostSpec{{Name: "a"}}},
		`"sometimes"`:    {Nodes: []cluster.NodeSpec{{Name: "a", Persistence: "sometimes"}}},
		"host name \"\"": {Nodes: []cluster.NodeSpec{{Name: "a"}}, Hosts: []cluster.HostSpec{{}}},
	} {
		if _, err := m.Up(deadline(t), spec); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %s: %v", want, err)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	logs := filepath.Join(t.TempDir(), "a", "logs")
	up(t, cluster.Spec{Logs: logs, Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: "n2"}, {Name: "n3"}}})
	for i := range 3 {
		path := filepath.Join(logs, fmt.Sprintf("n%d.log", i+1))
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), "Ready to accept connections") {
			t.Errorf("%s: %v\n%s", path, err, b)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	for _, x := range []struct {
		args []any
		want string
	}{
		{[]any{"SET", "k", 7}, "OK <nil>"},
		{[]any{"INCR", "k"}, "8 <nil>"},
		{[]any{"GET", "none"}, "<nil> <nil>"},
		{[]any{"LPUSH", "k", "v"}, "<nil> node n1: LPUSH: WRONGTYPE Operation against a key holding the wrong kind of value"},
	} {
		v, err := c.Command(deadline(t), "n1", x.args...)
		if got := fmt.Sprint(v, " ", err); got != x.want {
			t.Errorf("%v: got %s, want %s", x.args, got, x.want)
		}
	}
	if _, err := c.Command(deadline(t), "n9", "PING"); err == nil || !strings.Contains(err.Error(), `there is no node "n9"`) {
		t.Errorf("got %v", err)
	}
}
