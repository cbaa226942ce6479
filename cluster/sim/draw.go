package sim

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// draws is a stream of random times that depends on the seed and on its names
// alone: what one link draws does not change what another does.
//
// What happens at one instant in a bubble has no order. So each stream has a
// slot of its own, and every instant that it draws lies in its slot: two streams
// never have a timer that fires at one instant.
type draws struct {
	slot int64

	mu    sync.Mutex
	rng   *rand.Rand
	given []int64 // instants that are not past, as nanoseconds since 1970
	open  *batch  // the last one
}

// span is how many slots there are, of a nanosecond each, before they repeat.
const span = 4096

func newDraws(seed, slot int64, names ...string) *draws {
	h := fnv.New64a()
	for _, n := range names {
		_, _ = h.Write([]byte(n)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return &draws{slot: slot % span, rng: rand.New(rand.NewPCG(uint64(seed), h.Sum64()))}
}

// number draws from 0 to below n.
func (d *draws) number(n time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.pick(n)
}

func (d *draws) pick(n time.Duration) time.Duration {
	return time.Duration(d.rng.Int64N(max(int64(n), 1)))
}

// between draws a time to wait from now: low to high, and on to the slot.
func (d *draws) between(low, high time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.place(low + d.pick(high-low))
}

// travel draws how long a message is under way.
func (d *draws) travel(l Latency, more []delay) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := l.Min + d.pick(l.Max-l.Min)
	for _, x := range more {
		t += x.latency
		if x.jitter > 0 {
			t += d.pick(2*x.jitter) - x.jitter
		}
	}
	return d.place(max(t, 1))
}

// align makes a time to wait from now end in the slot, a little later, at an
// instant that this stream has not given out yet.
func (d *draws) align(wait time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.place(wait)
}

func (d *draws) place(wait time.Duration) time.Duration {
	now := time.Now().UnixNano()
	end := now + int64(wait)
	end += (d.slot - end%span + span) % span
	ahead := d.given[:0]
	for _, at := range d.given {
		if at >= now {
			ahead = append(ahead, at)
		}
	}
	for slices.Contains(ahead, end) {
		end += span
	}
	d.given = append(ahead, end)
	return time.Duration(end - now)
}

func (d *draws) uint64() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Uint64()
}
