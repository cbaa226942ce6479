package node

import (
	"slices"
	"time"
)

// kind of value.
type kind uint8

const (
	aString kind = iota
	aHash
	aList
)

var kindNames = [...]Status{aString: "string", aHash: "hash", aList: "list"}

// entry is one key's value with its expiry.
type entry struct {
	kind   kind
	str    string
	hash   *hash
	list   []string // only ever appended to in place: clones share it
	expire int64    // absolute ms on the node's clock; 0 for none
}

func (e *entry) clone() *entry {
	c := *e
	if e.hash != nil {
		c.hash = e.hash.clone()
	}
	return &c
}

// find returns a live entry, nil where there is none. An entry whose time has
// passed is deleted, and the replicas are told so. A replica only hides it: it
// is gone when the master says so.
func (n *Node) find(key string) *entry {
	e := n.keys[key]
	if e == nil || e.expire == 0 || n.now <= e.expire || n.role.obeying {
		return e
	}
	if !n.role.replica {
		n.delete(key)
	}
	return nil
}

// typed is find for a command that works on one kind of value only.
func (n *Node) typed(key string, k kind) (*entry, any) {
	e := n.find(key)
	if e != nil && e.kind != k {
		return nil, errWrongType
	}
	return e, nil
}

// The next three are the only ways to change the keyspace.

// edit must be called before an entry is changed in place.
func (n *Node) edit(key string) { n.remember(key) }

// put stores an entry under key.
func (n *Node) put(key string, e *entry) {
	n.remember(key)
	n.keys[key] = e
}

// drop removes a key and tells nobody.
func (n *Node) drop(key string) {
	n.remember(key)
	delete(n.keys, key)
}

// delete removes a key and replicates DEL.
func (n *Node) delete(key string) {
	n.drop(key)
	if n.replicates() {
		n.effect("DEL", key)
	}
}

// sweep deletes all expired keys, as Redis' background cycle does within a
// fraction of a second, in an order that does not depend on the map.
func (n *Node) sweep() {
	if n.role.replica {
		return
	}
	var gone []string
	for key, e := range n.keys {
		if e.expire != 0 && n.now > e.expire {
			gone = append(gone, key)
		}
	}
	slices.Sort(gone)
	for _, key := range gone {
		n.delete(key)
	}
}

// undo holds what the keys were that have changed since the last whole second of the
// node's clock. Where that goes back nothing is synced until it is there again, as in Redis.
type undo struct {
	second int64
	before map[string]*entry // nil: there was none
}

// remember keeps the old value of a key that is about to change, where a loss
// of power can bring it back.
func (n *Node) remember(key string) {
	if n.options.Persistence != PersistEverySec {
		return
	}
	u := &n.undo
	if second := n.clock.at(n.real).Unix(); u.before == nil || u.second < second {
		u.second, u.before = second, map[string]*entry{}
	}
	if _, done := u.before[key]; done {
		return
	}
	old := n.keys[key]
	if old != nil {
		old = old.clone()
	}
	u.before[key] = old
}

// apply takes back what was written in the second of now, and counts the keys.
func (u *undo) apply(keys map[string]*entry, now time.Time) (changed int) {
	if u.second >= now.Unix() {
		changed = len(u.before)
		for key, old := range u.before {
			if old == nil {
				delete(keys, key)
			} else {
				keys[key] = old
			}
		}
	}
	u.before = nil
	return changed
}
