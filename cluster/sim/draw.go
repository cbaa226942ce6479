package sim

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
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
	given map[int64]bool // instants, as nanoseconds since 1970
}

// mostGiven is how many instants a stream remembers before it forgets those
// that are past.
const mostGiven = 64

// span is how many slots there are, of a nanosecond each, before they repeat.
const span = 4096

func newDraws(seed, slot int64, names ...string) *draws {
	h := fnv.New64a()
	for _, n := range names {
		_, _ = h.Write([]byte(n)) // never fails
		_, _ = h.Write([]byte{0})
	}
	return &draws{slot: slot % span, given: map[int64]bool{}, rng: rand.New(rand.NewPCG(uint64(seed), h.Sum64()))}
}

// number draws from 0 to below n.
func (d *draws) number(n time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.rng.Int64N(max(int64(n), 1)))
}

// between draws a time to wait from now: low to high, and on to the slot.
func (d *draws) between(low, high time.Duration) time.Duration {
	return d.align(low + d.number(high-low))
}

// align makes a time to wait from now end in the slot, a little later, at an
// instant that this stream has not given out yet.
func (d *draws) align(wait time.Duration) time.Duration {
	now := time.Now().UnixNano()
	end := now + int64(wait)
	end += (d.slot - end%span + span) % span
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.given[end] {
		end += span
	}
	if len(d.given) > mostGiven {
		maps.DeleteFunc(d.given, func(at int64, _ bool) bool { return at < now })
	}
	d.given[end] = true
	return time.Duration(end - now)
}

// next waits for the next instant of the slot.
func (d *draws) next() { time.Sleep(d.align(1)) }

func (d *draws) uint64() uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.Uint64()
}
