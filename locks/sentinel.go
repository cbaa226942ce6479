package locks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
)

// sentinel is the lock of single on the master that Sentinel names. The token is
// minted on that master, too: what a failover forgets of the one it forgets of
// the other.
func sentinel() System {
	return System{
		Name:  "sentinel",
		About: "as single, on the master of a Sentinel group with two replicas; optionally with WAIT after each acquire",
		Nodes: 1, Replicas: 2, Sentinels: 3, Mints: true,
		Options: []string{"wait", "wait_timeout", "wait_checked"},
		New:     newSentinel,
	}
}

// defaultWait is how long WAIT waits where the options do not say.
const defaultWait = 100 * time.Millisecond

func newSentinel(c Config) (Locker, error) {
	l := newSingle(c)
	if c.Options.Wait == 0 {
		return l, nil
	}
	return &waitingLocker{l}, nil
}

// waitingLocker asks the master after each acquire how many replicas know of it.
type waitingLocker struct{ *singleLocker }

// tooFewError says that WAIT counted fewer replicas than it was to wait for.
type tooFewError struct {
	acked int64
	want  int
}

func (e *tooFewError) Error() string {
	return fmt.Sprintf("%d of %d replicas have acknowledged the lock", e.acked, e.want)
}

var errNoWait = errors.New("this connection cannot WAIT for replicas")

func (l *waitingLocker) Acquire(ctx context.Context) (*Grant, error) {
	owner, err := l.Value()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	token, acked, err := l.evalWait(ctx, setAndMint, l.Name, l.Name+":token", owner, l.TTL.Milliseconds())
	if err != nil {
		return nil, err
	}
	if token == 0 {
		return nil, &Error{Kind: ErrRefused, Definite: true}
	}
	lease := &singleLease{l.singleLocker, owner}
	if l.Options.WaitChecked && acked < int64(l.Options.Wait) {
		return nil, l.giveBack(ctx, lease, acked)
	}
	until := start.Add(l.TTL)
	if !time.Now().Before(until) {
		return nil, &Error{Kind: ErrTooLate}
	}
	return &Grant{Owner: owner, Token: token, Until: until, lease: lease}, nil
}

// giveBack releases a lock that too few replicas know of. Where that fails, it
// may stay taken until its TTL.
func (l *waitingLocker) giveBack(ctx context.Context, lease *singleLease, acked int64) error {
	cause := &tooFewError{acked, l.Options.Wait}
	if err := lease.release(ctx); err != nil {
		return &Error{Kind: ErrUnavailable, Cause: errors.Join(cause, err)}
	}
	return &Error{Kind: ErrUnavailable, Definite: true, Cause: cause}
}

func (l *waitingLocker) evalWait(ctx context.Context, s *redis.Script, keysAndArgs ...any) (token, acked int64, err error) {
	conn, err := l.Pools[0].Get(ctx)
	if err != nil {
		return 0, 0, l.unreachable(err)
	}
	defer conn.Close()
	w, ok := conn.(Waiter)
	if !ok {
		return 0, 0, l.unreachable(errNoWait)
	}
	timeout := l.Options.WaitTimeout.D()
	if timeout == 0 {
		timeout = defaultWait
	}
	v, acked, err := w.EvalWait(s, l.Options.Wait, timeout, keysAndArgs...)
	if err != nil {
		return 0, 0, l.unreachable(err)
	}
	token, _ = v.(int64)
	return token, acked, nil
}
