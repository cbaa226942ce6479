package faults

import "context"

var crashNode = Kind{
	Name: "crash-node", About: "kills a lock server with SIGKILL; at its end the server is started again",
	Nodes: true, Heals: true,
	Acts:  "its process",
	holds: anew,
	make:  func(c Controls, s Spec, _ string) Fault { return &crashedNode{c, s.Nodes} },
}

type crashedNode struct {
	c     Controls
	nodes []string
}

func (f *crashedNode) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.CrashNode(ctx, n) })
}

func (f *crashedNode) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.StartNode(ctx, n) })
}
