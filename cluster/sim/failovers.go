package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

var errNoGroup = errors.New("there are no Sentinels in this cluster")

// Master is whom most of the Sentinels that run call the master.
func (c *Cluster) Master(context.Context) (string, error) {
	if c.group == nil {
		return "", errNoGroup
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.master()
}

func (c *Cluster) master() (string, error) {
	votes, answered := map[string]int{}, 0
	for _, name := range c.group.sentinels {
		if s := c.servers[name]; !s.down && !s.paused {
			votes[s.sentinel.current()]++
			answered++
		}
	}
	for name, n := range votes { // one at most has a majority
		if 2*n > answered {
			return name, nil
		}
	}
	return "", fmt.Errorf("of %d Sentinels %d answer, and do not agree on a master", len(c.group.sentinels), answered)
}

// lookPeriod is how often AwaitFailover looks.
const lookPeriod = 10 * time.Millisecond

// AwaitFailover waits until another than old is the master, by the word of the
// Sentinels, by its own, and by an event.
func (c *Cluster) AwaitFailover(ctx context.Context, old string) (string, error) {
	if c.group == nil {
		return "", errNoGroup
	}
	if !slices.Contains(c.group.data, old) {
		return "", fmt.Errorf("there is no node %q", old)
	}
	for {
		proof, err := c.switched(old)
		if err == nil {
			return proof, nil
		}
		t := time.NewTimer(c.odd[""].align(lookPeriod))
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return "", fmt.Errorf("no failover from %s: %w; %w", old, ctx.Err(), err)
		}
	}
}

// switched sees that another than old is the master, and takes the events of that.
func (c *Cluster) switched(old string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, err := c.master()
	if err != nil {
		return "", err
	}
	if now == old {
		return "", fmt.Errorf("the Sentinels still name %s", old)
	}
	if s := c.servers[now]; s.down || s.paused || s.copies.master != "" {
		return "", fmt.Errorf("node %s does not say that it is the master", now)
	}
	event, teller := turn{old, now}, ""
	for _, name := range c.group.sentinels {
		p := c.servers[name].sentinel
		if teller == "" && slices.Contains(p.turns, event) {
			teller = name
		}
		p.turns = slices.DeleteFunc(p.turns, func(t turn) bool { return t == event })
	}
	if teller == "" {
		return "", fmt.Errorf("the Sentinels name %s, and no %s from %s to it was seen", now, switchChannel, old)
	}
	return fmt.Sprintf("%s from %s: the master was %s (run id %.8s…) and is %s (run id %.8s…, role master)",
		switchChannel, teller, old, c.servers[old].node.RunID(), now, c.servers[now].node.RunID()), nil
}

// switchChannel is where Sentinels tell their clients of another master.
const switchChannel = "+switch-master"
