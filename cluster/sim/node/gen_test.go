package node

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// generator draws random commands over a few keys, so that they collide.
//
// Times are drawn such that the two worlds agree although they do not run in
// step: relative TTLs are multiples of 100 s, absolute ones lie halfway between
// (of the session's start), or long past; shorter ones are waited for.
type generator struct {
	*rand.Rand
	start   time.Time
	scripts []string // drawn before
}

func newGenerator(seed uint64) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0x5eed)), start: time.Now()}
}

func (g *generator) session(length int) []step {
	var steps []step
	for len(steps) < length {
		steps = append(steps, g.steps()...)
	}
	for i := range keyNames {
		for _, c := range []string{"TYPE", "PTTL", "GET", "HGETALL"} {
			steps = append(steps, step{args: []string{c, keyNames[i]}})
		}
		steps = append(steps, step{args: []string{"LRANGE", keyNames[i], "0", "-1"}})
	}
	return steps
}

// steps are a random command, with what must go before or behind it.
func (g *generator) steps() []step {
	switch r := g.IntN(1000); {
	case r < 2:
		return []step{{args: []string{g.pick("FLUSHALL", "flushdb"), g.pick("async", "SYNC", "foo")}}}
	case r < 4:
		return []step{{args: []string{"SCRIPT", "FLUSH"}}}
	case r < 5: // a TTL that is waited for
		return []step{{args: []string{"SET", g.key(), g.value(), "PX", "1"}, pause: true}}
	case r < 6:
		return g.demoted()
	case r < 260:
		return []step{{args: g.script()}}
	}
	args := g.command()
	if g.IntN(30) == 0 {
		args = g.spoil(args)
	}
	return []step{{args: args}}
}

// demoted are commands to a server that refuses writes. No key expires meanwhile.
func (g *generator) demoted() []step {
	steps := []step{{args: []string{"REPLICAOF", "127.0.0.1", "1"}}}
	for range 15 {
		args := g.command()
		if g.IntN(3) == 0 {
			args = g.script()
		}
		steps = append(steps, step{args: args})
	}
	return append(steps, step{args: []string{"replicaof", "No", "ONE"}})
}

// spoil makes it likely that a command is refused, and never gives it a short TTL.
func (g *generator) spoil(args []string) []string {
	switch g.IntN(4) {
	case 0:
		if len(args) > 1 {
			return args[:len(args)-1]
		}
	case 1:
		return append(args, "junk")
	case 2:
		return append([]string{g.pick("FOO", "NOSUCH", "", "SE\x00T")}, args[1:]...)
	}
	return append(slices.Clone(args), "NX")
}

func (g *generator) pick(list ...string) string { return list[g.IntN(len(list))] }

var keyNames = []string{"a", "b", "c", "d"}

func (g *generator) key() string { return keyNames[g.IntN(len(keyNames))] }

// value is short, often a number, and never a time.
func (g *generator) value() string {
	if g.IntN(2) == 0 {
		return strconv.Itoa(g.IntN(20) - 5)
	}
	return g.pick("x", "y", "", "abc", "007", "+1", "1.5", " 1", "-0", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "\x00\xff\r\n", `"q/\`, "é", "1e3", "0x10", "-")
}

func (g *generator) number() string {
	if g.IntN(4) == 0 {
		return g.value()
	}
	return strconv.Itoa(g.IntN(9) - 4)
}

func (g *generator) field() string { return g.pick("f", "g", "h", "i", "") }

const grid = 100 // s

// ttl is a relative TTL in seconds or milliseconds.
func (g *generator) ttl(unit int) string {
	if g.IntN(10) == 0 {
		return g.pick("0", "-1", "-100", "abc", "", "1.5", "9223372036854775807", "-9223372036854775808", "9223372036854775", "9223372036854775808")
	}
	return strconv.Itoa((1 + g.IntN(8)) * grid * unit)
}

// at is an absolute time in seconds or milliseconds.
func (g *generator) at(unit int64) string {
	switch g.IntN(10) {
	case 0:
		return g.pick("0", "-1", "abc", "9223372036854775807", "9223372036854775", "-9223372036854775808")
	case 1, 2: // past
		return strconv.FormatInt((g.start.Unix()-1000)*unit, 10)
	}
	t := g.start.Unix() + int64(1+g.IntN(8))*grid + grid/2
	return strconv.FormatInt(t*unit, 10)
}

func (g *generator) anyCase(s string) string {
	switch g.IntN(4) {
	case 0:
		return strings.ToLower(s)
	case 1:
		return s[:1] + strings.ToLower(s[1:])
	}
	return s
}

func (g *generator) times(least, most int, f func() string) []string {
	var out []string
	for range least + g.IntN(most-least+1) {
		out = append(out, f())
	}
	return out
}

// set has any options of SET, sensible or not.
func (g *generator) set() []string {
	args := []string{"SET", g.key(), g.value()}
	for range g.IntN(4) {
		switch g.IntN(9) {
		case 0:
			args = append(args, "EX", g.ttl(1))
		case 1:
			args = append(args, "PX", g.ttl(1000))
		case 2:
			args = append(args, "EXAT", g.at(1))
		case 3:
			args = append(args, "PXAT", g.at(1000))
		case 4, 5:
			args = append(args, g.anyCase("NX"))
		case 6:
			args = append(args, g.anyCase("XX"))
		case 7:
			args = append(args, g.anyCase("KEEPTTL"))
		case 8:
			args = append(args, g.anyCase("GET"))
		}
	}
	return args
}

// expire has any options; GT and LT only where the time is absolute.
func (g *generator) expire() []string {
	var args []string
	options := []string{"NX", "XX", "nx", "foo"}
	switch g.IntN(4) {
	case 0:
		args = []string{"EXPIRE", g.key(), g.ttl(1)}
	case 1:
		args = []string{"PEXPIRE", g.key(), g.ttl(1000)}
	case 2:
		args = []string{"EXPIREAT", g.key(), g.at(1)}
		options = append(options, "GT", "LT", "gt", "Lt")
	case 3:
		args = []string{"PEXPIREAT", g.key(), g.at(1000)}
		options = append(options, "GT", "LT", "gt", "Lt")
	}
	return append(args, g.times(0, 2, func() string { return g.pick(options...) })...)
}

// command is any command but a script.
func (g *generator) command() []string {
	args := g.families()[g.IntN(5)]()
	args[0] = g.anyCase(args[0])
	return args
}

func (g *generator) families() []func() []string {
	return []func() []string{g.set, g.stringCommand, g.expiryCommand, g.hashCommand, g.otherCommand}
}

func (g *generator) stringCommand() []string {
	switch g.IntN(9) {
	case 0:
		return []string{"SETNX", g.key(), g.value()}
	case 1:
		return []string{"SETEX", g.key(), g.ttl(1), g.value()}
	case 2:
		return []string{"PSETEX", g.key(), g.ttl(1000), g.value()}
	case 3:
		return []string{"GETDEL", g.key()}
	case 4:
		return []string{g.pick("INCR", "DECR"), g.key()}
	case 5:
		return []string{g.pick("INCRBY", "DECRBY"), g.key(), g.number()}
	}
	return []string{"GET", g.key()}
}

func (g *generator) expiryCommand() []string {
	switch g.IntN(4) {
	case 0:
		return []string{g.pick("TTL", "PTTL", "EXPIRETIME", "PEXPIRETIME"), g.key()}
	case 1:
		return []string{"PERSIST", g.key()}
	}
	return g.expire()
}

func (g *generator) hashCommand() []string {
	key := g.key()
	switch g.IntN(9) {
	case 0, 1:
		args := []string{g.pick("HSET", "HSET", "HMSET"), key, g.field(), g.value()}
		if g.IntN(2) == 0 {
			args = append(args, g.field(), g.value())
		}
		return args
	case 2:
		return []string{"HSETNX", key, g.field(), g.value()}
	case 3:
		return []string{"HINCRBY", key, g.field(), g.number()}
	case 4:
		return append([]string{"HDEL", key}, g.times(1, 3, g.field)...)
	case 5:
		return append([]string{"HMGET", key}, g.times(1, 3, g.field)...)
	case 6:
		return []string{g.pick("HGET", "HEXISTS"), key, g.field()}
	}
	return []string{g.pick("HGETALL", "HKEYS", "HVALS", "HLEN"), key}
}

func (g *generator) otherCommand() []string {
	switch g.IntN(11) {
	case 0, 1:
		return append([]string{g.pick("RPUSH", "LPUSH"), g.key()}, g.times(1, 3, g.value)...)
	case 2, 3:
		return []string{"LRANGE", g.key(), g.number(), g.number()}
	case 4:
		return []string{g.pick("LLEN", "TYPE"), g.key()}
	case 5:
		return append([]string{g.pick("DEL", "UNLINK")}, g.times(1, 2, g.key)...)
	case 6:
		return append([]string{"EXISTS"}, g.times(1, 3, g.key)...)
	case 7:
		return append([]string{"PING"}, g.times(0, 2, g.value)...)
	case 8:
		return []string{g.pick("PUBLISH", "WAIT"), "0", g.pick("0", "-1", "1", "x", "9223372036854775807")}
	case 9:
		return []string{"ECHO", g.value()}
	}
	return []string{g.pick("TIME", "INFO", "DBSIZE")}
}
