package node

import "testing"

// acquireSource is the acquire script of the lock "single".
const acquireSource = `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[2])
end
if redis.call("GET", KEYS[1]) == ARGV[1] then -- the client sent this twice; the token is still ours
  return tonumber(redis.call("GET", KEYS[2]))
end
return 0`

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		New(Options{})
	}
}

func BenchmarkSetNX(b *testing.B) {
	b.ReportAllocs()
	n := New(Options{})
	for b.Loop() {
		n.Do("SET", "L", "owner", "NX", "PX", 10000)
		n.Do("DEL", "L")
	}
}

func BenchmarkAcquireRefused(b *testing.B) {
	n := New(Options{})
	sha := n.Do("SCRIPT", "LOAD", acquireSource)
	n.Do("SET", "L", "another")
	b.ReportAllocs()
	for b.Loop() {
		n.Do("EVALSHA", sha, 2, "L", "L:token", "owner", 10000)
	}
}

func BenchmarkAcquireGranted(b *testing.B) {
	n := New(Options{})
	sha := n.Do("SCRIPT", "LOAD", acquireSource)
	b.ReportAllocs()
	for b.Loop() {
		n.Do("DEL", "L")
		if v := n.Do("EVALSHA", sha, 2, "L", "L:token", "owner", 10000); v == int64(0) {
			b.Fatal(v)
		}
	}
}

// A run of the simulation: nodes are made, and each runs a few scripts.
func BenchmarkFreshNode(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		n := New(Options{})
		sha := n.Do("SCRIPT", "LOAD", acquireSource)
		n.Do("EVALSHA", sha, 2, "L", "L:token", "owner", 10000)
	}
}

func BenchmarkMachine(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		newMachine()
	}
}
