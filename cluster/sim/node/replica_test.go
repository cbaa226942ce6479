package node

import (
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A replica's view: it refuses writes, and hides what has expired until it is told.
func TestReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var effects [][]string
		n := New(Options{OnWrite: func(args []string) { effects = append(effects, args) }})
		n.SetReplica(true)
		want(t, n, ErrReadOnly, "SET", "k", "v")
		want(t, n, ErrReadOnly, "DEL", "k")
		if e, _ := n.Do("EVAL", `return redis.call("SET", "k", "v")`, 0).(Error); !strings.HasPrefix(string(e), "READONLY ") {
			t.Errorf("a script that writes: %q", e)
		}
		want(t, n, nil, "EVAL", `return redis.call("GET", "k")`, 0)

		in := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
		n.Apply([][]string{{"SET", "k", "v", "PXAT", text(in(time.Second))}, {"INCR", "n"}})
		want(t, n, "v", "GET", "k")
		want(t, n, "1", "GET", "n")
		time.Sleep(time.Second + time.Millisecond)
		want(t, n, nil, "GET", "k")
		want(t, n, int64(0), "EXISTS", "k")
		want(t, n, noKey, "PTTL", "k")
		want(t, n, int64(2), "DBSIZE") // hidden, not gone
		n.Apply([][]string{{"PEXPIREAT", "k", text(in(time.Second))}})
		want(t, n, "v", "GET", "k") // for the master it was there all the time
		n.Apply([][]string{{"PEXPIREAT", "k", text(in(-time.Second))}})
		want(t, n, nil, "GET", "k")
		want(t, n, int64(2), "DBSIZE")

		effects = nil
		n.SetReplica(false)
		want(t, n, nil, "GET", "k") // now it is a master, and says that the key is gone
		if len(effects) != 1 || strings.Join(effects[0], " ") != "DEL k" {
			t.Errorf("effects %q", effects)
		}
		want(t, n, int64(1), "DBSIZE")
		n.SetStarved(true)
		want(t, n, ErrNoReplicas, "SET", "k", "v")
		want(t, n, "1", "GET", "n")
	})
}

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := New(Options{}), New(Options{Persistence: PersistEverySec})
		a.Do("SET", "k", "v", "PX", 1000)
		a.Do("HSET", "h", "f", 1)
		a.Do("RPUSH", "l", 1, 2)
		b.Do("SET", "other", 1)
		synced()
		keys, before := a.Snapshot(), dump(a)
		a.Do("HSET", "h", "f", 2)
		b.Load(keys)
		if got := dump(b); got != before {
			t.Errorf("loaded\n%s\nwant\n%s", got, before)
		}
		b.Do("HSET", "h", "f", 3)
		want(t, a, "2", "HGET", "h", "f")
		b.PowerLoss() // takes the load back
		b.Start()
		want(t, b, "1", "GET", "other")
		want(t, b, nil, "GET", "k")
	})
}

// replicaSeeds is how many sessions a replica is compared in.
const replicaSeeds = 6

// A replica of the simulation and one of real servers answer the same to the
// same commands, when their masters have done the same.
func TestDifferentialReplica(t *testing.T) {
	master, srv := startServer(t), startServer(t)
	master.do("CONFIG", "SET", "repl-diskless-sync-delay", "0")
	_, port, _ := net.SplitHostPort(master.conn.RemoteAddr().String())
	srv.do("REPLICAOF", "127.0.0.1", port)
	refused := 0
	for seed := range uint64(replicaSeeds) {
		master.do("FLUSHALL")
		for _, s := range []*server{master, srv} {
			s.do("SCRIPT", "FLUSH")
			s.do("EVAL", "math.randomseed(0)", "0")
		}
		replica := New(Options{Name: "replica"})
		replica.SetReplica(true)
		n := New(Options{Name: "master", OnWrite: func(args []string) { replica.Apply([][]string{args}) }})
		n.Do("EVAL", "math.randomseed(0)", 0)
		replica.Do("EVAL", "math.randomseed(0)", 0)
		writes, reads := newGenerator(1+seed).session(sessionLength), newGenerator(1001+seed).session(sessionLength)
		// The node here has no replicas, and the real ones are to stay what they are.
		grouped := func(s step) bool { return slices.Contains([]string{"wait", "replicaof"}, commandName(s.args)) }
		writes, reads = slices.DeleteFunc(writes, grouped), slices.DeleteFunc(reads, grouped)
		for len(writes) > 0 {
			to := cutBatch(writes)
			if m := compareBatch(master, n, writes[:to]); m != nil {
				t.Fatalf("seed %d: the masters differ: %+v", seed, m)
			}
			writes = writes[to:]
			if acked := master.do("WAIT", "1", "10000"); acked != int64(1) {
				t.Fatalf("%v replicas", acked)
			}
			for range min(batch, len(reads)) {
				s := reads[0]
				reads = reads[1:]
				if counts(s) || commandName(s.args) == "info" {
					continue // how many keys are hidden is chance; of the others the node knows nothing
				}
				sim, real := replica.Do(anys(s.args)...), srv.do(s.args...)
				if !alike(s.args, sim, real) {
					t.Fatalf("seed %d: to %s the simulated replica replies\n  %#v\nand the real one\n  %#v", seed, s, sim, real)
				}
				if e, is := sim.(Error); is && strings.HasPrefix(string(e), "READONLY ") {
					refused++
				}
			}
		}
	}
	if refused < 1000 {
		t.Errorf("%d writes were refused, want 1000", refused)
	}

	master.do("FLUSHALL")
	master.do("CONFIG", "SET", "min-replicas-to-write", "2") // it has one
	n := New(Options{})
	n.SetStarved(true)
	starved := 0
	for _, s := range newGenerator(1).session(sessionLength) {
		if commandName(s.args) == "wait" {
			continue
		}
		sim, real := n.Do(anys(s.args)...), master.do(s.args...)
		if e, is := sim.(Error); is && strings.HasPrefix(string(e), "NOREPLICAS ") {
			starved++
			if !alike(s.args, sim, real) {
				t.Fatalf("to %s the starved node replies\n  %#v\nand the real one\n  %#v", s, sim, real)
			}
		}
	}
	if starved < 500 {
		t.Errorf("%d writes were refused for want of replicas, want 500", starved)
	}
}

// cutBatch is how many steps come before the next pause, or a batch.
func cutBatch(steps []step) int {
	to := 0
	for to < len(steps) && to < batch && (to == 0 || !steps[to-1].pause) {
		to++
	}
	return to
}
