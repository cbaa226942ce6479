package host

import (
	"context"
	"time"
)

// Heartbeat tells when this process stands still, as it does on a machine that is
// too busy, or while it is stopped: what it then does late is no news about the lock.
// A third of the TTL is worth telling; less leaves a holder its time. It returns
// when the context ends.
func Heartbeat(ctx context.Context, ttl time.Duration, tell func(still time.Duration)) {
	tick := time.NewTicker(min(max(ttl/20, time.Millisecond), 50*time.Millisecond))
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := time.Now()
		if still := now.Sub(last); still > ttl/3 {
			tell(still)
		}
		last = now
	}
}
