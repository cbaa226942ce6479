package locks

import (
	"context"
	"time"

	"lockchaos/internal/luascript"
)

// singleBareDel releases with a plain DEL, as is often seen: it removes the
// lock whoever holds it.
func singleBareDel() System {
	return System{
		Name:  "single-bare-del",
		About: "as single, but released by a plain DEL that does not look whose lock it is",
		Nodes: 1, Mints: true,
		New: func(c Config) (Locker, error) {
			l := newSingle(c)
			l.del = bareDelete
			return l, nil
		},
	}
}

// singleBareExpire extends with a plain PEXPIRE: it prolongs the lock whoever
// holds it, and tells its former holder that all is well.
func singleBareExpire() System {
	return System{
		Name:  "single-bare-expire",
		About: "as single, but extended by a plain PEXPIRE that does not look whose lock it is",
		Nodes: 1, Mints: true,
		New: func(c Config) (Locker, error) {
			l := newSingle(c)
			l.expire = bareExpire
			return l, nil
		},
	}
}

// singleSetThenExpire takes the lock by one command and gives it its TTL by the
// next, as code does from before SET had the option PX (Redis 2.6.12): a client
// that ends between the two leaves a lock without an end.
// See https://redis.io/docs/latest/commands/setnx/.
func singleSetThenExpire() System {
	return System{
		Name:  "single-set-then-expire",
		About: "SET NX without a TTL and then PEXPIRE, two commands; compare-and-delete release, no token",
		Nodes: 1,
		New:   func(c Config) (Locker, error) { return &setThenExpire{newSingle(c)}, nil },
	}
}

var (
	bareDelete = luascript.New(1, `return redis.call("DEL", KEYS[1])`)
	bareExpire = luascript.New(1, `return redis.call("PEXPIRE", KEYS[1], ARGV[2])`)
)

type setThenExpire struct{ *singleLocker }

// Acquire tries once.
func (l *setThenExpire) Acquire(ctx context.Context) (*Grant, error) {
	owner, err := l.Value()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := l.set(ctx, owner, 0); err != nil {
		return nil, err
	}
	if _, err := l.eval(ctx, bareExpire, l.Name, owner, l.TTL.Milliseconds()); err != nil {
		return nil, &Error{Kind: ErrUnavailable, Cause: err} // whatever it is, the lock is there
	}
	until := start.Add(l.TTL)
	if !time.Now().Before(until) {
		return nil, &Error{Kind: ErrTooLate}
	}
	return &Grant{Owner: owner, Until: until, lease: &singleLease{l.singleLocker, owner}}, nil
}
