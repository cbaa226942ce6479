package node

import (
	"slices"
	"strings"
	"time"
)

// Persistence is what survives the node's end: one of the Persist values.
func (n *Node) Persistence() string { return n.options.Persistence }

// Sync is an fsync of the append-only file: what has been written so far
// survives a PowerLoss. The next one is at the next whole second.
func (n *Node) Sync() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.undo = undo{second: time.Now().Unix(), before: map[string]*entry{}}
}

// Evict removes all keys as a node does that is short of memory, and returns
// their names.
func (n *Node) Evict() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return nil
	}
	n.tick()
	n.sweep()
	var keys []string
	for key := range n.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys) // all go at one instant: any order will do, if it is always the same
	for _, key := range keys {
		n.delete(key)
	}
	return keys
}

// writes are the commands that a replica refuses.
var writes = []string{
	"set", "setnx", "setex", "psetex", "getdel", "incr", "decr", "incrby", "decrby",
	"expire", "pexpire", "expireat", "pexpireat", "persist",
	"hset", "hmset", "hsetnx", "hdel", "hincrby", "rpush", "lpush",
	"del", "unlink", "flushall", "flushdb",
}

const errReadOnlyReplica = Error("READONLY You can't write against a read only replica.")

// refuses tells whether the node may not run a command.
func (n *Node) refuses(c *command) bool { return n.readOnly && slices.Contains(writes, c.name) }

// doReplicaOf is REPLICAOF: the node keeps its keys and refuses writes, as one
// whose master cannot be reached; or takes them again, with NO ONE.
func doReplicaOf(n *Node, argv []string) any {
	n.readOnly = !(strings.EqualFold(argv[1], "no") && strings.EqualFold(argv[2], "one"))
	return ok
}
