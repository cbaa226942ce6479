package sim

import (
	"sync"
	"sync/atomic"
)

// underway counts commands, and waits until none is left. A sync.WaitGroup does
// the same, but in a bubble it looks itself up in a table at each Add: that was a
// twentieth of a simulation's time.
type underway struct {
	n    atomic.Int64 // and one more until somebody waits
	once sync.Once
	none chan struct{}
}

func (u *underway) begin() {
	u.n.Store(1)
	u.none = make(chan struct{})
}

func (u *underway) start() { u.n.Add(1) }

func (u *underway) end() {
	if u.n.Add(-1) == 0 {
		// Only once: what ends after that has begun when nobody waited any more.
		u.once.Do(func() { close(u.none) })
	}
}

func (u *underway) wait() {
	u.end()
	<-u.none
}
