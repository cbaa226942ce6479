package locks

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/internal/luascript"
)

// single is the lock of the Redis documentation, with a fencing token: SET NX
// PX under a random value, the token minted by INCR in the same script, and a
// release and an extend that compare the value first.
// See https://redis.io/docs/latest/commands/set/#patterns.
func single() System {
	return System{
		Name:  "single",
		About: "one Redis: SET NX PX with a random owner and a fencing token from the same script; compare-and-delete release",
		Nodes: 1, Mints: true,
		Options: []string{"token"},
		Tokens:  []string{TokenScript, TokenExternal},
		New: func(c Config) (Locker, error) {
			if c.Options.Token == TokenExternal {
				return newSingleOutside(c)
			}
			return newSingle(c), nil
		},
	}
}

var (
	setAndMint = luascript.New(2, `
if redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("INCR", KEYS[2])
end
if redis.call("GET", KEYS[1]) == ARGV[1] then -- the client sent this twice; the token is still ours
  return tonumber(redis.call("GET", KEYS[2]))
end
return 0`)
	compareExtend = luascript.New(1, `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
return 0`)
	compareDelete = luascript.New(1, `
if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`)
)

type singleLocker struct {
	Config
	expire, del *redis.Script // KEYS: the lock; ARGV: the owner, and the TTL to extend by
}

func newSingle(c Config) *singleLocker {
	if c.Value == nil {
		c.Value = randomValue
	}
	return &singleLocker{c, compareExtend, compareDelete}
}

func randomValue() (string, error) {
	b := make([]byte, 16)
	_, err := rand.Read(b)
	return hex.EncodeToString(b), err
}

func (l *singleLocker) Acquire(ctx context.Context) (*Grant, error) {
	owner, err := l.Value()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	token, err := l.eval(ctx, setAndMint, l.Name, l.Name+":token", owner, l.TTL.Milliseconds())
	if err != nil {
		return nil, err
	}
	if token == 0 {
		return nil, &Error{Kind: ErrRefused, Definite: true}
	}
	until := start.Add(l.TTL)
	if !time.Now().Before(until) {
		return nil, &Error{Kind: ErrTooLate}
	}
	return &Grant{Owner: owner, Token: token, Until: until, lease: &singleLease{l, owner}}, nil
}

type singleLease struct {
	l     *singleLocker
	owner string
}

func (s *singleLease) extend(ctx context.Context) (time.Time, error) {
	start := time.Now()
	n, err := s.l.eval(ctx, s.l.expire, s.l.Name, s.owner, s.l.TTL.Milliseconds())
	if err != nil {
		return time.Time{}, err
	}
	if n == 0 {
		return time.Time{}, &Error{Kind: ErrLost, Definite: true}
	}
	return start.Add(s.l.TTL), nil
}

func (s *singleLease) release(ctx context.Context) error {
	args := []any{s.l.Name, s.owner}
	n, err := s.l.eval(ctx, s.l.del, args...)
	if err != nil {
		return err
	}
	if n == 0 {
		return &Error{Kind: ErrLost, Definite: true}
	}
	return nil
}

// eval runs a script on the one node and returns its number.
func (l *singleLocker) eval(ctx context.Context, s *redis.Script, keysAndArgs ...any) (int64, error) {
	conn, err := l.Pools[0].Get(ctx)
	if err != nil {
		return 0, l.unreachable(err)
	}
	defer conn.Close()
	v, err := conn.Eval(s, keysAndArgs...)
	if err != nil {
		return 0, l.unreachable(err)
	}
	n, _ := v.(int64) // nil where a script returned false
	return n, nil
}

// unreachable classifies an error of the Redis client: a refused connection
// certainly sent nothing. But where the client tries again by itself only the
// last try is known, and one before it may have arrived.
func (l *singleLocker) unreachable(err error) *Error {
	var op *net.OpError
	definite := l.Options.MaxRetries == -1 && errors.As(err, &op) && op.Op == "dial"
	return &Error{Kind: ErrUnavailable, Definite: definite, Cause: err}
}
