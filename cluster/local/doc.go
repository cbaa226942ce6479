// Package local is the real world on one machine: redis-server children as
// nodes, hosts as children of their own, and a Toxiproxy link for each pair of
// host and node. Everything listens on the loopback address only.
//
//	Machine   one for each harness process: work directory, children, Toxiproxy
//	└ Cluster one for each run
//	  ├ node  a redis-server, with a port and a directory of its own
//	  ├ host  a child that speaks the line protocol
//	  └ Link  host → node; a gate in each direction does what the rules say
//
// # Nothing is left behind
//
// Children get SIGKILL from the kernel when the harness dies, however it dies.
// Each child is also written into the journal of the work directory, and the
// next Open kills what is left of a dead harness: exactly the processes in the
// journal, by pid and start time, and what carries their mark in its
// environment.
//
// # What a link promises
//
//   - A rule is in force for all that is sent after Apply has returned.
//   - Bytes keep their order; what is held is delivered when the rule is lifted,
//     even if the client has gone meanwhile.
//   - After dropped bytes a connection carries nothing more; it is closed when
//     the last rule that drops in its direction is lifted.
//   - To drop goes before to hold. What is held when a drop begins, and would be
//     let go while it is in force, is dropped.
//   - Delays are Toxiproxy's latency toxics, in whole milliseconds.
//   - While there is neither a rule nor a delay, bytes go past Toxiproxy's chain,
//     straight from one socket to the other.
//   - Every control call ends with its context. One that Toxiproxy does not
//     finish in time resets the link's connections, and says so.
package local
