// Package remote is the real world over several machines: each node behind an
// agent, which supervises one server and is the only way to it.
//
//	runner                                     agent (chaos node), one for each node
//	hosts ─► links ─► front ══ tunnel ══════►  one port, with the token ─► server, on its loopback
//	faults ─────────── HTTP ════════════════►  the same supervisor as cluster/local
//
// Hosts and their links are of the runner's machine, and cluster/local's. What
// nodes have to do with each other goes from agent to agent, through links in the
// agent of the node that dials:
//
//	replica ─► entrance of the master, on the replica's own loopback ─► link ═ tunnel ═► master
//
// A runner holds each agent by a connection, its session. When that ends, however
// the runner ended, the agent ends its server.
//
// Every request carries the token. It is never written anywhere: errors, manifests
// and logs name addresses only.
//
// A plain server was there before: it has no agent, and others may use it. It is
// dialled, with TLS and a login, where the tunnel would be. Nothing is done to it
// beyond keys under a prefix of the run, which are deleted at its end.
package remote
