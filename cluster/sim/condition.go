package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
)

// A simulated node syncs its file once a second of its clock, early in it.
const early = 300 * time.Millisecond

var errRate = errors.New("its clock does not run at the rate of the machine's, and it is by its clock that it syncs once a second")

// SyncNode waits for the early part of a second and syncs the node's file.
func (c *Cluster) SyncNode(ctx context.Context, name string) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	if s.node.Persistence() != node.PersistEverySec {
		return "persistence " + s.node.Persistence() + ": there is nothing to wait for", nil
	}
	if s.node.Rate() != 1 { // then its seconds are others
		return "", errRate
	}
	if into := time.Duration(s.node.Now().Nanosecond()); into > early {
		t := time.NewTimer(c.odd[""].align(time.Second - into))
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.down || s.paused {
		return "", errNodeDown
	}
	s.node.Sync()
	return "simulated file synced", nil
}

// CutPower kills a node, and what it has not synced is lost.
func (c *Cluster) CutPower(_ context.Context, name string) (string, error) {
	return c.kill(name, func(s *server) (string, error) {
		const killed = "simulated process killed, "
		lost := s.node.PowerLoss()
		switch p := s.node.Persistence(); {
		case p == node.PersistNone:
			return killed + "nothing was on disk", nil
		case p == node.PersistAlways:
			return killed + "no key was not synced", nil
		case lost == 0:
			return "", fmt.Errorf("%w: no key was written since the last sync", cluster.ErrIdle)
		}
		return fmt.Sprintf("%s%d key(s) as they were at the last sync", killed, lost), nil
	})
}

// EvictKeys takes all keys out of a node, as if its memory had been filled by
// others: keys that come later stay.
func (c *Cluster) EvictKeys(_ context.Context, name string) (string, error) {
	return c.withNode(name, func(s *server) (string, error) {
		if s.down || s.paused {
			return "", errNodeDown
		}
		gone, err := s.node.Evict()
		switch {
		case err != nil:
			return "", err
		case len(gone) == 0:
			return "", fmt.Errorf("%w: it has no key", cluster.ErrIdle)
		}
		return "evicted: " + strings.Join(gone, ", "), nil
	})
}

// FreeMemory ends it: nothing more was being evicted.
func (c *Cluster) FreeMemory(_ context.Context, name string) (string, error) {
	if _, err := c.server(name); err != nil {
		return "", err
	}
	return "nothing is evicted any more", nil
}

// SlowNode makes a node take its time for each command, one after the other.
func (c *Cluster) SlowNode(ctx context.Context, name string, latency time.Duration) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	before := s.latency
	s.latency = latency
	c.mu.Unlock()
	if before != 0 {
		return "", errors.New("the node is slow already")
	}
	pings := cluster.Pings(latency)
	median, err := c.medianPing(ctx, name, pings)
	if err != nil {
		return "", err
	}
	if median < latency {
		return "", fmt.Errorf("PING took %s at the median, expected %s or more", median, latency)
	}
	return fmt.Sprintf("PING took %s at the median of %d", median, pings), nil
}

// HurryNode ends it; what waits is done at once.
func (c *Cluster) HurryNode(ctx context.Context, name string) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	latency := s.latency
	s.latency, s.busy = 0, time.Time{}
	var queue []*message
	if !s.paused {
		queue, s.queue = s.queue, nil
	}
	c.mu.Unlock()
	c.catchUp(queue)
	pings := cluster.Pings(latency)
	median, err := c.medianPing(ctx, name, pings)
	if err != nil {
		return "", err
	}
	// On a link a PING takes its time, too.
	if most := 2 * c.latency.Max; median > max(latency/2, most) {
		return "", fmt.Errorf("PING still takes %s at the median", median)
	}
	return fmt.Sprintf("PING took %s at the median of %d", median, pings), nil
}

func (c *Cluster) medianPing(ctx context.Context, name string, pings int) (time.Duration, error) {
	var took []time.Duration
	for range pings {
		d, err := c.operator[name].Probe(ctx)
		if err != nil {
			return 0, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// enqueue lets a message wait for its turn at a slow server. The cluster's
// mutex is held.
func (c *Cluster) enqueue(s *server, m *message) {
	now := time.Now()
	if s.busy.Before(now) {
		s.busy = now
	}
	d := m.link.odd.align(s.busy.Sub(now) + s.latency)
	s.busy = now.Add(d)
	m.due = s.busy
	s.queue = append(s.queue, m)
	after(d, func() { c.turn(s, m) })
}

// turn does a message whose time at a slow server has come, unless it is gone
// or the server has been stopped meanwhile.
func (c *Cluster) turn(s *server, m *message) {
	c.mu.Lock()
	i := slices.Index(s.queue, m)
	if i < 0 || s.paused || time.Now().Before(m.due) {
		c.mu.Unlock()
		return
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	arrived, err := c.perform(s, m)
	c.mu.Unlock()
	m.answered(arrived, err)
}
