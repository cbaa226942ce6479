package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// other are the nodes that keep locks but for those named.
func other(names ...string) []string {
	return slices.DeleteFunc([]string{"n1", "n2", "n3"}, func(n string) bool { return slices.Contains(names, n) })
}

// rejoin is longer than Sentinels take to make a replica of an old master.
const rejoin = 6 * time.Second

var sentinels = []string{"s1", "s2", "s3"}

func TestFailover(t *testing.T) {
	grouped(t, "the master is killed", nil, func(w *world) {
		_, by := w.answered("w1", "SET", "k", "v")
		w.want(by, "n1")
		time.Sleep(most)
		start := time.Now()
		_, _ = w.CrashNode(w.ctx, "n1")
		master := w.await("n1")
		if d := time.Since(start); d < periodsOf(1).downAfter || d > 4*time.Second {
			w.Errorf("it took %s", d)
		}
		var v any
		v, by = w.answered("w1", "SET", "k", "w")
		w.want(v, "OK")
		w.want(by, master)
		w.want(w.at(master, "GET", "k"), "w")
		_, _ = w.StartNode(w.ctx, "n1") // without its keys, and as a master
		w.says("n1", "role:master")
		time.Sleep(rejoin)
		w.says("n1", "role:slave")
		w.want(w.at("n1", "GET", "k"), "w")
		w.says(other("n1", master)[0], "master_host:"+master)
		w.says(master, "connected_slaves:2")
	})
	grouped(t, "what no replica had is lost, also to the old master", nil, func(w *world) {
		w.from("w1", "SET", "k", "old")
		time.Sleep(most)
		join := w.cut([]string{"n1"}, []string{"n2", "n3"})
		w.from("w1", "SET", "k", "new")
		w.from("w1", "SET", "more", 1)
		_, _ = w.PauseNode(w.ctx, "n1")
		master := w.await("n1")
		w.want(w.at(master, "GET", "k"), "old")
		join()
		_, _ = w.ResumeNode(w.ctx, "n1")
		w.want(w.at("n1", "GET", "k"), "new") // until it is told
		time.Sleep(rejoin)
		w.says("n1", "role:slave")
		w.want(w.at("n1", "GET", "k"), "old")
		w.want(w.at("n1", "GET", "more"), nil)
	})
	grouped(t, "the replica that has more is promoted", nil, func(w *world) {
		w.cut([]string{"n1"}, []string{"n2"})
		w.from("w1", "SET", "k", 1)
		time.Sleep(300 * time.Millisecond)
		_, _ = w.CrashNode(w.ctx, "n1")
		w.want(w.await("n1"), "n3")
	})
	prefer := func(s *cluster.Spec) {
		s.Nodes = slices.Clone(s.Nodes)
		s.Nodes[1].Prefer = true
	}
	grouped(t, "but the preferred one before it", prefer, func(w *world) {
		w.cut([]string{"n1"}, []string{"n2"})
		w.from("w1", "SET", "k", 1)
		time.Sleep(300 * time.Millisecond)
		_, _ = w.CrashNode(w.ctx, "n1")
		w.want(w.await("n1"), "n2")
		w.want(w.at("n2", "GET", "k"), nil)
		time.Sleep(time.Second)
		w.want(w.at("n3", "GET", "k"), nil) // it has lost what it had
	})
	grouped(t, "an operator's wish", nil, func(w *world) {
		w.from("w1", "SET", "k", "v")
		time.Sleep(most)
		w.want(w.at("s2", "SENTINEL", "FAILOVER", cluster.Service), "OK")
		if s := fmt.Sprint(w.at("s2", "SENTINEL", "FAILOVER", cluster.Service)); !strings.Contains(s, "INPROG") {
			w.Error(s)
		}
		master := w.await("n1")
		w.want(w.at(master, "GET", "k"), "v")
		time.Sleep(rejoin)
		w.says("n1", "role:slave")
		w.want(w.from("w1", "GET", "k"), "v")
	})
	grouped(t, "one Sentinel is enough for no failover", nil, func(w *world) {
		_, _ = w.CrashNode(w.ctx, "s1")
		_, _ = w.CrashNode(w.ctx, "s2")
		_, _ = w.CrashNode(w.ctx, "n1")
		time.Sleep(5 * time.Second)
		if master, err := w.Master(w.ctx); master != "n1" {
			w.Errorf("master %q, %v", master, err)
		}
		_, _ = w.StartNode(w.ctx, "s1")
		w.await("n1")
	})
	grouped(t, "Sentinels who cannot talk to each other hear of it on the nodes", nil, func(w *world) {
		w.cut([]string{"s1"}, []string{"s2", "s3"})
		_, _ = w.CrashNode(w.ctx, "n1")
		master := w.await("n1")
		time.Sleep(time.Second)
		w.want(w.servers["s1"].sentinel.master, master)
	})
	grouped(t, "a Sentinel that was stopped learns of it", nil, func(w *world) {
		_, _ = w.PauseNode(w.ctx, "s3")
		_, _ = w.CrashNode(w.ctx, "n1")
		master := w.await("n1")
		time.Sleep(rejoin)
		_, _ = w.ResumeNode(w.ctx, "s3")
		time.Sleep(rejoin)
		w.want(w.servers["s3"].sentinel.master, master)
		w.want(w.servers["s3"].sentinel.tilt, false)
	})
	grouped(t, "one after the other", nil, func(w *world) {
		old := "n1"
		for range 3 {
			_, _ = w.CrashNode(w.ctx, old)
			master := w.await(old)
			w.want(w.from("w1", "INCR", "k") != nil, true)
			_, _ = w.StartNode(w.ctx, old)
			time.Sleep(rejoin)
			old = master
		}
		for _, n := range other(old) {
			w.want(w.at(n, "GET", "k"), w.at(old, "GET", "k"))
			w.says(n, "master_host:"+old)
		}
	})
}

// A client on the side of an isolated master writes to it for as long as it
// hears of no other; a client on the other side writes to the new one.
func TestSplitBrain(t *testing.T) {
	grouped(t, "two masters", nil, func(w *world) {
		w.from("w1", "SET", "k", "old")
		w.from("w2", "GET", "k")
		join := w.cut([]string{"n1", "w1"}, []string{"n2", "n3", "s1", "s2", "s3", "w2"})
		master := w.await("n1")
		w.want(w.from("w1", "SET", "k", "one side"), "OK")
		w.want(w.from("w2", "SET", "k", "the other"), "OK")
		w.want(w.at("n1", "GET", "k"), "one side")
		w.want(w.at(master, "GET", "k"), "the other")
		join()
		time.Sleep(rejoin)
		w.want(w.from("w1", "GET", "k"), "the other")
		w.want(w.at("n1", "GET", "k"), "the other")
	})
	one := func(s *cluster.Spec) {
		s.Nodes = slices.Clone(s.Nodes)
		for i := range s.Nodes {
			s.Nodes[i].MinReplicas = 1
		}
	}
	grouped(t, "the isolated one ends by refusing writes", one, func(w *world) {
		w.from("w1", "SET", "k", "old")
		w.cut([]string{"n1", "w1"}, []string{"n2", "n3", "s1", "s2", "s3", "w2"})
		w.want(w.from("w1", "SET", "k", "one side"), "OK")
		w.await("n1")
		time.Sleep(rejoin)
		if s := fmt.Sprint(w.from("w1", "SET", "k", 1)); !strings.HasPrefix(s, "NOREPLICAS ") {
			w.Error(s)
		}
		w.want(w.from("w2", "SET", "k", "the other"), "OK")
	})
}

// What a client does when its master changes.
func TestFailoverClient(t *testing.T) {
	grouped(t, "it leaves a stopped master as soon as it hears of another", nil, func(w *world) {
		w.from("w1", "SET", "k", 1)
		_, _ = w.PauseNode(w.ctx, "n1")
		start := time.Now()
		w.want(w.from("w1", "SET", "k", 2), "OK")
		if d := time.Since(start); d < periodsOf(1).downAfter || d >= readTimeout {
			w.Errorf("it took %s", d)
		}
	})
	grouped(t, "a demoted master disconnects it, and without a Sentinel it finds no other", nil, func(w *world) {
		w.from("w1", "SET", "k", 1)
		w.cut([]string{"w1"}, sentinels) // it hears of nothing
		w.at("s1", "SENTINEL", "FAILOVER", cluster.Service)
		w.await("n1")
		time.Sleep(rejoin)
		start := time.Now()
		s := w.from("w1", "SET", "k", 2)
		if s == "OK" || time.Since(start) < readTimeout {
			w.Errorf("%v after %s", s, time.Since(start))
		}
	})
	grouped(t, "a dead Sentinel is replaced, in its time", nil, func(w *world) {
		w.from("w1", "SET", "k", 1)
		_, _ = w.CrashNode(w.ctx, w.clients["w1"].sentinel)
		_, _ = w.CrashNode(w.ctx, "n1")
		w.await("n1")
		w.want(w.from("w1", "SET", "k", 2), "OK")
	})
	grouped(t, "a host that is killed asks no more", nil, func(w *world) {
		w.from("w1", "SET", "k", 1)
		_, _ = w.PauseNode(w.ctx, "n1")
		killed := make(chan time.Time)
		go func() {
			time.Sleep(100*time.Millisecond + 1)
			at := time.Now()
			_, _ = w.KillHost(w.ctx, "w1")
			killed <- at
		}()
		w.want(w.from("w1", "SET", "k", 2), errKilled.Error())
		if d := time.Since(<-killed); d > most {
			w.Errorf("%s after it", d)
		}
	})
}
