package sim

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Those who were woken at one instant go on in the order of their numbers, a span
// apart, and one alone as if nobody else could have been.
func TestInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 {
			d := newDraws(1, 7)
			start := time.Now()
			var mu sync.Mutex
			var order []int64
			var at []time.Duration
			var wg sync.WaitGroup
			for _, n := range []int64{5, -1, 30, 2} {
				wg.Go(func() {
					d.inOrder(n)
					mu.Lock()
					defer mu.Unlock()
					order, at = append(order, n), append(at, time.Since(start))
				})
			}
			wg.Wait()
			if want := []int64{-1, 2, 5, 30}; !slices.Equal(order, want) {
				t.Fatalf("the order is %v, want %v", order, want)
			}
			for i := range at {
				if at[i] != at[0]+time.Duration(i)*span {
					t.Fatalf("they go on after %v", at)
				}
			}
			now := time.Now()
			next := newDraws(1, 7).align(1)
			d.inOrder(1)
			if got := time.Since(now); got != next {
				t.Fatalf("one alone goes on after %s, want %s", got, next)
			}
			d.inOrder(1)
			if got := time.Since(now); got != next+span {
				t.Fatalf("the second time it goes on after %s, want %s", got, next+span)
			}
		}
	})
}
