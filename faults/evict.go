package faults

import "context"

var evict = Kind{
	Name: "evict", About: "fills the memory of a lock server until its keys are evicted, least recently used first",
	Nodes: true, Data: true, Heals: true,
	Acts:  "the settings of its memory, and all its keys",
	holds: []aspect{memory}, needs: answering, awaits: true,
	make: func(c Controls, s Spec, _ string) Fault { return &evicted{c, s.Nodes} },
}

type evicted struct {
	c     Controls
	nodes []string
}

func (f *evicted) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.EvictKeys(ctx, n) })
}

func (f *evicted) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.FreeMemory(ctx, n) })
}
