package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"
)

// JumpClock sets the clock of a node.
func (c *Cluster) JumpClock(_ context.Context, name string, by time.Duration) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	before, err := c.ahead(s)
	if err != nil {
		return "", err
	}
	s.node.Jump(by)
	after, err := c.ahead(s)
	if err != nil {
		return "", err
	}
	if after-before != by {
		return "", fmt.Errorf("its clock jumped by %s, expected %s", after-before, by)
	}
	return fmt.Sprintf("simulated TIME ahead by %s, then by %s", before, after), nil
}

// rateWindow is how long a clock is watched for its rate.
const rateWindow = 10 * time.Millisecond

// resolution of a node's clock, in nanoseconds.
const resolution = 1000

// SetClockRate sets the rate of a node's clock.
func (c *Cluster) SetClockRate(_ context.Context, name string, rate float64) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	s.node.SetRate(rate) // the machine's, which goes on without the server: but then nothing shows it
	if _, err := c.ahead(s); err != nil {
		return "", err
	}
	shown, start := s.node.Now(), time.Now()
	time.Sleep(c.odd[""].align(rateWindow))
	if c.isDown(s) { // one that was stopped meanwhile would say it when it goes on
		return "", errNodeDown
	}
	passed, real := s.node.Now().Sub(shown), time.Since(start)
	if got := float64(passed) / float64(real); math.Abs(got-rate) > 1e-6*rate && math.Abs(float64(passed)-rate*float64(real)) > resolution {
		return "", fmt.Errorf("its clock went on by %s in %s, expected a rate of %g", passed, real, rate)
	}
	return fmt.Sprintf("simulated TIME went on by %s in %s", passed, real), nil
}

func (c *Cluster) isDown(s *server) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return s.down
}

// ahead is how far the clock of a node that answers is ahead of time itself.
func (c *Cluster) ahead(s *server) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.down || s.paused {
		return 0, errors.New("the node does not run")
	}
	return time.Until(s.node.Now()), nil
}
