package node

import (
	"maps"
	"slices"
	"strconv"
)

var hashCommands = []*command{
	{name: "hset", arity: -4, run: doHSet},
	{name: "hmset", arity: -4, run: doHMSet},
	{name: "hsetnx", arity: 4, run: doHSetNX},
	{name: "hget", arity: 3, run: doHGet},
	{name: "hmget", arity: -3, run: doHMGet},
	{name: "hgetall", arity: 2, run: doHGetAll},
	{name: "hkeys", arity: 2, run: doHKeys},
	{name: "hvals", arity: 2, run: doHVals},
	{name: "hlen", arity: 2, run: doHLen},
	{name: "hexists", arity: 3, run: doHExists},
	{name: "hdel", arity: -3, run: doHDel},
	{name: "hincrby", arity: 4, run: doHIncrBy},
}

// smallHash is up to how many fields a hash is searched one by one.
const smallHash = 8

// hash keeps its fields in the order in which they came, as a small hash of
// Redis does.
type hash struct {
	fields []field
	index  map[string]int // of large hashes only
}

type field struct{ name, value string }

func (h *hash) clone() *hash {
	return &hash{fields: slices.Clone(h.fields), index: maps.Clone(h.index)}
}

// find returns a field's place, -1 where there is none.
func (h *hash) find(name string) int {
	if h.index != nil {
		if i, there := h.index[name]; there {
			return i
		}
		return -1
	}
	for i := range h.fields {
		if h.fields[i].name == name {
			return i
		}
	}
	return -1
}

// set stores a field and tells whether it is new.
func (h *hash) set(name, value string) bool {
	if i := h.find(name); i >= 0 {
		h.fields[i].value = value
		return false
	}
	h.fields = append(h.fields, field{name, value})
	if h.index != nil {
		h.index[name] = len(h.fields) - 1
	} else if len(h.fields) > smallHash {
		h.reindex()
	}
	return true
}

func (h *hash) remove(name string) bool {
	i := h.find(name)
	if i < 0 {
		return false
	}
	h.fields = slices.Delete(h.fields, i, i+1)
	if h.index != nil {
		h.reindex()
	}
	return true
}

func (h *hash) reindex() {
	h.index = make(map[string]int, len(h.fields))
	for i, f := range h.fields {
		h.index[f.name] = i
	}
}

// hashOf returns the hash under key for reading, nil where there is none.
func (n *Node) hashOf(key string) (*hash, any) {
	e, failed := n.typed(key, aHash)
	if e == nil {
		return nil, failed
	}
	return e.hash, nil
}

// openHash returns the hash under key to be changed, a new one where there is
// none. It must be called only when a change is certain.
func (n *Node) openHash(key string) *hash {
	e := n.keys[key]
	if e == nil {
		e = &entry{kind: aHash, hash: &hash{}}
		n.put(key, e)
	} else {
		n.edit(key)
	}
	return e.hash
}

// setFields sets the pairs in argv and returns how many fields are new, or an error.
func (n *Node) setFields(name string, argv []string) any {
	if len(argv)%2 != 0 {
		return errArity(name)
	}
	if _, failed := n.hashOf(argv[1]); failed != nil {
		return failed
	}
	h, added := n.openHash(argv[1]), int64(0)
	for i := 2; i < len(argv); i += 2 {
		if h.set(argv[i], argv[i+1]) {
			added++
		}
	}
	n.verbatim(argv)
	return added
}

func doHSet(n *Node, argv []string) any { return n.setFields("hset", argv) }

func doHMSet(n *Node, argv []string) any {
	if failed, is := n.setFields("hmset", argv).(Error); is {
		return failed
	}
	return ok
}

func doHSetNX(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	if h != nil && h.find(argv[2]) >= 0 {
		return int64(0)
	}
	n.openHash(argv[1]).set(argv[2], argv[3])
	n.verbatim(argv)
	return int64(1)
}

func (h *hash) get(name string) any {
	if h != nil {
		if i := h.find(name); i >= 0 {
			return h.fields[i].value
		}
	}
	return nil
}

func doHGet(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	return h.get(argv[2])
}

func doHMGet(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	out := make([]any, 0, len(argv)-2)
	for _, name := range argv[2:] {
		out = append(out, h.get(name))
	}
	return out
}

// list returns names, values, or both of all fields.
func (n *Node) listHash(key string, names, values bool) any {
	h, failed := n.hashOf(key)
	if failed != nil {
		return failed
	}
	out := []any{}
	if h == nil {
		return out
	}
	for _, f := range h.fields {
		if names {
			out = append(out, f.name)
		}
		if values {
			out = append(out, f.value)
		}
	}
	return out
}

func doHGetAll(n *Node, argv []string) any { return n.listHash(argv[1], true, true) }
func doHKeys(n *Node, argv []string) any   { return n.listHash(argv[1], true, false) }
func doHVals(n *Node, argv []string) any   { return n.listHash(argv[1], false, true) }

func doHLen(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	if h == nil {
		return int64(0)
	}
	return int64(len(h.fields))
}

func doHExists(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	if h.get(argv[2]) == nil {
		return int64(0)
	}
	return int64(1)
}

func doHDel(n *Node, argv []string) any {
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	if h == nil {
		return int64(0)
	}
	n.edit(argv[1])
	gone := int64(0)
	for _, name := range argv[2:] {
		if h.remove(name) {
			gone++
		}
	}
	if len(h.fields) == 0 {
		n.drop(argv[1])
	}
	if gone > 0 {
		n.verbatim(argv)
	}
	return gone
}

func doHIncrBy(n *Node, argv []string) any {
	by, fine := integer(argv[3])
	if !fine {
		return errNotInteger
	}
	h, failed := n.hashOf(argv[1])
	if failed != nil {
		return failed
	}
	v := int64(0)
	if s, there := h.get(argv[2]).(string); there {
		if v, fine = integer(s); !fine {
			return errNotIntHash
		}
	}
	if overflows(v, by) {
		return errOverflow
	}
	v += by
	n.openHash(argv[1]).set(argv[2], strconv.FormatInt(v, 10))
	n.verbatim(argv)
	return v
}
