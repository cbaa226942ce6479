package sim

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/locks"
)

// world is a group in a bubble, and a client of it on each of two hosts.
type world struct {
	*testing.T
	*Cluster
	ctx     context.Context
	clients map[string]*failover
}

var groupNodes = []cluster.NodeSpec{
	{Name: "n1"}, {Name: "n2", Role: cluster.RoleReplica}, {Name: "n3", Role: cluster.RoleReplica},
	{Name: "s1", Role: cluster.RoleSentinel}, {Name: "s2", Role: cluster.RoleSentinel}, {Name: "s3", Role: cluster.RoleSentinel},
	{Name: cluster.Resource},
}

// grouped runs f in a bubble with a master, two replicas and three Sentinels.
func grouped(t *testing.T, name string, spec func(*cluster.Spec), f func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := cluster.Spec{Seed: 1, Hosts: []cluster.HostSpec{{Name: "w1"}, {Name: "w2"}}}
			s.Nodes = append(s.Nodes, groupNodes...)
			if spec != nil {
				spec(&s)
			}
			w := &world{T: t, Cluster: Up(s, DefaultLatency), ctx: t.Context(), clients: map[string]*failover{}}
			for _, h := range s.Hosts {
				p := newProcess(h.Name, w.odd[h.Name], w.Cluster.gates[h.Name])
				w.hosts[h.Name] = p
				w.clients[h.Name] = w.newFailover(p, *w.Cluster.group.init(), locks.Options{})
			}
			defer w.Close()                    // returns no error
			time.Sleep(500 * time.Millisecond) // all have heard of all
			f(w)
		})
	})
}

// at is a command to a node past all links, and its reply or its error.
func (w *world) at(node string, args ...any) any {
	v, err := w.Command(w.ctx, node, args...)
	if err != nil {
		return err.Error()
	}
	return v
}

// from is a command of a host's client to the master.
func (w *world) from(host string, args ...any) any {
	v, _ := w.answered(host, args...)
	return v
}

// answered is from, and who has answered.
func (w *world) answered(host string, args ...any) (v any, by string) {
	c := &masterConn{f: w.clients[host]}
	v, err := c.do(w.ctx, args...)
	if err != nil {
		v = err.Error()
	}
	return v, c.Answered()
}

func (w *world) want(got, want any) {
	w.Helper()
	if got != want {
		w.Errorf("got %v, want %v", got, want)
	}
}

// says looks for a line in a node's INFO.
func (w *world) says(node, line string) {
	w.Helper()
	if text := fmt.Sprint(w.at(node, "INFO", "replication")); !strings.Contains(text, line+"\r\n") {
		w.Errorf("%s does not say %q:\n%s", node, line, text)
	}
}

// cut drops all that goes between nodes or hosts of two sides, and returns what ends that.
func (w *world) cut(one, other []string) func() {
	w.Helper()
	var lifts []func()
	for _, pair := range [][2][]string{{one, other}, {other, one}} {
		for _, from := range pair[0] {
			for _, to := range pair[1] {
				l, ok := w.links[[2]string{from, to}]
				if !ok {
					continue // hosts are no servers
				}
				if err := l.Apply(w.ctx, "cut", cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
					w.Fatal(err)
				}
				lifts = append(lifts, func() { _ = l.Lift(w.ctx, "cut") }) // returns none
			}
		}
	}
	return func() {
		for _, lift := range lifts {
			lift()
		}
	}
}

// await waits for a failover from old and returns the new master.
func (w *world) await(old string) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	if _, err := w.AwaitFailover(ctx, old); err != nil {
		w.Fatal(err)
	}
	master, err := w.Master(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return master
}

// most is longer than any message takes.
const most = 10 * time.Millisecond

func TestReplication(t *testing.T) {
	grouped(t, "a write arrives later", nil, func(w *world) {
		w.want(w.at("n1", "SET", "k", "v", "PX", 60_000), "OK")
		w.want(w.at("n2", "GET", "k"), nil)
		time.Sleep(most)
		w.want(w.at("n2", "GET", "k"), "v")
		w.want(w.at("n3", "GET", "k"), "v")
		w.says("n2", "master_link_status:up")
		w.says("n2", "role:slave")
		w.says("n1", "connected_slaves:2")
		w.want(w.at("n2", "SET", "k", "w"), "node n2: SET: READONLY You can't write against a read only replica.")
	})
	grouped(t, "a slow link delays it, and keeps the order", nil, func(w *world) {
		_ = w.Link("n2", "n1").Delay(w.ctx, "slow", time.Second, 900*time.Millisecond)
		for i := range 50 {
			w.at("n1", "SET", "k", i)
		}
		time.Sleep(3 * most)
		w.want(w.at("n2", "GET", "k"), nil)
		w.want(w.at("n3", "GET", "k"), "49")
		time.Sleep(2 * time.Second)
		w.want(w.at("n2", "GET", "k"), "49")
	})
	grouped(t, "what is held comes when it is let go", nil, func(w *world) {
		l := w.Link("n2", "n1")
		_ = l.Apply(w.ctx, "hold", cluster.Rule{Direction: cluster.Replies})
		for i := range 20 {
			w.at("n1", "INCR", "n")
			w.at("n1", "SET", "k", i)
		}
		time.Sleep(time.Second)
		w.want(w.at("n2", "GET", "n"), nil)
		_ = l.Lift(w.ctx, "hold")
		time.Sleep(time.Second)
		w.want(w.at("n2", "GET", "n"), "20")
		w.want(w.at("n2", "GET", "k"), "19")
	})
	grouped(t, "what is lost is made up for by a full resync", nil, func(w *world) {
		join := w.cut([]string{"n1"}, []string{"n2"})
		w.at("n1", "SET", "lost", 1)
		time.Sleep(time.Second)
		w.want(w.at("n2", "GET", "lost"), nil)
		w.want(w.at("n3", "GET", "lost"), "1")
		join()
		time.Sleep(2 * time.Second)
		w.want(w.at("n2", "GET", "lost"), "1")
		w.says("n2", "master_link_status:up")
	})
	grouped(t, "a stopped replica has it in its socket", nil, func(w *world) {
		_, _ = w.PauseNode(w.ctx, "n2")
		w.at("n1", "SET", "k", "v")
		time.Sleep(time.Second)
		_, _ = w.CrashNode(w.ctx, "n1")
		time.Sleep(most)
		_, _ = w.ResumeNode(w.ctx, "n2")
		w.want(w.at("n2", "GET", "k"), "v")
	})
	grouped(t, "a restarted replica gets all", nil, func(w *world) {
		_, _ = w.CrashNode(w.ctx, "n2")
		w.at("n1", "SET", "k", "v")
		_, _ = w.StartNode(w.ctx, "n2")
		time.Sleep(most)
		w.want(w.at("n2", "GET", "k"), "v")
	})
	grouped(t, "a reset breaks it for a moment", nil, func(w *world) {
		n, err := w.Link("n2", "n1").Reset(w.ctx)
		if n != 1 || err != nil {
			w.Errorf("%d connections reset, %v", n, err)
		}
		w.at("n1", "SET", "k", "v")
		time.Sleep(2 * most)
		w.want(w.at("n2", "GET", "k"), "v")
	})
	grouped(t, "an expired key is hidden until the master says that it is gone", nil, func(w *world) {
		w.at("n1", "SET", "k", "v", "PX", 100)
		time.Sleep(150 * time.Millisecond)
		w.want(w.at("n2", "GET", "k"), nil)
		w.want(w.at("n2", "DBSIZE"), int64(1))
		w.at("n1", "GET", "k") // its master looks at it
		time.Sleep(most)
		w.want(w.at("n2", "DBSIZE"), int64(0))
	})
}

func TestWait(t *testing.T) {
	eval := redis.NewScript(1, `return redis.call("INCR", KEYS[1])`, "none")
	evalWait := func(w *world, replicas int, timeout time.Duration) (any, int64, time.Duration) {
		w.Helper()
		start := time.Now()
		conn, err := w.clients["w1"].Get(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		v, n, err := conn.(locks.Waiter).EvalWait(eval, replicas, timeout, "n")
		if err != nil {
			w.Error(err)
		}
		return v, n, time.Since(start)
	}
	grouped(t, "until they have it", nil, func(w *world) {
		w.from("w1", "PING") // dials
		v, n, d := evalWait(w, 2, time.Second)
		if v != int64(1) || n != 2 || d > 200*time.Millisecond {
			w.Errorf("%v, %d replicas after %s", v, n, d)
		}
		w.want(w.at("n2", "GET", "n"), "1")
		w.want(w.at("n3", "GET", "n"), "1")
	})
	grouped(t, "no longer than its timeout", nil, func(w *world) {
		defer w.cut([]string{"n1"}, []string{"n2"})()
		v, n, d := evalWait(w, 2, 300*time.Millisecond)
		if v != int64(1) || n != 1 || d < 300*time.Millisecond || d > 400*time.Millisecond {
			w.Errorf("%v, %d replicas after %s", v, n, d)
		}
	})
	grouped(t, "not on a replica", nil, func(w *world) {
		if s := fmt.Sprint(w.at("n2", "WAIT", 1, 100)); !strings.Contains(s, "ERR WAIT cannot be used with replica instances") {
			w.Error(s)
		}
	})
	grouped(t, "its client is disconnected when the master crashes", nil, func(w *world) {
		defer w.cut([]string{"n1"}, []string{"n2", "n3"})()
		w.from("w1", "SCRIPT", "LOAD", eval.Src)
		time.AfterFunc(100*time.Millisecond+1, func() { _, _ = w.CrashNode(w.ctx, "n1") })
		conn, _ := w.clients["w1"].Get(w.ctx)
		start := time.Now()
		_, _, err := conn.(locks.Waiter).EvalWait(eval, 2, 5*time.Second, "n")
		if d := time.Since(start); !isNet(err) || d > 3*time.Second { // it dials for longer than that master lives
			w.Errorf("%v after %s", err, d)
		}
	})
}

func TestMinReplicas(t *testing.T) {
	two := func(s *cluster.Spec) {
		nodes := s.Nodes
		s.Nodes = nil
		for _, n := range nodes {
			n.MinReplicas = 2
			s.Nodes = append(s.Nodes, n)
		}
	}
	const refusal = "node n1: SET: NOREPLICAS Not enough good replicas to write."
	grouped(t, "a master without enough of them refuses writes", two, func(w *world) {
		w.want(w.at("n1", "SET", "k", 1), "OK")
		start := time.Now()
		join := w.cut([]string{"n1"}, []string{"n2"})
		for w.at("n1", "SET", "k", 2) == "OK" {
			time.Sleep(10 * time.Millisecond)
		}
		if d := time.Since(start); d < time.Second || d > 3*time.Second { // its lag is counted in whole seconds, once a second
			w.Errorf("it took %s", d)
		}
		w.want(w.at("n1", "SET", "k", 2), refusal)
		w.want(w.at("n1", "GET", "k") != nil, true)
		join()
		time.Sleep(2 * time.Second)
		w.want(w.at("n1", "SET", "k", 3), "OK")
	})
	grouped(t, "at once where a replica has gone", two, func(w *world) {
		_, _ = w.CrashNode(w.ctx, "n3")
		time.Sleep(most)
		w.want(w.at("n1", "SET", "k", 1), refusal)
	})
}
