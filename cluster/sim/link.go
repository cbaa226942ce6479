package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"lockchaos/cluster"
)

// link is the way from one host to one node.
type link struct {
	c      *Cluster
	host   string
	server *server
	// delays of messages
	requests, replies *draws

	odd   *draws        // wake-ups after a fault, and of what a client gives up
	gates [lanes]*draws // wake-ups of a host that was stopped

	numbers atomic.Int64 // of messages

	mu     sync.Mutex
	rules  []rule
	delays []delay
	held   []*waiting // in the order in which they came
	lost   []*message // dropped; their connections are broken when the rule is lifted
	flying []*message // carried by timers
	epoch  int        // counts resets
	used   bool       // a connection has been opened
	pushed time.Time  // when the last push arrives
	counts cluster.Counts
}

type rule struct {
	id string
	cluster.Rule
}

type delay struct {
	id              string
	latency, jitter time.Duration
}

// waiting is a held message, and the way that it was on.
type waiting struct {
	m   *message
	way cluster.Direction
}

var _ cluster.Link = (*link)(nil)

// verdict of the rules on a message.
type verdict int

const (
	pass verdict = iota
	hold
	drop
)

// number tells apart what wants to go on after it was woken.
func (l *link) number() int64 { return l.numbers.Add(1) }

// judge says what the rules do to a message on one of its ways. mu is held.
func (l *link) judge(m *message, way cluster.Direction) verdict {
	v := pass
	for i := range l.rules {
		r := &l.rules[i]
		if r.Direction != cluster.Both && r.Direction != "" && r.Direction != way {
			continue
		}
		if len(r.Commands) > 0 && (way == cluster.Replies || !slices.Contains(r.Commands, m.name)) {
			continue
		}
		if r.Drop {
			return drop
		}
		v = hold
	}
	return v
}

// depart puts a message on one of its ways: it draws how long that takes, or
// keeps the message where it may not pass. epoch is the link's.
func (l *link) depart(m *message, way cluster.Direction) (d time.Duration, epoch int, passes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.enter(m, way) {
		return 0, l.epoch, false
	}
	w := l.replies
	if way == cluster.Requests {
		w = l.requests
	}
	return w.travel(l.c.latency, l.delays), l.epoch, true
}

// enter says whether a message may pass, and keeps it if not. mu is held.
func (l *link) enter(m *message, way cluster.Direction) bool {
	size := m.size()
	if m.probe {
		size = 0
	} else {
		l.used = true
	}
	switch l.judge(m, way) {
	case hold:
		l.held = append(l.held, &waiting{m, way})
		l.counts.HeldBytes += size
		if way == cluster.Requests && !m.probe {
			l.counts.HeldCommands++
		}
		return false
	case drop:
		l.lost = append(l.lost, m)
		l.counts.DroppedBytes += size
		return false
	}
	if way == cluster.Requests {
		l.counts.RequestBytes += size
	} else {
		l.counts.ReplyBytes += size
	}
	return true
}

// fly carries a message by a timer. It is dead if the link is reset meanwhile.
func (l *link) fly(m *message, d time.Duration, arrive func()) {
	l.mu.Lock()
	epoch := l.epoch
	l.flying = append(l.flying, m)
	l.mu.Unlock()
	after(d, func() {
		l.mu.Lock()
		l.flying = slices.DeleteFunc(l.flying, func(x *message) bool { return x == m })
		dead := l.epoch != epoch
		l.mu.Unlock()
		if !dead {
			arrive()
		}
	})
}

// request sends a message that nobody carries.
func (l *link) request(m *message) {
	if d, _, passes := l.depart(m, cluster.Requests); passes {
		l.fly(m, d, func() {
			if m.pushed {
				m.finish(nil)
			} else {
				l.c.arrive(m)
			}
		})
	}
}

// respond sends the reply of a message that nobody carries.
func (l *link) respond(m *message) {
	d, _, passes := l.depart(m, cluster.Replies)
	if !passes {
		return
	}
	if m.pushed {
		d = l.behind(d)
	}
	l.fly(m, d, func() { m.finish(nil) })
}

// behind lets a push arrive after those before it.
func (l *link) behind(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := time.Until(l.pushed) + 1; d < first {
		d = l.replies.align(first)
	}
	l.pushed = time.Now().Add(d)
	return d
}

// Apply sets a rule.
func (l *link) Apply(_ context.Context, id string, r cluster.Rule) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(l.rules, func(x rule) bool { return x.id == id }) {
		return fmt.Errorf("rule %s is in force already", id)
	}
	l.rules = append(l.rules, rule{id, r})
	return nil
}

// Lift ends a rule.
func (l *link) Lift(_ context.Context, id string) error {
	l.mu.Lock()
	l.rules = slices.DeleteFunc(l.rules, func(r rule) bool { return r.id == id })
	held, lost := l.held, l.lost
	l.held, l.lost = nil, nil
	if slices.ContainsFunc(l.rules, func(r rule) bool { return r.Drop }) {
		l.lost, lost = lost, nil
	}
	var free []*waiting
	for _, w := range held {
		if l.judge(w.m, w.way) == hold {
			l.held = append(l.held, w)
		} else {
			free = append(free, w)
		}
	}
	l.mu.Unlock()
	for _, w := range free { // in order, each at an instant of its own
		if w.way == cluster.Requests {
			l.request(w.m)
		} else {
			l.respond(w.m)
		}
	}
	for _, m := range lost {
		after(l.odd.between(1, time.Millisecond), func() { m.finish(errClosed) })
	}
	return nil
}

// Delay adds latency to each direction.
func (l *link) Delay(_ context.Context, id string, latency, jitter time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delays = append(l.delays, delay{id, latency, jitter})
	return nil
}

// Undelay ends it.
func (l *link) Undelay(_ context.Context, id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delays = slices.DeleteFunc(l.delays, func(d delay) bool { return d.id == id })
	return nil
}

// Reset breaks the connections: what is under way is lost. A client keeps one
// idle connection once it has opened one.
func (l *link) Reset(context.Context) (int, error) {
	l.mu.Lock()
	l.epoch++
	var broken []*message
	for _, w := range l.held {
		broken = append(broken, w.m)
	}
	broken = append(append(broken, l.lost...), l.flying...)
	l.held, l.lost, l.flying = nil, nil, nil
	n := len(broken)
	if l.used {
		n = max(n, 1)
	}
	l.mu.Unlock()
	broken = append(broken, l.c.forget(l)...)
	n = max(n, l.c.breakStreams(l))
	for _, m := range broken {
		after(l.odd.between(1, time.Millisecond), func() { m.finish(errReset) })
	}
	return n, nil
}

// abandon is the server's end of all connections of its own: it has died, or has
// refused one.
func (l *link) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used = false
}

// Probe sends a PING of its own.
func (l *link) Probe(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	m := newMessage(l, []any{"PING"})
	m.probe = true
	l.request(m)
	select {
	case <-m.finished():
	case <-ctx.Done():
		m.finish(ctx.Err())
	}
	if m.err != nil {
		return 0, m.err
	}
	if e, ok := m.reply.(error); ok {
		return 0, errors.Join(errors.New("PING"), e)
	}
	return time.Since(start), nil
}

// Counts are what the link has carried.
func (l *link) Counts() cluster.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}
