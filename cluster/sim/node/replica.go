package node

import (
	"maps"
	"slices"
)

// Replies to a write that a node does not take.
const (
	ErrReadOnly   = Error("READONLY You can't write against a read only replica.")
	ErrNoReplicas = Error("NOREPLICAS Not enough good replicas to write.")
)

// role is what a node may do with its keys.
type role struct {
	replica bool // it takes writes from its master only, and does not expire keys by itself
	starved bool // a master that knows too few replicas to take a write
	obeying bool // what it does now comes from its master
}

// writes are the commands with Redis' flag "write".
var writes = []string{
	"set", "setnx", "setex", "psetex", "getdel", "incr", "decr", "incrby", "decrby",
	"expire", "pexpire", "expireat", "pexpireat", "persist",
	"hset", "hmset", "hsetnx", "hdel", "hincrby", "rpush", "lpush",
	"del", "unlink", "flushall", "flushdb",
}

// refusal is the error for a command that the node does not take in its role;
// "" where it does.
func (n *Node) refusal(c *command) Error {
	switch {
	case !c.write || n.role.obeying:
		return ""
	case n.role.replica:
		return ErrReadOnly
	case n.role.starved:
		return ErrNoReplicas
	}
	return ""
}

// SetReplica makes a node a replica, or a master again.
func (n *Node) SetReplica(is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role.replica = is
}

// SetStarved makes a master refuse writes for want of replicas, or take them again.
func (n *Node) SetStarved(is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role.starved = is
}

// Apply does on a replica what its master did: effects as OnWrite gets them. A
// key whose time has passed is still there for them, as the master says when it
// is gone.
func (n *Node) Apply(effects [][]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return
	}
	n.tick()
	n.role.obeying = true
	defer func() { n.role.obeying = false }()
	for _, args := range effects {
		n.dispatch(args)
	}
}

// Snapshot is a copy of all keys of a node.
type Snapshot struct {
	keys map[string]*entry

	_ struct{}
}

// Snapshot copies all keys, those whose time has passed, too.
func (n *Node) Snapshot() Snapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := Snapshot{keys: make(map[string]*entry, len(n.keys))}
	for key, e := range n.keys {
		s.keys[key] = e.clone()
	}
	return s
}

// Load replaces all keys by those of a snapshot.
func (n *Node) Load(s Snapshot) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return
	}
	n.tick()
	for _, key := range slices.Collect(maps.Keys(n.keys)) { // in no order: nobody sees it
		n.drop(key)
	}
	for key, e := range s.keys {
		n.put(key, e.clone())
	}
}
