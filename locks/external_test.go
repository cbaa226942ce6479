package locks_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/internal/redistest"
	"lockchaos/locks"
)

// outside is a locker whose tokens come from a service.
func (r *rig) outside(t *testing.T, tokens redis.Pool, ttl time.Duration) locks.Locker {
	t.Helper()
	return r.locker(t, func(c *locks.Config) {
		c.Options.Token, c.Tokens = locks.TokenExternal, tokens
		c.TTL = ttl
	})
}

// slowService answers when the lease of who asks is over.
type slowService struct {
	redis.Pool
	after time.Duration
}

func (s slowService) Get(ctx context.Context) (redis.Conn, error) {
	<-time.After(s.after)
	return s.Pool.Get(ctx)
}

// Tokens from outside rise whatever the lock's servers forget, and none is given
// to a lease that is over.
func TestTokensFromOutside(t *testing.T) {
	t.Parallel()
	takesThem := func(s locks.System) bool {
		return locks.Options{Token: locks.TokenExternal}.Check(s) == nil
	}
	eachOf(t, takesThem, func(t *testing.T, r *rig) {
		service := redistest.Start(t)
		client := goredislib.NewClient(&goredislib.Options{Addr: service.Addr, MaxRetries: -1, DialerRetries: 1})
		t.Cleanup(func() { client.Close() })
		pool := goredis.NewPool(client)
		for i := range int64(3) {
			if g := r.acquire(t, r.outside(t, pool, ttl)); g.Token != i+1 {
				t.Errorf("grant %d has the token %d", i+1, g.Token)
			}
			for _, s := range r.servers {
				if err := s.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		const brief = 200 * time.Millisecond
		_, err := r.outside(t, slowService{pool, brief}, brief).Acquire(t.Context())
		want(t, "a token that comes late", err, locks.ErrTooLate, false)
		if n := r.held(t, ""); n != len(r.servers) {
			t.Errorf("it is still held on %d nodes", len(r.servers)-n)
		}
		_, err = r.outside(t, away{}, ttl).Acquire(t.Context())
		want(t, "no service", err, locks.ErrUnavailable, false)
		if n := r.held(t, ""); n != len(r.servers) {
			t.Errorf("without a token it is held on %d nodes", len(r.servers)-n)
		}
	})
}
