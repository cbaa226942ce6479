package locks

import (
	"context"
	"time"
)

// singleMintAfter takes the lock with one command and the token with the next,
// as code often does whose token comes from elsewhere. Between the two its lease
// may end: then it has a token that is newer than that of the next holder.
func singleMintAfter() System {
	return System{
		Name:  "single-mint-after",
		About: "as single, but the token comes from a command after the SET, and nobody looks at the clock in between",
		Nodes: 1, Mints: true,
		New: func(c Config) (Locker, error) { return newMintApart(c, mintAfter) },
	}
}

// singleMintBefore takes the token first: then tokens rise in the order in which
// they were asked for, not in that of the grants.
func singleMintBefore() System {
	return System{
		Name:  "single-mint-before",
		About: "as single, but the token comes from a command before the SET",
		Nodes: 1, Mints: true,
		New: func(c Config) (Locker, error) { return newMintApart(c, mintBefore) },
	}
}

type mintApart struct {
	*singleLocker
	acquire func(ctx context.Context, l *singleLocker, owner string) (*Grant, error)
}

func newMintApart(c Config, acquire func(context.Context, *singleLocker, string) (*Grant, error)) (Locker, error) {
	return &mintApart{newSingle(c), acquire}, nil
}

// Acquire tries once.
func (l *mintApart) Acquire(ctx context.Context) (*Grant, error) {
	owner, err := l.Value()
	if err != nil {
		return nil, err
	}
	return l.acquire(ctx, l.singleLocker, owner)
}

func mintAfter(ctx context.Context, l *singleLocker, owner string) (*Grant, error) {
	g, err := mintNot(ctx, l, owner)
	if err != nil {
		return nil, err
	}
	if g.Token, err = l.eval(ctx, raiseToken, l.Name+":token"); err != nil {
		_ = g.Release(ctx) // what cannot be given back ends with its TTL
		return nil, err
	}
	return g, nil
}

// mintNot takes the lock alone.
func mintNot(ctx context.Context, l *singleLocker, owner string) (*Grant, error) {
	start := time.Now()
	if err := l.set(ctx, owner, l.TTL); err != nil {
		return nil, err
	}
	return &Grant{Owner: owner, Until: start.Add(l.TTL), lease: &singleLease{l, owner}}, nil
}

func mintBefore(ctx context.Context, l *singleLocker, owner string) (*Grant, error) {
	token, err := l.eval(ctx, raiseToken, l.Name+":token")
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := l.set(ctx, owner, l.TTL); err != nil {
		return nil, err
	}
	until := start.Add(l.TTL)
	if !time.Now().Before(until) {
		return nil, &Error{Kind: ErrTooLate}
	}
	return &Grant{Owner: owner, Token: token, Until: until, lease: &singleLease{l, owner}}, nil
}

// set takes the lock by a command of its own; with a TTL of 0 for ever.
func (l *singleLocker) set(ctx context.Context, owner string, ttl time.Duration) error {
	conn, err := l.Pools[0].Get(ctx)
	if err != nil {
		return l.unreachable(err)
	}
	defer conn.Close()
	ok, err := conn.SetNX(l.Name, owner, ttl)
	if err != nil {
		return l.unreachable(err)
	}
	if !ok {
		return &Error{Kind: ErrRefused, Definite: true}
	}
	return nil
}
