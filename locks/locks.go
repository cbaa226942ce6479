// Package locks holds the systems under test, one file each. A lock never
// knows that it is being tested: it reaches its nodes through redsync's own
// Pool interface, which is go-redis on real servers.
package locks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
)

// Grant is what a holder gets from a successful acquire.
type Grant struct {
	Owner string
	Token int64     // fencing token; 0 where the system mints none
	Until time.Time // the end of the lease, as the holder reckons it

	lease lease // how this grant is extended and released
}

// lease is one held lock of one system.
type lease interface {
	// extend returns the new end of the lease.
	extend(ctx context.Context) (time.Time, error)
	release(ctx context.Context) error
}

// Extend prolongs the lease by a full TTL from now and updates Until.
func (g *Grant) Extend(ctx context.Context) (time.Time, error) { return g.lease.extend(ctx) }

// Release gives the lock back.
func (g *Grant) Release(ctx context.Context) error { return g.lease.release(ctx) }

// Locker acquires one named lock.
type Locker interface {
	// Acquire tries once, or as often as the option tries says. The errors of
	// a Locker and of its grants wrap one of the Err values of this package,
	// and Definite tells whether they are certain.
	Acquire(ctx context.Context) (*Grant, error)
}

// Config is all that a lock system is told.
type Config struct {
	Pools   []redis.Pool // one a node; with Sentinels one in all
	Tokens  redis.Pool   // the service that mints tokens; nil where there is none
	Name    string       // the key
	TTL     time.Duration
	Options Options
	Draw
}

// Draw is what a lock draws at random, for those who want it repeated. What is
// nil is drawn as the library does.
type Draw struct {
	Value func() (string, error)        // an owner value
	Delay func(tries int) time.Duration // before a retry within one acquire
}

// System describes a lock system.
type System struct {
	Name  string
	About string
	// Nodes are how many Redis nodes it runs over.
	Nodes int
	// Replicas and Sentinels are those beside the one node that is the first
	// master. With Sentinels a lock gets one pool, which leads to the master of the time.
	Replicas, Sentinels int
	// Mints tells whether a grant carries a fencing token, whatever the options are.
	Mints bool
	// Tokens are the values of the option token, the default first.
	Tokens []string
	// Options are the names of the options it understands, besides those of the client.
	Options []string
	New     func(Config) (Locker, error)
}

// Waiter is a connection that can ask a master to wait for its replicas. The
// script and the WAIT go over one connection: WAIT counts the replicas that have
// what was written over the connection that it comes by.
type Waiter interface {
	// EvalWait runs a script and then WAIT. acked is how many replicas have the
	// script's writes; an error may be of either.
	EvalWait(s *redis.Script, replicas int, timeout time.Duration, keysAndArgs ...any) (reply any, acked int64, err error)
}

// Quorum is how many nodes must vote for a grant.
func (s System) Quorum() int { return s.Nodes/2 + 1 }

// External is the system name of a host program of the user's own.
const External = "external"

// Systems are all built-in lock systems, in the order in which they are listed.
func Systems() []System {
	return []System{
		single(), singleBareDel(), singleBareExpire(), singleSetThenExpire(), singleMintAfter(), singleMintBefore(),
		redsyncSingle(), redlock(), sentinel(),
	}
}

// Find returns the system of that name.
func Find(name string) (System, error) {
	var names []string
	for _, s := range Systems() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return System{}, fmt.Errorf("unknown lock system %q, expected one of %s, %s", name, strings.Join(names, ", "), External)
}

// What can go wrong with a lock.
var (
	ErrRefused     = errors.New("another holds the lock")
	ErrLost        = errors.New("the lock is not held by this grant any more")
	ErrUnavailable = errors.New("too few nodes answered")
	ErrTooLate     = errors.New("granted, but nothing was left of the lease")
)

// Error is an error of a lock: what kind it is, whether it is certain that the
// operation had no lasting effect, and the cause.
type Error struct {
	Kind     error // one of the Err values
	Definite bool
	Cause    error
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Kind.Error()
	}
	return e.Kind.Error() + ": " + strings.ReplaceAll(e.Cause.Error(), "\n", "; ")
}

// Unwrap lets errors.Is find the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// allows tells whether the system understands an option.
func (s System) allows(option string) bool {
	return slices.Contains(clientOptions, option) || slices.Contains(s.Options, option)
}
