package local

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"lockchaos/cluster"
)

// Apply sets a rule. What is sent after it has returned is subject to it; a
// rule that drops everything is so complete that no byte is delivered any
// more, even if it has been on its way. An id can be in force once.
func (l *Link) Apply(ctx context.Context, id string, r cluster.Rule) error {
	nr, err := newRule(id, r)
	if err == nil && nr.names != nil && !l.speaks.commands {
		err = fmt.Errorf("commands are those of Redis, and the node is a %s server", l.speaks.name)
	}
	if err != nil {
		return fmt.Errorf("%s: rule %q: %w", l.title, id, err)
	}
	l.mu.Lock()
	now := l.rules.Load()
	if now.find(id) >= 0 {
		l.mu.Unlock()
		return fmt.Errorf("%s: rule %q is in force already: lift it first, or use another id", l.title, id)
	}
	l.swap(append(slices.Clone(now.rules), nr))
	l.mu.Unlock()
	l.settled(ctx)
	return nil
}

// Lift ends a rule. What was held is on its way when it returns.
func (l *Link) Lift(_ context.Context, id string) error {
	l.mu.Lock()
	now := l.rules.Load()
	i := now.find(id)
	if i < 0 {
		l.mu.Unlock()
		return nil
	}
	l.swap(slices.Delete(slices.Clone(now.rules), i, i+1))
	l.mu.Unlock()
	if now.rules[i].drop {
		l.closeBroken()
	}
	return nil
}

// closeBroken closes the connections that have lost bytes in a direction in
// which nothing drops any more: a link that is still cut for another rule
// must not tell its host anything.
func (l *Link) closeBroken() {
	rs := l.rules.Load()
	for _, c := range l.open() {
		for d := range directions {
			if !rs.drops[d] && c.hasLost(d) {
				c.closeClient()
			}
		}
	}
}

func (l *Link) setRules(rules []rule) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.swap(rules)
}

// swap needs mu.
func (l *Link) swap(rules []rule) {
	old := l.rules.Swap(newRuleSet(rules))
	close(old.changed)
}

// settled waits until no connection is writing under rules of the past. A
// write that is stuck, as the other side does not read, is not waited for long.
func (l *Link) settled(ctx context.Context) {
	const longest = 50 * time.Millisecond
	until := time.Now().Add(longest)
	for _, c := range l.open() {
		for _, s := range c.sinks {
			for s.busy.Load() && ctx.Err() == nil && time.Now().Before(until) {
				runtime.Gosched()
			}
		}
	}
}

// Reset breaks the open connections with a TCP reset on both sides. What a
// host has sent before it closed its side, and is held, stays.
func (l *Link) Reset(context.Context) (int, error) {
	n := 0
	for _, c := range l.open() {
		if c.clientGone.Load() {
			continue
		}
		c.reset()
		if !c.probe {
			n++
		}
	}
	return n, nil
}

// controlled runs a call of Toxiproxy's API, one at a time for each link, and
// not longer than ctx. A call can only hang on a connection whose other side
// does not read: then all connections are reset, which lets it end.
func (l *Link) controlled(ctx context.Context, what string, call func() error) error {
	select {
	case l.control <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("%s: %s: the call before it has not ended: %w", l.title, what, ctx.Err())
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-l.control }()
		done <- call()
	}()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("%s: %s: %w", l.title, what, err)
		}
		return nil
	case <-ctx.Done():
		for _, c := range l.open() {
			c.reset()
		}
		return fmt.Errorf("%s: %s: Toxiproxy did not answer in time, so the link's connections were reset: %w",
			l.title, what, ctx.Err())
	}
}
