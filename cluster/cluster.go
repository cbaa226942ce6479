// Package cluster names what a world must offer: nodes (lock servers), hosts
// (lock clients) and the links between them, and how each can be broken.
//
// cluster/local implements it with child processes and Toxiproxy links. The
// runner and the faults know only this package.
package cluster

import (
	"context"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/host"
)

// Resource is the name of the node that keeps the counter. It is a node like
// the others, with links of its own, and holds no lock.
const Resource = "resource"

// Tokens is the name of the node that mints fencing tokens, where they come from a
// service of their own. It keeps no lock.
const Tokens = "tokens"

// Service is the name by which Sentinels know the master, and clients ask for it.
const Service = "locks"

// Spec says what to bring up. Links are made for each pair of host and node, and
// where there are Sentinels also for each pair of two nodes, without the resource.
type Spec struct {
	// Name labels the run in logs and temporary names.
	Name string
	// Seed decides what a simulated cluster draws; real ones draw nothing.
	Seed  int64
	Nodes []NodeSpec
	Hosts []HostSpec
	// Logs is the directory that servers' and hosts' logs are written to.
	Logs string
	// KeyPrefix is what the name of every key of the run begins with; empty where
	// nobody else uses its servers.
	KeyPrefix string
}

// Persistence of a node.
const (
	PersistNone     = "none"     // nothing on disk: a restart forgets all
	PersistEverySec = "everysec" // append-only file, fsync once a second
	PersistAlways   = "always"   // append-only file, fsync before each reply
)

// Role of a node.
const (
	RolePrimary  = ""         // a Redis that takes writes: a lock node by itself, or the first master
	RoleReplica  = "replica"  // a Redis that follows the first master until a failover
	RoleSentinel = "sentinel" // watches the master, and makes a replica the next one
)

// Kinds of server that a node runs.
const (
	KindRedis    = ""
	KindPostgres = "postgres"
)

// How a Postgres node is logged in to. It asks for no password.
const (
	PostgresUser     = "postgres"
	PostgresDatabase = "template1" // the only one it has
)

// NodeSpec is one node.
type NodeSpec struct {
	Name string
	// Kind is the server; the keys below are for Redis.
	Kind        string
	Role        string
	Persistence string // PersistNone where empty
	// Clock asks for a node whose clock can be set.
	Clock bool
	// Own asks for a server that the run has started: more is done to it than to the
	// run's keys.
	Own bool
	// MinReplicas is how many replicas must have been heard of within a second
	// for the node, as a master, to take a write (min-replicas-to-write).
	MinReplicas int
	// Prefer makes Sentinels promote this replica before the others, whatever it
	// has missed (replica-priority).
	Prefer bool
}

// HostSpec is one host.
type HostSpec struct {
	Name string
	// Command runs a host of the user's own; empty for the built-in one.
	Command []string
	// Dir is the working directory of Command.
	Dir string
}

// Cluster is a world that is up. Close ends it and everything it started.
type Cluster interface {
	// StartHost starts a host and hands it init, with the addresses of its
	// links filled in. events gets what the host says unasked, in order.
	StartHost(ctx context.Context, name string, init host.Init, events func(host.Event)) (host.Host, error)
	// Pool reaches a node through the link of a host, as go-redis would.
	Pool(host, node string) redis.Pool
	// Direct reaches a node past all links: for set-up, proofs and the ledger.
	Direct(node string) redis.Pool
	// Link is the way from a host to a node. Where there are Sentinels, also from
	// a node to another: a replica's way to its master, a Sentinel's to what it watches.
	Link(host, node string) Link
	Close() error
}

// Prefixed is a cluster whose keys have a prefix, as others may use its servers, too.
type Prefixed interface {
	KeyPrefix() string
}

// Key is the full name of a key in a cluster, which may be Prefixed.
func Key(c any, name string) string {
	if p, ok := c.(Prefixed); ok {
		return p.KeyPrefix() + name
	}
	return name
}

// Under is the pattern of all keys whose names begin with a prefix, as SCAN takes it.
func Under(prefix string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `\`, `\\`).Replace(prefix) + "*"
}

// Addressed is a cluster of real servers, for clients that are not of Redis.
type Addressed interface {
	// NodeAddr is where a node itself listens.
	NodeAddr(node string) (string, error)
	// LinkAddr is where a host finds a node.
	LinkAddr(host, node string) (string, error)
}

// The controls return what was observed of their effect, as words for a
// fault's proof: "process state T". An error says that the effect was not seen.

// HostControl stops and kills hosts.
type HostControl interface {
	PauseHost(ctx context.Context, name string) (proof string, err error)
	ResumeHost(ctx context.Context, name string) (proof string, err error)
	KillHost(ctx context.Context, name string) (proof string, err error)
}

// NodeControl stops, kills and starts nodes. A node keeps its address and its files.
type NodeControl interface {
	PauseNode(ctx context.Context, name string) (proof string, err error)
	ResumeNode(ctx context.Context, name string) (proof string, err error)
	// CrashNode is SIGKILL.
	CrashNode(ctx context.Context, name string) (proof string, err error)
	// StartNode starts a crashed node again and waits until it answers.
	StartNode(ctx context.Context, name string) (proof string, err error)
}

// ClockControl sets the clocks of nodes whose NodeSpec asks for it. A node that
// is started again keeps its clock.
type ClockControl interface {
	// JumpClock sets a clock forward at once, back where by is below 0.
	JumpClock(ctx context.Context, node string, by time.Duration) (proof string, err error)
	// SetClockRate makes a clock run rate times as fast as time itself from now
	// on, without a jump; 1 is the right rate. It watches the clock until it has
	// seen the rate.
	SetClockRate(ctx context.Context, node string, rate float64) (proof string, err error)
}

// Failovers is a cluster with replicas and Sentinels. Its Commander also answers,
// for a data node, INFO replication with role, master_link_status,
// slave_repl_offset and master_repl_offset, and for a Sentinel SENTINEL FAILOVER.
type Failovers interface {
	// Master is the name of the node that the majority of the Sentinels that answer calls the master.
	Master(ctx context.Context) (node string, err error)
	// AwaitFailover waits until the Sentinels call another node than old the
	// master, and it says of itself that it is one. The proof names both, with
	// their run ids, and the switch-master event that was seen.
	AwaitFailover(ctx context.Context, old string) (proof string, err error)
}

// Commander sends commands to nodes past all links, as an operator would.
type Commander interface {
	// Command returns the node's reply: nil, a string, an int64, or a list of these.
	// An error that the node answers is an error.
	Command(ctx context.Context, node string, args ...any) (any, error)
}

// Pacer is a world in which what happens at one instant has no order. Pace makes
// a host, or the schedule of faults for "", go on at an instant of its own. Of the
// parts of one that were woken together the one with the lowest number goes first.
type Pacer interface {
	Pace(host string, part int64)
}

// Direction of bytes on a link, seen from the host.
type Direction string

// Directions.
const (
	Requests Direction = "requests"
	Replies  Direction = "replies"
	Both     Direction = "both"
)

// Rule is something a link does to what it carries.
type Rule struct {
	// Drop discards; otherwise bytes are held, and delivered in order when the rule is lifted.
	Drop      bool
	Direction Direction
	// Commands limits a rule on requests to commands of these names ("SET",
	// "EVALSHA", …); what comes behind one on the same connection waits with
	// it, as TCP keeps its order. Empty: everything.
	Commands []string
}

// Link is the way from one host to one node.
type Link interface {
	// Apply sets a rule under an id; Lift ends it. Lifting a hold delivers what
	// was held; lifting a drop closes the connections that lost bytes, as their
	// streams are broken. Lifting twice does nothing.
	Apply(ctx context.Context, id string, r Rule) error
	Lift(ctx context.Context, id string) error
	// Delay adds latency ± jitter to each direction; Undelay ends it.
	Delay(ctx context.Context, id string, latency, jitter time.Duration) error
	Undelay(ctx context.Context, id string) error
	// Reset breaks all open connections with a TCP reset and returns how many.
	Reset(ctx context.Context) (int, error)
	// Probe sends a PING, or what is one to the node's server, over a connection
	// of its own and returns its round trip.
	// It ends with the context.
	Probe(ctx context.Context) (time.Duration, error)
	Counts() Counts
}

// Counts are what a link has carried since the start, without probes.
type Counts struct {
	RequestBytes, ReplyBytes int64 // delivered
	HeldBytes, DroppedBytes  int64 // ever held back or dropped
	HeldCommands             int64 // requests that a rule matched and held
	Connections              int64 // opened
}

// Backed starts to watch links. The returned function says how many of them
// have carried bytes both ways since.
func Backed(links []Link) func() int {
	before := make([]Counts, len(links))
	for i, l := range links {
		before[i] = l.Counts()
	}
	return func() int {
		n := 0
		for i, l := range links {
			now := l.Counts()
			if now.RequestBytes > before[i].RequestBytes && now.ReplyBytes > before[i].ReplyBytes {
				n++
			}
		}
		return n
	}
}
