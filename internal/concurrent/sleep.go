package concurrent

import (
	"context"
	"time"
)

// Sleep waits for a time, or until ctx has ended, which is its error. It does not
// wait at all where there is nothing left to wait for.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
