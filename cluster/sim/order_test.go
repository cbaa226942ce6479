package sim

import (
	"context"
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

// Commands that have waited at one node and whose connections it has closed learn of
// it each at an instant of its own.
func TestClosedConnectionsOfOneNode(t *testing.T) {
	simulated(t, "", func(t *testing.T, ctx context.Context, c *Cluster) {
		if _, err := c.PauseNode(ctx, "n1"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		at := make([]time.Time, 4)
		for i := range at {
			m := newMessage(c.link([]string{"w1", "w2"}[i%2], "n1"), []any{"GET", "k"})
			m.traits = &traits{of: &connection{birth: -1}}
			if arrived, err := c.execute(m); arrived || err != nil {
				t.Fatal(arrived, err)
			}
			wg.Go(func() {
				<-m.finished()
				at[i] = time.Now()
			})
		}
		if _, err := c.ResumeNode(ctx, "n1"); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for i := range at {
			if slices.Index(at, at[i]) != i {
				t.Errorf("two learn of it at one instant: %v", at)
			}
		}
	})
}
