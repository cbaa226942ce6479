package node

import (
	"testing"
	"time"
)

// What comes after a Sync is lost with the power, and nothing that came before it.
func TestSync(t *testing.T) {
	bubble(t, "within a second", func(t *testing.T) {
		n := New(Options{Persistence: PersistEverySec})
		n.Do("SET", "a", 1)
		n.Sync()
		n.Do("SET", "a", 2)
		n.Do("SET", "b", 1)
		if lost := n.PowerLoss(); lost != 2 {
			t.Errorf("%d keys are lost, want 2", lost)
		}
		n.Start()
		want(t, n, "1", "GET", "a")
		want(t, n, nil, "GET", "b")
	})
	bubble(t, "the next second syncs, too", func(t *testing.T) {
		n := New(Options{Persistence: PersistEverySec})
		n.Sync()
		n.Do("SET", "a", 1)
		time.Sleep(time.Second)
		if lost := n.PowerLoss(); lost != 0 {
			t.Errorf("%d keys are lost, want none", lost)
		}
	})
}

// A replica refuses writes, in scripts too, until it is its own master again or
// is started anew.
func TestReplicaOf(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		n := New(Options{Persistence: PersistAlways})
		n.Do("SET", "k", "v")
		want(t, n, ok, "REPLICAOF", "127.0.0.1", 1)
		want(t, n, ErrReadOnly, "DEL", "k")
		want(t, n, "v", "GET", "k")
		want(t, n, "v", "EVAL", "redis.pcall('SET', KEYS[1], 'w'); return redis.call('GET', KEYS[1])", 1, "k")
		want(t, n, ok, "REPLICAOF", "no", "one")
		want(t, n, int64(1), "DEL", "k")
		n.Do("REPLICAOF", "127.0.0.1", 1)
		n.Crash()
		n.Start()
		want(t, n, ok, "SET", "k", "v")
	})
}

// Each command that changes a node is one that a replica refuses.
func TestWritesAreRefused(t *testing.T) {
	for _, args := range [][]any{
		{"SET", "s", 1}, {"SETNX", "x", 1}, {"SETEX", "s", 9, 1}, {"PSETEX", "s", 9, 1}, {"GETDEL", "s"},
		{"INCR", "i"}, {"DECR", "i"}, {"INCRBY", "i", 1}, {"DECRBY", "i", 1},
		{"EXPIRE", "s", 9}, {"PEXPIRE", "s", 9}, {"EXPIREAT", "s", 9}, {"PEXPIREAT", "s", 9}, {"PERSIST", "s"},
		{"HSET", "h", "f", 1}, {"HMSET", "h", "f", 1}, {"HSETNX", "h", "f", 1}, {"HDEL", "h", "f"}, {"HINCRBY", "h", "f", 1},
		{"RPUSH", "l", 1}, {"LPUSH", "l", 1}, {"DEL", "s"}, {"UNLINK", "s"}, {"FLUSHALL"}, {"FLUSHDB"},
	} {
		bubble(t, args[0].(string), func(t *testing.T) {
			n := New(Options{})
			n.Do("REPLICAOF", "127.0.0.1", 1)
			want(t, n, ErrReadOnly, args...)
		})
	}
	if len(writes) != 25 {
		t.Errorf("there are %d kinds of writes, and not all are tried here", len(writes))
	}
}
