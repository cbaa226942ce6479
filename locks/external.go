package locks

import (
	"context"
	"errors"
)

// A token from a service of its own does not go backwards with the lock: a lock
// server that forgets all, or a failover, leaves it as it is. But the service
// knows nothing of the lock, and cannot tell whether who asks still holds it. So
// the client looks at its clock once it has the token, and grants nothing where its
// lease is over. Then a token was minted within the lease that it belongs to, and
// tokens rise with the leases, as long as these do not overlap.
//
//	w1  lock ├────── lease ──────┤
//	           mint ─► 1, clock ✓
//	w2                             lock ├────── lease ──────┤
//	                                     mint ─► 2, clock ✓
//
// Where they do, as the lock server has lost the first, the later holder may ask
// first, and the fence takes the other for the newer one: it lets one of the two
// through, and which it is says nothing about the lock.

var errNoTokens = errors.New("there is no service for tokens")

// newSingleOutside is single without a counter of its own.
func newSingleOutside(c Config) (Locker, error) {
	l, err := newMintApart(c, mintNot)
	if err != nil {
		return nil, err
	}
	t := &tokenLocker{Locker: l, Config: c}
	t.mint = t.outside
	return t, nil
}

// outside mints at the service, whoever asks.
func (l *tokenLocker) outside(ctx context.Context, _ string) (int64, error) {
	if l.Tokens == nil {
		return 0, &Error{Kind: ErrUnavailable, Cause: errNoTokens}
	}
	conn, err := l.Tokens.Get(ctx)
	if err != nil {
		return 0, &Error{Kind: ErrUnavailable, Cause: err}
	}
	defer conn.Close()
	v, err := conn.Eval(raiseToken, l.key())
	if err != nil {
		return 0, &Error{Kind: ErrUnavailable, Cause: err}
	}
	token, _ := v.(int64)
	return token, nil
}
