// Package workloads is what is done under the lock, and the guards at the
// resource that may refuse it.
package workloads

import (
	"context"
	"errors"

	"lockchaos/history"
)

// Attempt is one operation on the resource on behalf of a host.
type Attempt struct {
	Op    int64 // unique in the run, and rising
	Host  string
	Grant int64
	Owner string
	Token int64 // 0: the grant has none
	// Value is what to store, Version the one that was read before (writes).
	Value, Version int64
}

// Answer is what the resource did.
type Answer struct {
	// Result is OK, Refused (by the guard), Failed (certainly not done) or Unknown.
	Result history.Result
	// Value is the counter read, or stored; Version how often it has been stored.
	Value, Version int64
	Text           string // why, where it is not OK
}

// Entry is one line of the ledger that the resource keeps of all attempts that
// reached it, in the order in which they took effect.
type Entry struct {
	Op     int64      `json:"op"`
	Do     history.Do `json:"do"`
	Host   string     `json:"host"`
	Grant  int64      `json:"grant"`
	Token  int64      `json:"token"`
	OK     bool       `json:"ok"`
	Before int64      `json:"before"`
	Value  int64      `json:"value"`
}

// Resource is a counter with a guard. Each operation and its line in the
// ledger are one atomic step at the resource.
type Resource interface {
	Read(ctx context.Context, a Attempt) Answer
	Write(ctx context.Context, a Attempt) Answer
	// Ledger and Final are asked for past the hosts' links, after the run.
	Ledger(ctx context.Context) ([]Entry, error)
	Final(ctx context.Context) (int64, error)
}

// ErrStopped ends a workload early: its host is gone, or the run is over.
var ErrStopped = errors.New("stopped")
