package concurrent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/internal/concurrent"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		for _, x := range []struct {
			wait, passed time.Duration
			err          error
		}{
			{time.Second, time.Second, nil},
			{0, time.Second, nil},
			{-time.Second, time.Second, nil},
			{time.Minute, 3 * time.Second, context.DeadlineExceeded},
			{0, 3 * time.Second, context.DeadlineExceeded},
		} {
			if err := concurrent.Sleep(ctx, x.wait); !errors.Is(err, x.err) || time.Since(start) != x.passed {
				t.Errorf("%s: %v after %s, want %v after %s", x.wait, err, time.Since(start), x.err, x.passed)
			}
		}
	})
}
