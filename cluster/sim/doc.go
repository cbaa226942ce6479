// Package sim is a world in virtual time: simulated Redis nodes with a clock
// each, simulated links, and hosts that run the real lock libraries. It is to
// be used within a testing/synctest bubble, where time is virtual; the same
// seed then gives the same history byte for byte.
//
// The simulated nodes are held to a real redis-server by a differential test
// in package node. The clients have the habits of go-redis, by its rules for
// timeouts and retries, not its code: a real connection has no place in a bubble.
//
// # Replicas and Sentinels
//
// Where a spec has them, its nodes have links among each other, and each data
// node replicates (copies), each Sentinel watches (sentinel), and a client looks
// for the master of the time (failover). The times are those of the group on real
// servers. What is simpler than in Redis 7.0:
//
//   - Each resync of a replica is a full one, and takes one message. The keys are
//     the same in the end; there is no backlog, and no second replication id.
//     Offsets count the bytes of effects only, and begin at 0 at each start.
//   - A replica or a master does not give the other up for silence
//     (repl-timeout), only where their connection ends.
//   - Sentinels and nodes know each other from the start; nothing is discovered.
//     Commands of a Sentinel are messages of their own, not those of one connection:
//     they may overtake each other, and one that is lost does not break the rest.
//     A hello on a node reaches each Sentinel whose link carries it.
//   - No scripts and no notifications of Sentinel, no coordinated failover, no
//     SENTINEL but get-master-addr-by-name, is-master-down-by-addr and failover.
//   - A client does not ask a Sentinel for others, and looks again every half
//     second whether one that it has lost listens.
//   - A WAIT behind a script travels with it in one message.
package sim
