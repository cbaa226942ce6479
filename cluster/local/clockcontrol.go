package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"lockchaos/cluster"
)

var _ cluster.ClockControl = (*Cluster)(nil)

// JumpClock sets the clock of a node; see clock.
func (c *Cluster) JumpClock(ctx context.Context, name string, by time.Duration) (string, error) {
	return c.withClock(ctx, name, func(n *node, t *teller) (string, error) {
		if n.clock == nil && t.mute != nil {
			return "", t.mute
		}
		if n.clock == nil {
			return shift(t.conn, nil, n.prefix, by)
		}
		before, err := t.best()
		if err != nil {
			return "", err
		}
		if err := n.clock.jump(by); err != nil {
			return "", err
		}
		after, err := t.best()
		if err != nil {
			return "", err
		}
		return jumped(before, after, by, n.clock.setting().rate)
	})
}

// jumped sees that between two readings a clock of that rate has jumped.
func jumped(before, after reading, by time.Duration, rate float64) (string, error) {
	moved := after.ahead() - before.ahead()
	expected := by + gained(rate, after.at.Sub(before.at))
	doubt := doubted(before, after, rate)
	if off := (moved - expected).Abs(); off > doubt || by.Abs() <= 2*doubt {
		return "", fmt.Errorf("TIME moved by %s, expected %s, with a doubt of %s", brief(moved), brief(expected), brief(doubt))
	}
	return fmt.Sprintf("TIME ahead by %s, then by %s", brief(before.ahead()), brief(after.ahead())), nil
}

// slack is what a clock may be off beyond what its readings leave in doubt.
const slack = 200 * time.Microsecond

// doubted is how far a difference of two readings may be off: each may have been taken
// some time earlier or later, in which a clock of that rate went on.
func doubted(before, after reading, rate float64) time.Duration {
	return time.Duration(max(rate, 1)*float64(before.doubt+after.doubt)) + slack
}

// gained is how far a clock of that rate gets ahead in a time.
func gained(rate float64, in time.Duration) time.Duration {
	return time.Duration((rate - 1) * float64(in))
}

// SetClockRate sets the rate of a node's clock. That of a server that does not run is
// set, too, as it is the machine's; but nothing shows it, so there is an error.
func (c *Cluster) SetClockRate(ctx context.Context, name string, rate float64) (string, error) {
	return c.withClock(ctx, name, func(n *node, t *teller) (string, error) {
		if n.clock == nil {
			return "", fmt.Errorf("the rate of a clock is set by libfaketime only, and clocks are set by %s here: "+
				"install it (apt-get install libfaketime), and leave %s unset", byShift, clocksVariable)
		}
		old := n.clock.setting().rate
		before, err := t.best()
		if err != nil {
			return "", errors.Join(err, n.clock.set(0, rate))
		}
		if err := n.clock.set(0, rate); err != nil {
			return "", err
		}
		first, err := t.best()
		if err != nil {
			return "", err
		}
		if err := wentOn(before, first, old, rate); err != nil {
			return "", fmt.Errorf("%w: the change came up to %s late", err, brief(n.clock.setting().late))
		}
		return t.watch(ctx, first, old, rate)
	})
}

// mostLeap is how far a clock may jump when its rate changes.
const mostLeap = time.Millisecond

// wentOn sees that a clock did not jump between two readings when its rate changed.
func wentOn(before, after reading, old, rate float64) error {
	passed := after.at.Sub(before.at)
	low, high := gained(min(old, rate), passed), gained(max(old, rate), passed)
	doubt := doubted(before, after, max(old, rate)) + mostLeap
	if moved := after.ahead() - before.ahead(); moved < low-doubt || moved > high+doubt {
		return fmt.Errorf("TIME jumped by %s when its rate changed", brief(moved))
	}
	return nil
}

// How long a clock is watched for its rate.
const (
	shortestWatch = 20 * time.Millisecond
	longestWatch  = 3 * time.Second
)

// watch reads a clock until its rate can be told from the old one, and sees that
// it is the new one.
func (t *teller) watch(ctx context.Context, first reading, old, rate float64) (proof string, err error) {
	err = poll(ctx, func() (bool, error) {
		last, err := t.best()
		if err != nil {
			return false, err
		}
		passed := last.at.Sub(first.at)
		doubt := doubted(first, last, max(old, rate))
		if apart := math.Abs(rate-old) * float64(passed); passed < shortestWatch || rate != old && apart < 3*float64(doubt) {
			if passed > longestWatch {
				return false, fmt.Errorf("a rate of %g cannot be told from %g within %s: answers to TIME take too long", rate, old, brief(passed))
			}
			return false, nil
		}
		shown := last.shown.Sub(first.shown)
		if off := (shown - passed - gained(rate, passed)).Abs(); off > doubt {
			return false, fmt.Errorf("TIME went on by %s in %s, expected a rate of %g, with a doubt of %s", brief(shown), brief(passed), rate, brief(doubt))
		}
		proof = fmt.Sprintf("TIME went on by %s in %s", brief(shown), brief(passed))
		return true, nil
	})
	return proof, err
}

func brief(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// withClock calls f with a node whose clock may be set, and a way to read it. Those who
// set it come one after the other, but the node's control is not held: while it does
// not answer, as it is stopped, somebody must be able to let it go on.
func (c *Cluster) withClock(ctx context.Context, name string, f func(*node, *teller) (string, error)) (string, error) {
	n, addr, err := c.reach(name)
	if err != nil {
		return "", err
	}
	if !n.settable {
		return "", fmt.Errorf("node %s: its clock cannot be set, as it was not asked for when the node was started", name)
	}
	select {
	case n.clocking <- struct{}{}:
		defer func() { <-n.clocking }()
	case <-ctx.Done():
		return "", fmt.Errorf("node %s: clock: it is being set: %w", name, ctx.Err())
	}
	t := tellerOf(ctx, n, addr)
	defer t.close()
	proof, err := f(n, t)
	if err != nil {
		return "", fmt.Errorf("node %s: clock: %w", name, err)
	}
	return proof, nil
}
