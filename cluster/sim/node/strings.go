package node

import (
	"math"
	"strconv"
	"strings"
)

var stringCommands = []*command{
	{name: "set", arity: -3, run: doSet},
	{name: "setnx", arity: 3, run: doSetNX},
	{name: "setex", arity: 4, run: doSetEX},
	{name: "psetex", arity: 4, run: doSetEX},
	{name: "get", arity: 2, run: doGet},
	{name: "getdel", arity: 2, run: doGetDel},
	{name: "incr", arity: 2, run: doIncr},
	{name: "decr", arity: 2, run: doIncr},
	{name: "incrby", arity: 3, run: doIncrBy},
	{name: "decrby", arity: 3, run: doIncrBy},
}

// setting is what the options of SET ask for.
type setting struct {
	nx, xx, get, keepTTL bool
	unit                 string // EX, PX, EXAT, PXAT, or none
	time                 string
}

// parseSet reads the options of SET; false where they make no sense.
func parseSet(opts []string) (setting, bool) {
	var s setting
	for i := 0; i < len(opts); i++ {
		o := strings.ToUpper(opts[i])
		switch {
		case o == "NX" && !s.xx:
			s.nx = true
		case o == "XX" && !s.nx:
			s.xx = true
		case o == "GET":
			s.get = true
		case o == "KEEPTTL" && s.unit == "":
			s.keepTTL = true
		case (o == "EX" || o == "PX" || o == "EXAT" || o == "PXAT") &&
			!s.keepTTL && (s.unit == "" || s.unit == o) && i+1 < len(opts):
			i++
			s.unit, s.time = o, opts[i]
		default:
			return s, false
		}
	}
	return s, true
}

func doSet(n *Node, argv []string) any {
	s, fine := parseSet(argv[3:])
	if !fine {
		return errSyntax
	}
	return n.set("set", argv[1], argv[2], s)
}

func doSetNX(n *Node, argv []string) any {
	if n.set("setnx", argv[1], argv[2], setting{nx: true}) == nil {
		return int64(0)
	}
	return int64(1)
}

func doSetEX(n *Node, argv []string) any {
	s := setting{unit: "EX", time: argv[2]}
	if argv[0][0]|0x20 == 'p' {
		s.unit = "PX"
	}
	return n.set(argv[0], argv[1], argv[3], s)
}

// set is SET and its relatives; name is the command's, for errors.
func (n *Node) set(name, key, value string, s setting) any {
	expire := int64(0)
	if s.unit != "" {
		var failed any
		if expire, failed = n.expireAt(name, s); failed != nil {
			return failed
		}
	}
	old := n.find(key)
	reply := any(ok)
	if s.get {
		if reply = nil; old != nil {
			if old.kind != aString {
				return errWrongType
			}
			reply = old.str
		}
	}
	if s.nx && old != nil || s.xx && old == nil {
		if s.get {
			return reply
		}
		return nil
	}
	if s.keepTTL && old != nil {
		expire = old.expire
	}
	n.put(key, &entry{kind: aString, str: value, expire: expire})
	if n.replicates() {
		n.setEffect(key, value, expire, s.keepTTL)
	}
	return reply
}

func (n *Node) setEffect(key, value string, expire int64, keepTTL bool) {
	switch {
	case keepTTL:
		n.effect("SET", key, value, "KEEPTTL")
	case expire != 0:
		n.effect("SET", key, value, "PXAT", strconv.FormatInt(expire, 10))
	default:
		n.effect("SET", key, value)
	}
}

// expireAt is the absolute time in ms that SET's options ask for.
func (n *Node) expireAt(name string, s setting) (int64, any) {
	t, fine := integer(s.time)
	if !fine {
		return 0, errNotInteger
	}
	seconds := s.unit[0] == 'E'
	if t <= 0 || seconds && t > math.MaxInt64/1000 {
		return 0, errExpireTime(name)
	}
	if seconds {
		t *= 1000
	}
	if len(s.unit) == len("EX") { // relative; may wrap around
		t += n.now
	}
	if t <= 0 {
		return 0, errExpireTime(name)
	}
	return t, nil
}

func doGet(n *Node, argv []string) any {
	e, failed := n.typed(argv[1], aString)
	if e == nil {
		return failed
	}
	return e.str
}

func doGetDel(n *Node, argv []string) any {
	e, failed := n.typed(argv[1], aString)
	if e == nil {
		return failed
	}
	n.delete(argv[1])
	return e.str
}

func doIncr(n *Node, argv []string) any {
	if argv[0][0]|0x20 == 'd' {
		return n.incr(argv, -1)
	}
	return n.incr(argv, 1)
}

func doIncrBy(n *Node, argv []string) any {
	by, fine := integer(argv[2])
	if !fine {
		return errNotInteger
	}
	if argv[0][0]|0x20 == 'd' {
		if by == math.MinInt64 {
			return errDecrOverflow
		}
		by = -by
	}
	return n.incr(argv, by)
}

func (n *Node) incr(argv []string, by int64) any {
	key := argv[1]
	e, failed := n.typed(key, aString)
	if failed != nil {
		return failed
	}
	v := int64(0)
	if e != nil {
		var fine bool
		if v, fine = integer(e.str); !fine {
			return errNotInteger
		}
	}
	if overflows(v, by) {
		return errOverflow
	}
	v += by
	if e == nil {
		n.put(key, &entry{kind: aString, str: strconv.FormatInt(v, 10)})
	} else {
		n.edit(key)
		e.str = strconv.FormatInt(v, 10)
	}
	n.verbatim(argv)
	return v
}

func overflows(v, by int64) bool {
	return by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by
}
