package locks

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/internal/luascript"
)

// The ways to get a fencing token for a lock over many nodes, which redsync
// does not give.
const (
	TokenNone = "none"
	// TokenNaive raises a counter on each node and takes the greatest. It does not
	// rise from grant to grant: the node with the greatest counter may be away.
	TokenNaive = "naive"
	// TokenQuorum reads the counter of a majority, and stores one more than the
	// greatest on a majority, each node agreeing only while it holds the lock for
	// this grant. Two majorities share a node, so the next grant reads it there.
	// It rises as long as no node forgets its counter.
	TokenQuorum = "quorum"
	// TokenScript is that of a lock on one node: from the script that takes it.
	TokenScript = "script"
	// TokenExternal asks a service of its own: see external.go.
	TokenExternal = "external"
)

// MintsWith tells whether grants carry a fencing token with these options.
func (s System) MintsWith(o Options) bool {
	return s.Mints || o.Token != "" && o.Token != TokenNone
}

var (
	raiseToken = luascript.New(1, `return redis.call("INCR", KEYS[1])`)
	// A command that the client sends twice is refused the second time, and may
	// cost a grant; to accept an equal counter could give two grants one token.
	storeToken = luascript.New(2, `
if redis.call("GET", KEYS[1]) == ARGV[1] and tonumber(redis.call("GET", KEYS[2]) or "0") < tonumber(ARGV[2]) then
  redis.call("SET", KEYS[2], ARGV[2])
  return 1
end
return 0`)
)

// tokenLocker adds tokens to the grants of redsync, over the same nodes.
type tokenLocker struct {
	Locker
	Config
	mint func(ctx context.Context, owner string) (int64, error)
}

// newRedlock is redsync as published, with tokens where the options ask for them.
func newRedlock(c Config) (Locker, error) {
	l, err := newRedsync(c)
	if err != nil {
		return nil, err
	}
	t := &tokenLocker{Locker: l, Config: c}
	switch c.Options.Token {
	case TokenNaive:
		t.mint = t.naive
	case TokenQuorum:
		t.mint = t.quorum
	case TokenExternal:
		t.mint = t.outside
	default:
		return l, nil
	}
	return t, nil
}

// Acquire grants only with a token, and with some of the lease left: minting
// takes time, too.
func (l *tokenLocker) Acquire(ctx context.Context) (*Grant, error) {
	g, err := l.Locker.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	g.Token, err = l.mint(ctx, g.Owner)
	if err == nil && !time.Now().Before(g.Until) {
		err = &Error{Kind: ErrTooLate}
	}
	if err != nil {
		ctx, cancel := l.limit(context.WithoutCancel(ctx))
		defer cancel()
		_ = g.Release(ctx) // what cannot be given back ends with its TTL
		return nil, err
	}
	return g, nil
}

// limit is how long one step may take: as long as one try of redsync.
func (l *tokenLocker) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	factor := 0.05
	if f := l.Options.TimeoutFactor; f != nil {
		factor = *f
	}
	return context.WithTimeout(ctx, time.Duration(float64(l.TTL)*factor))
}

func (l *tokenLocker) key() string { return l.Name + ":token" }

func (l *tokenLocker) naive(ctx context.Context, _ string) (int64, error) {
	return l.greatest(ctx, "the counter was raised", func(c redis.Conn) (int64, bool, error) {
		v, err := c.Eval(raiseToken, l.key())
		n, ok := v.(int64)
		return n, ok, err
	})
}

func (l *tokenLocker) quorum(ctx context.Context, owner string) (int64, error) {
	top, err := l.greatest(ctx, "the counter was read", func(c redis.Conn) (int64, bool, error) {
		s, err := c.Get(l.key())
		if err != nil || s == "" {
			return 0, true, err
		}
		n, err := strconv.ParseInt(s, 10, 64)
		return n, true, err
	})
	if err != nil {
		return 0, err
	}
	token := top + 1
	_, err = l.greatest(ctx, "the token was stored", func(c redis.Conn) (int64, bool, error) {
		v, err := c.Eval(storeToken, l.Name, l.key(), owner, token)
		return token, v == int64(1), err
	})
	return token, err
}

// greatest asks all nodes at once for a number, and returns the greatest of
// them where a majority agreed. As redsync, it waits for all, or with fail_fast
// for as many as decide.
func (l *tokenLocker) greatest(ctx context.Context, what string, ask func(redis.Conn) (n int64, yes bool, err error)) (int64, error) {
	ctx, cancel := l.limit(ctx)
	defer cancel() // breaks off what is still under way, as in redsync
	type answer struct {
		n   int64
		yes bool
	}
	answers := make(chan answer, len(l.Pools))
	for _, p := range l.Pools {
		go func() {
			conn, err := p.Get(ctx)
			var a answer
			if err == nil {
				a.n, a.yes, err = ask(conn)
				conn.Close()
			}
			a.yes = a.yes && err == nil
			answers <- a
		}()
	}
	var top int64
	yes, need := 0, len(l.Pools)/2+1
	for range l.Pools {
		if a := <-answers; a.yes {
			yes++
			top = max(top, a.n)
		}
		if l.Options.FailFast && yes >= need {
			break
		}
	}
	if yes < need {
		return 0, &Error{Kind: ErrUnavailable, Cause: fmt.Errorf("%s on %d of %d nodes, %d are needed", what, yes, len(l.Pools), need)}
	}
	return top, nil
}
