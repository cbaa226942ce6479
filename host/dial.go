package host

import (
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockchaos/locks"
)

// Dial makes a pool of go-redis connections with the options' settings, and
// go-redis' own defaults for the rest, as a user would have it.
func Dial(addr string, o locks.Options) redis.Pool {
	return goredis.NewPool(goredislib.NewClient(&goredislib.Options{
		Addr:                  addr,
		ContextTimeoutEnabled: o.ContextTimeout,
		ReadTimeout:           o.ReadTimeout.D(),
		MaxRetries:            o.MaxRetries,
		// Notices of planned maintenance are a cloud's; no server here sends them.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}))
}
