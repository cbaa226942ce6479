package faults

import (
	"context"
	"fmt"
	"time"

	"lockchaos/cluster"
	"lockchaos/internal/concurrent"
	"lockchaos/locks"
)

var delay = Kind{
	Name: "delay", About: "adds latency to each direction of the links",
	Hosts: true, Nodes: true, Heals: true, Takes: []string{"latency", "jitter"},
	check: checkDelay,
	draw: func(d *drawer, s *Spec) {
		s.Latency = locks.Duration(d.about(50 * time.Millisecond))
		s.Jitter = s.Latency / 2
	},
	make: func(c Controls, s Spec, id string) Fault {
		return &delayed{newLinks(c, s, id), s.Latency.D(), s.Jitter.D()}
	},
}

// mostLatency is what a fault can still prove in the time that it has.
const mostLatency = locks.Duration(5 * time.Second)

func checkDelay(s Spec) error {
	switch {
	case s.Latency <= 0:
		return &KeyError{"", "delay needs a latency"}
	case s.Latency > mostLatency:
		return &KeyError{"latency", fmt.Sprintf("%s, expected at most %s", s.Latency, mostLatency)}
	case s.Jitter < 0 || s.Jitter >= s.Latency:
		return &KeyError{"jitter", fmt.Sprintf("%s, expected 0 or more, and below the latency", s.Jitter)}
	}
	return nil
}

type delayed struct {
	*links
	latency, jitter time.Duration
}

func (f *delayed) Start(ctx context.Context) (string, error) {
	f.actor.add(stirred, 0, f.names...)
	err := f.all(func(l cluster.Link) error { return l.Delay(ctx, f.id, f.latency, f.jitter) })
	if err != nil {
		return "", err
	}
	// There and back, each with the least that the jitter leaves.
	least := 2 * (f.latency - f.jitter)
	if least <= 0 {
		return "", fmt.Errorf("a latency of %s with a jitter of %s cannot be told from none", f.latency, f.jitter)
	}
	f.actor.add(lateness, least, f.names...)
	for i := range f.links.links {
		if err := f.late(ctx, i, least); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("PING took at least %s on %d link(s)", least, len(f.links.links)), nil
}

// late sees that a PING of a link takes what all delays add to it together. What waits
// in a link may be let go when another delay of it starts or ends: then the PING has
// shown nothing, and there is another, for a while; so it is where a reset breaks its connection.
func (f *delayed) late(ctx context.Context, i int, least time.Duration) error {
	name, end := f.names[i], time.Now().Add(answer)
	for {
		want := least
		if !f.optional { // of which no proof is asked
			want = max(least, f.actor.latency(name))
		}
		before, since := f.actor.others(stirred, name), f.actor.now()
		pctx, cancel := context.WithTimeout(ctx, answer+4*(f.latency+f.jitter))
		rtt, err := f.links.links[i].Probe(pctx)
		cancel()
		if err != nil && f.torn(since, i) {
			continue
		}
		if err != nil {
			return fmt.Errorf("link %s: %w: %w", name, errUnanswered, err)
		}
		if rtt >= want {
			return nil
		}
		alone := before == nobody && f.actor.others(stirred, name) == nobody
		if alone || time.Now().After(end) {
			return fmt.Errorf("link %s answered a PING in %s, expected %s or more", name, rtt, want)
		}
		_ = concurrent.Sleep(ctx, settle) // its end is that of the next probe, too
	}
}

func (f *delayed) Heal(ctx context.Context) (string, error) {
	f.actor.drop(lateness)
	err := f.all(func(l cluster.Link) error { return l.Undelay(ctx, f.id) })
	if err != nil {
		return "", err
	}
	return f.answers(ctx, "PING answered in")
}
