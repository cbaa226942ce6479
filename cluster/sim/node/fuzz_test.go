package node

import (
	"regexp"
	"strings"
	"testing"
)

// FuzzDo sends any arguments, and then random commands: nothing may panic,
// and every reply must be of a kind that a client knows.
func FuzzDo(f *testing.F) {
	for _, s := range []string{
		"SET\nk\nv\nPX\n100", "EVAL\nreturn KEYS[1]\n1\nk", "EVAL\nreturn {1, {ok='x'}, redis.call('GET', 'k')}\n0",
		"EVAL\nreturn cjson.decode(ARGV[1])\n0\n[1,{\"a\":null}]", "EVAL\nreturn ('x'):gsub(ARGV[1], ARGV[2])\n0\n(.)%1\n%2",
		"EVAL\nreturn string.format(ARGV[1], 1, 2)\n0\n%5.3f%q", "LRANGE\nl\n-1\n9", "HINCRBY\nh\nf\n1", "SCRIPT\nLOAD\nreturn 1", "SCRIPT", "",
		"EXPIRE\nk\n1\nGT\nLT", "EVAL\nreturn tostring(tonumber(ARGV[1], 16))\n0\n-ff",
	} {
		f.Add(s, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if endless.MatchString(text) {
			t.Skip("may run for ever, as it may in Redis")
		}
		n := New(Options{Persistence: PersistEverySec, OnWrite: func([]string) {}})
		known(t, n.Do(anys(strings.Split(text, "\n"))...))
		g := newGenerator(seed)
		for range 20 {
			args := g.command()
			args[g.IntN(len(args))] = text
			known(t, n.Do(anys(args)...))
		}
		n.PowerLoss()
		n.Start()
		n.Do("DBSIZE")
	})
}

// endless matches what may be a script with a loop, or with a lot of work.
var endless = regexp.MustCompile(`\b(while|repeat|for|goto|function|load|loadstring|rep)\b`)

func known(t *testing.T, reply any) {
	switch r := reply.(type) {
	case nil, int64, string:
	case Status:
		oneLiner(t, string(r))
	case Error:
		oneLiner(t, string(r))
	case []any:
		for _, e := range r {
			known(t, e)
		}
	default:
		t.Fatalf("a reply of type %T", reply)
	}
}

func oneLiner(t *testing.T, s string) {
	if strings.ContainsAny(s, "\r\n") {
		t.Fatalf("%q does not fit into a line", s)
	}
}
