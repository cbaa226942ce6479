package local

import (
	"context"
	"fmt"
	"time"
)

// delay is what one id of Delay asks for.
type delay struct{ latency, jitter time.Duration }

// Delay adds latency by Toxiproxy's toxic of that name, one in each direction.
// Toxiproxy counts in whole milliseconds: a delay is rounded, and never to
// nothing.
//
// Delays under several ids add up in one toxic, which is taken away and added
// anew for each change; what waits in it at that time is delivered at once.
// With two of them on a link, Toxiproxy mixes up its lists when one is taken
// away while a connection ends, and panics at the next.
func (l *Link) Delay(ctx context.Context, id string, latency, jitter time.Duration) error {
	if latency < 0 || jitter < 0 || latency+jitter == 0 {
		return fmt.Errorf("%s: delay %q of %v ± %v: it must be greater than 0", l.title, id, latency, jitter)
	}
	l.mu.Lock()
	_, taken := l.delays[id]
	if !taken {
		// It stays, come what may: after an error, Undelay is to clear up.
		l.delays[id] = delay{latency, jitter}
		l.unlaid = true
	}
	l.mu.Unlock()
	if taken {
		return fmt.Errorf("%s: delay %q is in force already: end it first, or use another id", l.title, id)
	}
	return l.controlled(ctx, "add delay "+id, l.layDelays)
}

// Undelay ends a delay; what waits in it is delivered at once.
func (l *Link) Undelay(ctx context.Context, id string) error {
	l.mu.Lock()
	if _, there := l.delays[id]; there {
		delete(l.delays, id)
		l.unlaid = true
	}
	todo := l.unlaid // or the call before has failed
	l.mu.Unlock()
	if !todo {
		return nil
	}
	return l.controlled(ctx, "end delay "+id, l.layDelays)
}

// layDelays makes Toxiproxy do what delays say. It needs the control token.
func (l *Link) layDelays() error {
	l.mu.Lock()
	var sum delay
	for _, d := range l.delays {
		sum.latency += d.latency
		sum.jitter += d.jitter
	}
	l.unlaid = false
	l.mu.Unlock()
	l.delayed.Store(true) // nothing may go past it from now on
	err := l.toxi.removeLatency(l)
	if err == nil && sum != (delay{}) {
		err = l.toxi.addLatency(l, sum)
	} else if err == nil {
		l.delayed.Store(false)
	}
	if err != nil {
		l.mu.Lock()
		l.unlaid = true
		l.mu.Unlock()
	}
	return err
}
