package node

import (
	"strings"
	"testing"
	"time"
)

// Replies at the edges, as Redis 7.0.15 gives them.
func TestEdges(t *testing.T) {
	n := New(Options{})
	for _, c := range []struct {
		args  []any
		reply any
	}{
		{nil, Error("ERR empty command")},
		{[]any{""}, Error("ERR unknown command '', with args beginning with: ")},
		{[]any{"FOO", "bar", "baz zz"}, Error("ERR unknown command 'FOO', with args beginning with: 'bar' 'baz zz' ")},
		{[]any{"FOO\r\n", "a\nb"}, Error("ERR unknown command 'FOO  ', with args beginning with: 'a b' ")},
		{[]any{"SET", "k"}, Error("ERR wrong number of arguments for 'set' command")},
		{[]any{"SCRIPT"}, Error("ERR wrong number of arguments for 'script' command")},
		{[]any{"SCRIPT", "LOAD"}, Error("ERR wrong number of arguments for 'script|load' command")},
		{[]any{"SCRIPT", "foo"}, Error("ERR unknown subcommand 'foo'. Try SCRIPT HELP.")},
		{[]any{"SET", "k", "v", "EX", 1, "PX", 1}, errSyntax},
		{[]any{"SET", "k", "v", "NX", "XX"}, errSyntax},
		{[]any{"SET", "k", "v", "EX"}, errSyntax},
		{[]any{"SET", "k", "v", "EX", 1, "KEEPTTL"}, errSyntax},
		{[]any{"SET", "k", "v", "PX", 0}, Error("ERR invalid expire time in 'set' command")},
		{[]any{"SET", "k", "v", "PX", "9223372036854775807"}, Error("ERR invalid expire time in 'set' command")},
		{[]any{"SETEX", "k", -1, "v"}, Error("ERR invalid expire time in 'setex' command")},
		{[]any{"PSETEX", "k", "x", "v"}, errNotInteger},
		{[]any{"INCR", "i"}, int64(1)},
		{[]any{"INCRBY", "i", "9223372036854775807"}, errOverflow},
		{[]any{"DECRBY", "i", "-9223372036854775808"}, errDecrOverflow},
		{[]any{"INCRBY", "i", "+1"}, errNotInteger},
		{[]any{"EXPIRE", "i", "9223372036854775807"}, Error("ERR invalid expire time in 'expire' command")},
		{[]any{"EXPIRE", "i", 1, "foo"}, Error("ERR Unsupported option foo")},
		{[]any{"EXPIRE", "i", 1, "NX", "XX"}, errExpireNX},
		{[]any{"EXPIRE", "i", 1, "GT", "LT"}, errExpireGTLT},
		{[]any{"EXPIRE", "i", 100, "GT"}, int64(0)}, // no TTL counts as the longest
		{[]any{"EXPIRE", "i", 100, "LT"}, int64(1)},
		{[]any{"EXPIRE", "i", -1}, int64(1)},
		{[]any{"EXISTS", "i", "i"}, int64(0)},
		{[]any{"TYPE", "i"}, Status("none")},
		{[]any{"HSET", "h", "f"}, Error("ERR wrong number of arguments for 'hset' command")},
		{[]any{"HSET", "h", "f", 1, "f", 2}, int64(1)},
		{[]any{"HINCRBY", "h", "f", "9223372036854775807"}, errOverflow},
		{[]any{"GET", "h"}, errWrongType},
		{[]any{"SET", "h", "v", "GET"}, errWrongType},
		{[]any{"TYPE", "h"}, Status("hash")},
		{[]any{"HDEL", "h", "f", "f"}, int64(1)},
		{[]any{"EXISTS", "h"}, int64(0)},
		{[]any{"SET", "s", true, "GET"}, nil},
		{[]any{"SET", "s", 1.5, "NX", "GET"}, "1"},
		{[]any{"SET", "s", []byte("b")}, ok},
		{[]any{"SET", "s", time.Millisecond, "GET"}, "b"},
		{[]any{"GETDEL", "s"}, "1000000"},
		{[]any{"LRANGE", "l", 0, -1}, []any{}},
		{[]any{"LPUSH", "l", 1, 2, 3}, int64(3)},
		{[]any{"LRANGE", "l", "-100", "100"}, []any{"3", "2", "1"}},
		{[]any{"WAIT", "x", "y"}, errNotInteger},
		{[]any{"WAIT", 1, "y"}, errBadTimeout},
		{[]any{"EVAL", "return 1", "x"}, errNotInteger},
		{[]any{"EVAL", "return 1", 1}, errManyKeys},
		{[]any{"EVAL", "return 1", -1}, errNegKeys},
		{[]any{"EVALSHA", "abc", 0}, errNoScript},
		{[]any{"EVALSHA", strings.ToUpper(sha1hex("return 1")), 0}, errNoScript},
		{[]any{"EVAL", "return 1", 0}, int64(1)},
		{[]any{"EVALSHA", strings.ToUpper(sha1hex("return 1")), 0}, int64(1)},
		{[]any{"SCRIPT", "EXISTS", sha1hex("return 1"), "x"}, []any{int64(1), int64(0)}},
		{[]any{"SCRIPT", "FLUSH", "foo"}, errScriptFlush},
		{[]any{"SCRIPT", "FLUSH", "async"}, ok},
		{[]any{"EVALSHA", sha1hex("return 1"), 0}, errNoScript},
		{[]any{"EVAL", "return redis.call('GET', 'l')", 0}, Error(
			errWrongType + " script: " + Error(sha1hex("return redis.call('GET', 'l')")) + ", on @user_script:1.")},
		{[]any{"FLUSHALL", "x"}, errSyntax},
		{[]any{"PING", "a", "b"}, Error("ERR wrong number of arguments for 'ping' command")},
		{[]any{"DBSIZE"}, int64(1)},
		{[]any{"FLUSHDB"}, ok},
		{[]any{"DBSIZE"}, int64(0)},
	} {
		want(t, n, c.reply, c.args...)
	}
}

// A hash above the size up to which it is searched one by one.
func TestLargeHash(t *testing.T) {
	n := New(Options{})
	const size = 100
	for i := range size {
		want(t, n, int64(1), "HSET", "h", i, i)
	}
	for i := range size / 2 {
		want(t, n, int64(1), "HDEL", "h", 2*i)
		want(t, n, int64(2*i+2), "HINCRBY", "h", 2*i+1, 1)
	}
	want(t, n, int64(size/2), "HLEN", "h")
	keys, _ := n.Do("HKEYS", "h").([]any)
	for i, k := range keys {
		if k != text(2*i+1) {
			t.Fatalf("field %d is %v", i, k)
		}
	}
}
