package node

import (
	"math"
	"strconv"
	"strings"
)

var expiryCommands = []*command{
	{name: "expire", arity: -3, run: doExpire},
	{name: "pexpire", arity: -3, run: doExpire},
	{name: "expireat", arity: -3, run: doExpire},
	{name: "pexpireat", arity: -3, run: doExpire},
	{name: "ttl", arity: 2, run: doTTL},
	{name: "pttl", arity: 2, run: doPTTL},
	{name: "expiretime", arity: 2, run: doExpireTime},
	{name: "pexpiretime", arity: 2, run: doPExpireTime},
	{name: "persist", arity: 2, run: doPersist},
}

// expiryFlags are the options of EXPIRE and its relatives.
type expiryFlags struct{ nx, xx, gt, lt bool }

func parseExpiry(opts []string) (expiryFlags, any) {
	var f expiryFlags
	for _, o := range opts {
		switch strings.ToUpper(o) {
		case "NX":
			f.nx = true
		case "XX":
			f.xx = true
		case "GT":
			f.gt = true
		case "LT":
			f.lt = true
		default:
			return f, oneLine("ERR Unsupported option " + cString(o, len(o)))
		}
	}
	if f.nx && (f.xx || f.gt || f.lt) {
		return f, errExpireNX
	}
	if f.gt && f.lt {
		return f, errExpireGTLT
	}
	return f, nil
}

// allow tells whether an expiry may change from old (0: none) to when.
func (f expiryFlags) allow(old, when int64) bool {
	switch {
	case f.nx && old != 0, f.xx && old == 0:
		return false
	case f.gt && (old == 0 || when <= old):
		return false
	case f.lt && old != 0 && when >= old:
		return false
	}
	return true
}

// doExpire is EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT, told apart by name.
func doExpire(n *Node, argv []string) any {
	name := strings.ToLower(argv[0])
	flags, failed := parseExpiry(argv[3:])
	if failed != nil {
		return failed
	}
	when, fine := integer(argv[2])
	if !fine {
		return errNotInteger
	}
	if name[0] == 'e' {
		if when > math.MaxInt64/1000 || when < math.MinInt64/1000 {
			return errExpireTime(name)
		}
		when *= 1000
	}
	if !strings.HasSuffix(name, "at") {
		if when > math.MaxInt64-n.now {
			return errExpireTime(name)
		}
		when += n.now
	}
	return n.expire(argv[1], when, flags)
}

func (n *Node) expire(key string, when int64, flags expiryFlags) any {
	e := n.find(key)
	if e == nil || !flags.allow(e.expire, when) {
		return int64(0)
	}
	if when <= n.now && !n.role.replica { // a replica waits for the DEL
		n.delete(key)
		return int64(1)
	}
	n.edit(key)
	e.expire = when
	if n.replicates() {
		n.effect("PEXPIREAT", key, strconv.FormatInt(when, 10))
	}
	return int64(1)
}

// Answers of TTL and its relatives.
const (
	noKey    = int64(-2)
	noExpiry = int64(-1)
)

// expiryOf is when a key expires, noKey or noExpiry.
func (n *Node) expiryOf(key string) int64 {
	e := n.find(key)
	switch {
	case e == nil:
		return noKey
	case e.expire == 0:
		return noExpiry
	}
	return e.expire
}

func (n *Node) ttl(key string) int64 {
	t := n.expiryOf(key)
	if t < 0 {
		return t
	}
	return max(t-n.now, 0)
}

// rounded is a number of milliseconds in seconds.
func rounded(ms int64) int64 {
	if ms < 0 {
		return ms
	}
	return int64((uint64(ms) + 500) / 1000) // the greatest number does not wrap around
}

func doTTL(n *Node, argv []string) any         { return rounded(n.ttl(argv[1])) }
func doPTTL(n *Node, argv []string) any        { return n.ttl(argv[1]) }
func doExpireTime(n *Node, argv []string) any  { return rounded(n.expiryOf(argv[1])) }
func doPExpireTime(n *Node, argv []string) any { return n.expiryOf(argv[1]) }

func doPersist(n *Node, argv []string) any {
	e := n.find(argv[1])
	if e == nil || e.expire == 0 {
		return int64(0)
	}
	n.edit(argv[1])
	e.expire = 0
	n.verbatim(argv)
	return int64(1)
}
