package node

import "time"

// clock is a clock that can jump and run at a rate of its own. It agrees with
// time.Now() until it is told otherwise, and survives crashes.
type clock struct {
	base time.Time // what it showed …
	from time.Time // … at this instant of time.Now()
	rate float64
}

func newClock() clock {
	now := time.Now()
	return clock{base: now, from: now, rate: 1}
}

// at is what the clock shows when time.Now() is real.
func (c *clock) at(real time.Time) time.Time {
	passed := real.Sub(c.from)
	if c.rate != 1 {
		passed = time.Duration(float64(passed) * c.rate)
	}
	return c.base.Add(passed)
}

// set makes it show t at the instant real.
func (c *clock) set(real, t time.Time, rate float64) {
	c.base, c.from, c.rate = t, real, rate
}

// Now is the time on the node's clock.
func (n *Node) Now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock.at(time.Now())
}

// Jump sets the node's clock forward by d, or back where d is negative. Keys
// whose time has come expire, keys that have not been touched since they
// expired live again if the clock goes back before that: so it is in Redis.
func (n *Node) Jump(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.clock.set(now, n.clock.at(now).Add(d), n.clock.rate)
}

// Rate is how fast the node's clock runs.
func (n *Node) Rate() float64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock.rate
}

// SetRate makes the node's clock run factor times as fast as time.Now() from
// now on; 1 is the right speed, 0 stops it. What it shows does not jump.
func (n *Node) SetRate(factor float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	n.clock.set(now, n.clock.at(now), factor)
}
