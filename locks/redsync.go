package locks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
)

var redsyncOptions = []string{"tries", "retry_delay", "drift_factor", "timeout_factor", "fail_fast", "set_nx_on_extend"}

// redlock is redsync v4 as published, over five independent nodes.
func redlock() System {
	return System{
		Name:    "redlock",
		About:   "redsync v4 over five independent Redis nodes; mints no fencing token, unless the option token says how",
		Nodes:   5,
		Options: append(slices.Clone(redsyncOptions), "token"),
		Tokens:  []string{TokenNone, TokenNaive, TokenQuorum, TokenExternal},
		New:     newRedlock,
	}
}

// redsyncSingle is redsync v4 over one node, as many services run it.
func redsyncSingle() System {
	return System{
		Name:    "redsync-single",
		About:   "redsync v4 over one Redis node; mints no fencing token",
		Nodes:   1,
		Options: redsyncOptions,
		New:     newRedsync,
	}
}

type redsyncLocker struct {
	rs      *redsync.Redsync
	name    string
	nodes   int
	options []redsync.Option
}

func newRedsync(c Config) (Locker, error) {
	o := c.Options
	opts := []redsync.Option{
		redsync.WithExpiry(c.TTL),
		redsync.WithTries(max(o.Tries, 1)),
		redsync.WithFailFast(o.FailFast),
	}
	if c.Value != nil {
		opts = append(opts, redsync.WithGenValueFunc(c.Value))
	}
	switch {
	case o.RetryDelay > 0:
		opts = append(opts, redsync.WithRetryDelay(o.RetryDelay.D()))
	case c.Delay != nil:
		opts = append(opts, redsync.WithRetryDelayFunc(redsync.DelayFunc(c.Delay)))
	}
	if o.DriftFactor != nil {
		opts = append(opts, redsync.WithDriftFactor(*o.DriftFactor))
	}
	if o.TimeoutFactor != nil {
		opts = append(opts, redsync.WithTimeoutFactor(*o.TimeoutFactor))
	}
	if o.SetNXOnExtend {
		opts = append(opts, redsync.WithSetNXOnExtend())
	}
	return &redsyncLocker{rs: redsync.New(c.Pools...), name: c.Name, nodes: len(c.Pools), options: opts}, nil
}

func (l *redsyncLocker) Acquire(ctx context.Context) (*Grant, error) {
	m := l.rs.NewMutex(l.name, l.options...)
	if err := m.LockContext(ctx); err != nil {
		return nil, l.acquireError(err)
	}
	return &Grant{Owner: m.Value(), Until: m.Until(), lease: &redsyncLease{l, m}}, nil
}

type redsyncLease struct {
	l *redsyncLocker
	m *redsync.Mutex
}

func (s *redsyncLease) extend(ctx context.Context) (time.Time, error) {
	ok, err := s.m.ExtendContext(ctx)
	if ok {
		return s.m.Until(), nil
	}
	return time.Time{}, s.l.heldError(err)
}

func (s *redsyncLease) release(ctx context.Context) error {
	ok, err := s.m.UnlockContext(ctx)
	if ok {
		return nil
	}
	return s.l.heldError(err)
}

// acquireError says what a failed Lock means. redsync gives back what it got
// before it returns, but nobody knows what became of messages to nodes that
// did not answer: then the error is not definite.
func (l *redsyncLocker) acquireError(err error) *Error {
	votes := count(err)
	switch {
	case votes.broken > 0:
		return &Error{Kind: ErrUnavailable, Cause: err}
	case l.outvoted(votes):
		return &Error{Kind: ErrRefused, Definite: true, Cause: err}
	default: // a quorum voted for it, too late
		return &Error{Kind: ErrTooLate, Cause: err}
	}
}

// heldError says what a failed Unlock or Extend means: the lock is certainly
// lost where so many nodes deny it that the rest is no quorum.
func (l *redsyncLocker) heldError(err error) *Error {
	if l.outvoted(count(err)) {
		return &Error{Kind: ErrLost, Definite: true, Cause: err}
	}
	return &Error{Kind: ErrUnavailable, Cause: err}
}

// outvoted tells whether those that are not against are no quorum.
func (l *redsyncLocker) outvoted(v votes) bool { return l.nodes-v.against < l.nodes/2+1 }

// votes are the answers of nodes that redsync joins into one error.
type votes struct {
	against int // another value, or none, is stored there
	broken  int // no answer
}

func count(err error) votes {
	if err == nil {
		return votes{}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var v votes
		for _, e := range joined.Unwrap() {
			w := count(e)
			v.against += w.against
			v.broken += w.broken
		}
		return v
	}
	var taken *redsync.ErrTaken
	var node *redsync.ErrNodeTaken
	var broken *redsync.RedisError
	switch {
	case errors.As(err, &taken):
		return votes{against: len(taken.Nodes)}
	case errors.As(err, &node), errors.Is(err, redsync.ErrLockAlreadyExpired):
		return votes{against: 1}
	case errors.As(err, &broken):
		return votes{broken: 1}
	}
	return votes{}
}
