// Package host is one lock client in a process of its own, and the line
// protocol between it and the harness: newline-delimited JSON, requests on the
// host's standard input, replies and events on its standard output, logs on
// standard error. docs/host-protocol.md describes it for other languages.
package host

import (
	"context"
	"fmt"
	"math"
	"time"
)

// ProtocolVersion is sent with init. A host refuses one that it does not know.
const ProtocolVersion = 1

// The operations of a request.
const (
	OpInit    = "init"
	OpAcquire = "acquire" // try once to get the lock; no waiting for it
	OpExtend  = "extend"  // prolong the lease by a full TTL from now
	OpCheck   = "check"   // do you believe that you still hold it?
	OpRelease = "release"
	OpClose   = "close" // answer, then exit
)

// Request is one line to a host.
type Request struct {
	// ID is unique in the life of a host; the reply carries it back. Replies may come in any order.
	ID int64  `json:"id"`
	Op string `json:"op"`
	// Lock is the name of the lock (acquire, extend, check, release).
	Lock string `json:"lock,omitempty"`
	// Grant is the ID of the acquire that gave the grant (extend, check, release).
	Grant int64 `json:"grant,omitempty"`
	// Init comes with OpInit only.
	Init *Init `json:"init,omitempty"`
}

// Init tells a host what it is to be.
type Init struct {
	Version int    `json:"version"`
	Host    string `json:"host"`
	System  string `json:"system"`
	// Nodes are the host's own addresses of the lock nodes, host:port. With the
	// option token: external the service for tokens is the last of them.
	Nodes []string `json:"nodes"`
	// Sentinel is there for a system with a failover; Nodes are then the master
	// and the replicas of the start.
	Sentinel *SentinelInit `json:"sentinel,omitempty"`
	TTLMS    float64       `json:"ttl_ms"`
	// Discipline is trusting or checks-lease: whether check looks at the clock.
	Discipline string `json:"discipline"`
	// KeyPrefix is what the names of all keys must begin with, on servers that
	// others use, too. The name of a lock does.
	KeyPrefix string `json:"key_prefix,omitempty"`
	// Seed is for what the host draws at random, where it wants to repeat.
	Seed    int64          `json:"seed"`
	Options map[string]any `json:"options,omitempty"`
}

// SentinelInit tells a host how to find the master of the time.
type SentinelInit struct {
	// Master is the name to ask Sentinels for.
	Master string `json:"master"`
	// Sentinels are the host's own addresses of the Sentinels.
	Sentinels []string `json:"sentinels"`
	// Addresses leads from each address that a Sentinel may name, of a node or of
	// a Sentinel, to the host's own address of it.
	Addresses map[string]string `json:"addresses"`
}

// Reply answers a request.
type Reply struct {
	ID int64 `json:"id"`
	OK bool  `json:"ok"`
	// Owner, Token and ValidityMS come with an acquire that was granted;
	// ValidityMS also with an extend. Token is absent where none is minted.
	Owner      string  `json:"owner,omitempty"`
	Token      int64   `json:"token,omitempty"`
	ValidityMS float64 `json:"validity_ms,omitempty"`
	Error      *Error  `json:"error,omitempty"`
}

// Validity is what is left of the lease, as the host says.
func (r Reply) Validity() time.Duration { return millis(r.ValidityMS) }

func millis(ms float64) time.Duration {
	ns := math.Round(ms * float64(time.Millisecond))
	if ns >= math.MaxInt64 { // a conversion would come out below 0
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// The codes of an error.
const (
	CodeRefused     = "refused"     // acquire: another holds the lock
	CodeLost        = "lost"        // extend, check, release: the lock is not this grant's any more
	CodeUnavailable = "unavailable" // too few nodes answered in time
	CodeTooLate     = "too-late"    // acquire: got it, but nothing was left of the lease
	CodeUnsupported = "unsupported" // the system cannot do this
	CodeBadRequest  = "bad-request" // the host does not understand
	CodeInternal    = "internal"    // anything else
)

// Error says why a request was not done.
type Error struct {
	Code string `json:"code"`
	// Definite: it is certain that the request had no effect that lasts. An
	// acquire that is not definite may have left the lock taken.
	Definite bool   `json:"definite"`
	Text     string `json:"text,omitempty"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Text) }

// The events that a host may send unasked.
const (
	EventTrace = "trace" // what one node answered
	EventLost  = "lost"  // the host has learned by itself that its grant is gone
	EventStall = "stall" // the host's process stood still, for MS; it does not know why
)

// Event is a line from a host that answers no request.
type Event struct {
	Event string `json:"event"`
	// ID is that of the request it belongs to (trace), Grant the grant that is gone (lost).
	ID    int64  `json:"id,omitempty"`
	Grant int64  `json:"grant,omitempty"`
	Lock  string `json:"lock,omitempty"`
	// Node is the number of the node in Init.Nodes, from 0; below 0 where the host does not know.
	Node int `json:"node,omitempty"`
	// Command is what was asked of the node (set, eval, …), Vote yes, no or error.
	Command string  `json:"command,omitempty"`
	Vote    string  `json:"vote,omitempty"`
	MS      float64 `json:"ms,omitempty"`
	Text    string  `json:"text,omitempty"`
}

// Took is how long a node took to answer, or the host stood still, as the host says.
func (e Event) Took() time.Duration { return max(0, millis(e.MS)) }

// Host is a lock client as the harness sees it. Do may be called from many
// goroutines. An error of Do means that no valid reply came: the host died,
// spoke garbage, or the context ended.
type Host interface {
	Do(ctx context.Context, r Request) (Reply, error)
	// Done is closed when the host has ended; Err then says how.
	Done() <-chan struct{}
	Err() error
	Close(ctx context.Context) error
}
