package node

import (
	"slices"
	"strings"
	"time"
)

// Persistence is what survives the node's end: one of the Persist values.
func (n *Node) Persistence() string { return n.options.Persistence }

// Sync is an fsync of the append-only file: what has been written so far
// survives a PowerLoss. The next one is at the next whole second of the node's clock.
func (n *Node) Sync() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.undo = undo{second: n.clock.at(time.Now()).Unix(), before: map[string]*entry{}}
}

// Evict removes all keys as a node does that is short of memory, and returns
// their names.
func (n *Node) Evict() ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.up {
		return nil, ErrDown
	}
	n.tick()
	n.sweep()
	var keys []string
	for key := range n.keys {
		keys = append(keys, key)
	}
	slices.Sort(keys) // all go at one instant: any order will do, if it is always the same
	if err := n.refusal(&command{write: true}); err != "" && len(keys) > 0 {
		return nil, err // it is writing that fills the memory
	}
	for _, key := range keys {
		n.delete(key)
	}
	return keys, nil
}

const errWaitReplica = Error("ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 " +
	"if a replica is configured to be writable (which is not the default) writes to replicas are just local and are not propagated.")

// doReplicaOf is REPLICAOF: the node keeps its keys and refuses writes, as one
// whose master cannot be reached; or takes them again, with NO ONE.
func doReplicaOf(n *Node, argv []string) any {
	n.role.replica = !(strings.EqualFold(argv[1], "no") && strings.EqualFold(argv[2], "one"))
	return ok
}
