package runner

import (
	"context"
	"time"

	"lockchaos/history"
)

// heartbeat records when this process itself stands still, as it does on a
// machine that is too busy: a holder that the harness drives late overruns its
// lease, and that is then no news about the lock. A third of the TTL is worth
// recording; less leaves a holder its time.
func (l *live) heartbeat(ctx context.Context) {
	ttl := l.Scenario.Lock.TTL.D()
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
			l.rec.Add(history.Event{Kind: history.Stall, Value: int64(still)})
		}
		last = now
	}
}
