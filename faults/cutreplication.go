package faults

import (
	"context"
	"fmt"

	"lockchaos/cluster"
	"lockchaos/internal/concurrent"
)

var cutReplication = Kind{
	Name: "cut-replication", About: "cuts replicas off from their master, but from nobody else; their links seem up",
	Nodes: true, Heals: true, Failovers: true,
	Acts:  "its replicas",
	holds: []aspect{replicating},
	make: func(c Controls, s Spec, id string) Fault {
		return &replicationCut{c: c, id: id, nodes: s.Nodes, actor: s.actor}
	},
}

type replicationCut struct {
	c     Controls
	id    string
	nodes []string
	actor *actor
	links *links // from the replicas to the master of the start
}

// replicationProbe is a key that is written so that there is something to replicate.
const replicationProbe = "lockchaos:replication"

func (f *replicationCut) Start(ctx context.Context) (string, error) {
	g, err := groupOf(f.c)
	if err != nil {
		return "", err
	}
	master, err := g.Master(ctx)
	if err != nil {
		return "", err
	}
	for _, n := range f.nodes {
		if n == master {
			return "", fmt.Errorf("%s is the master: there is no replication to it", n)
		}
		if _, err := g.followed(ctx, n); err != nil { // else standing still would prove nothing
			return "", err
		}
	}
	f.links = newLinks(f.c, Spec{Hosts: f.nodes, Nodes: []string{master}, actor: f.actor}, f.id)
	if err := f.links.apply(ctx, cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
		return "", err
	}
	return f.lag(ctx, g, master)
}

// lag writes to the master and sees that the replicas do not get it. What was
// under way at the cut has come to them before, so that it cannot look like the write.
func (f *replicationCut) lag(ctx context.Context, g group, master string) (string, error) {
	if err := keepStill(ctx); err != nil {
		return "", err
	}
	before := map[string]replication{}
	for _, n := range f.nodes {
		var err error
		if before[n], err = g.replication(ctx, n); err != nil {
			return "", err
		}
	}
	if _, err := g.Command(ctx, master, "SET", cluster.Key(f.c, replicationProbe), f.id); err != nil {
		return "", err
	}
	written, err := g.replication(ctx, master)
	if err != nil {
		return "", err
	}
	if err := keepStill(ctx); err != nil {
		return "", err
	}
	return each(f.nodes, func(n string) (string, error) {
		now, err := g.replication(ctx, n)
		if err != nil {
			return "", err
		}
		if !now.replica || now.offset != before[n].offset || now.offset >= written.offset {
			return "", fmt.Errorf("not cut off: it was a %s and is a %s, after a write that brought %s to offset %d",
				before[n], now, master, written.offset)
		}
		return fmt.Sprintf("stands at offset %d, %s is at %d after a write", now.offset, master, written.offset), nil
	})
}

// keepStill waits until what was sent before has arrived, if it ever does.
func keepStill(ctx context.Context) error { return concurrent.Sleep(ctx, silence) }

func (f *replicationCut) Heal(ctx context.Context) (string, error) {
	if f.links == nil { // it never started
		return "nothing was cut", nil
	}
	g, err := groupOf(f.c)
	if err != nil {
		return "", err
	}
	if err := f.links.lift(ctx); err != nil {
		return "", err
	}
	return each(f.nodes, func(n string) (string, error) {
		proof, err := g.followed(ctx, n)
		return f.actor.excuse(n, proof, err)
	})
}
