package node

import "slices"

var listCommands = []*command{
	{name: "rpush", arity: -3, run: doRPush},
	{name: "lpush", arity: -3, run: doLPush},
	{name: "lrange", arity: 4, run: doLRange},
	{name: "llen", arity: 2, run: doLLen},
}

func doRPush(n *Node, argv []string) any {
	return n.push(argv, func(list []string) []string { return append(list, argv[2:]...) })
}

func doLPush(n *Node, argv []string) any {
	return n.push(argv, func(list []string) []string {
		front := slices.Clone(argv[2:])
		slices.Reverse(front)
		return append(front, list...)
	})
}

func (n *Node) push(argv []string, grow func([]string) []string) any {
	key := argv[1]
	e, failed := n.typed(key, aList)
	if failed != nil {
		return failed
	}
	if e == nil {
		e = &entry{kind: aList}
		n.put(key, e)
	} else {
		n.edit(key)
	}
	e.list = grow(e.list)
	n.verbatim(argv)
	return int64(len(e.list))
}

func doLRange(n *Node, argv []string) any {
	first, fine := integer(argv[2])
	last, fineToo := integer(argv[3])
	if !fine || !fineToo {
		return errNotInteger
	}
	e, failed := n.typed(argv[1], aList)
	if failed != nil {
		return failed
	}
	if e == nil {
		return []any{}
	}
	size := int64(len(e.list))
	if first < 0 {
		first = max(first+size, 0)
	}
	if last < 0 {
		last += size
	}
	last = min(last, size-1)
	if first > last {
		return []any{}
	}
	return bulks(e.list[first : last+1])
}

func bulks(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func doLLen(n *Node, argv []string) any {
	e, failed := n.typed(argv[1], aList)
	if failed != nil {
		return failed
	}
	if e == nil {
		return int64(0)
	}
	return int64(len(e.list))
}
