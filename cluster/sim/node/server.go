package node

import (
	"math"
	"strconv"
	"strings"
	"time"
)

var serverCommands = []*command{
	{name: "ping", arity: -1, run: doPing},
	{name: "echo", arity: 2, run: func(_ *Node, argv []string) any { return argv[1] }},
	{name: "time", arity: 1, run: doTime},
	{name: "info", arity: -1, run: doInfo},
	{name: "dbsize", arity: 1, run: doDBSize},
	{name: "flushall", arity: -1, run: doFlush},
	{name: "flushdb", arity: -1, run: doFlush},
	{name: "replicaof", arity: 3, noScript: true, run: doReplicaOf},
	{name: "wait", arity: 3, noScript: true, run: doWait},
	{name: "publish", arity: 3, run: func(*Node, []string) any { return int64(0) }},
	{name: "del", arity: -2, run: doDel},
	{name: "unlink", arity: -2, run: doDel},
	{name: "exists", arity: -2, run: doExists},
	{name: "type", arity: 2, run: doType},
}

func doPing(_ *Node, argv []string) any {
	switch len(argv) {
	case 1:
		return Status("PONG")
	case 2:
		return argv[1]
	}
	return errArity("ping")
}

func doTime(n *Node, _ []string) any {
	t := n.clock.at(n.real)
	return []any{strconv.FormatInt(t.Unix(), 10), strconv.Itoa(t.Nanosecond() / 1000)}
}

// doInfo answers the few lines that proofs and clients look at, whatever
// section is asked for.
func doInfo(n *Node, _ []string) any {
	role := "master"
	if n.readOnly {
		role = "slave"
	}
	return "# Server\r\nredis_version:" + redisVersion + "\r\nrun_id:" + n.runID +
		"\r\n\r\n# Memory\r\nnumber_of_cached_scripts:" + strconv.Itoa(len(n.scripts)) +
		"\r\n\r\n# Replication\r\nrole:" + role + "\r\n"
}

func doDBSize(n *Node, _ []string) any {
	n.sweep()
	return int64(len(n.keys))
}

func doFlush(n *Node, argv []string) any {
	if len(argv) > 2 || len(argv) == 2 && !strings.EqualFold(argv[1], "sync") && !strings.EqualFold(argv[1], "async") {
		return errSyntax
	}
	for key := range n.keys { // in no order: nobody sees it
		n.drop(key)
	}
	if n.replicates() {
		n.effect(strings.ToUpper(argv[0]))
	}
	return ok
}

// waitFor is a WAIT that is to be answered when the node is not locked any more.
type waitFor struct {
	replicas int64
	timeout  time.Duration
}

func (w waitFor) answer(hook func(int64, time.Duration) int64) any {
	if hook == nil {
		return int64(0)
	}
	return hook(w.replicas, w.timeout)
}

func doWait(_ *Node, argv []string) any {
	replicas, fine := integer(argv[1])
	if !fine {
		return errNotInteger
	}
	ms, fine := integer(argv[2])
	switch {
	case !fine:
		return errBadTimeout
	case ms < 0:
		return errNegTimeout
	}
	return waitFor{replicas, time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond}
}

func doDel(n *Node, argv []string) any {
	gone := int64(0)
	for _, key := range argv[1:] {
		if n.find(key) != nil {
			n.delete(key)
			gone++
		}
	}
	return gone
}

func doExists(n *Node, argv []string) any {
	there := int64(0)
	for _, key := range argv[1:] {
		if n.find(key) != nil {
			there++
		}
	}
	return there
}

func doType(n *Node, argv []string) any {
	if e := n.find(argv[1]); e != nil {
		return kindNames[e.kind]
	}
	return Status("none")
}
