// Package node is one simulated Redis node, for simulations in virtual time:
// strings, hashes and lists with TTLs on a clock of the node's own, and real
// Lua scripts. It behaves as Redis 7.0.15, and a differential test holds it to
// that: the same random commands and scripts go to a node and to a real
// redis-server, and each reply must be the same, errors included.
//
//	n := node.New(node.Options{Name: "n1", Seed: seed})
//	n.Do("SET", "lock", "w1", "NX", "PX", 10_000) // node.Status("OK"), or nil
//	n.Jump(time.Minute)                           // its clock, nobody else's
//	n.Crash(); n.Start()                          // all gone, a new run id
//
// In a testing/synctest bubble time.Now() is virtual, and so is a node's
// clock. A node starts no goroutine and no timer, and what it does depends on
// nothing but its options, the commands and the time at which they come.
//
// # How it works
//
//	Do ─► command table ─► strings, hashes, lists, expiry, server
//	         │                      │
//	         └► EVAL ─► machine ────┘   find, edit, put, drop, delete: the only
//	                    (gopher-lua)    ways to the keyspace; they expire keys
//	                                    and remember what a loss of power undoes
//
// A script is compiled once in a process. A Lua machine is borrowed from a
// pool for the time of a script; that is safe as a script cannot leave anything
// behind in it: globals and libraries are read-only, as in Redis.
//
// # Expiry
//
// Times are kept as absolute milliseconds of the node's clock, so that they
// survive restarts. A key is gone when the clock shows more than its time. It is
// deleted when it is next looked at, or by DBSIZE; Redis does that in the
// background, too. During a command no time passes.
//
// # Where it differs from Redis
//
// Found by the differential test, and left:
//
//   - The words of Lua's own errors (of the parser, of wrong types) differ.
//     That they are errors, and their "ERR", does not. Redis' own errors have
//     the same text, with the hash and the line of the script.
//   - The order of a table's keys in pairs, next and cjson.encode is that of
//     insertion; in Redis it depends on hashes.
//   - The length of a table with holes may be another of its borders.
//   - goto is a keyword, and arg is nil instead of an error. -0 and 0 are two constants (Lua 5.1 confuses them).
//   - Functions and tables print without their address, which would differ from
//     run to run.
//   - math.pow and "^" may differ in the last bit where the C library rounds
//     otherwise.
//   - error({}) is an error reply; it crashes Redis 7.0.15.
//   - Strings that a script makes end at about 16 MB, recursion at 400 calls.
//   - pairs(_G) and pairs(redis) are empty, getmetatable("") is nil.
//
// Not there:
//
//   - commands that are not in the command table, RESP 3, MULTI, databases
//     other than 0, blocking commands, memory limits, access control
//   - the Lua libraries bit, struct and cmsgpack, the settings of cjson, scripts
//     with a shebang, redis.setresp(3), redis.acl_check_cmd, redis.breakpoint
//   - redis.set_repl is accepted and changes nothing
//   - a master for REPLICAOF: the node refuses writes from then on, and is sent nothing
//   - a time limit for scripts: one that never ends hangs the simulation
//   - large hashes keep the order of insertion, too
package node
