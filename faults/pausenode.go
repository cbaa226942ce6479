package faults

import "context"

var pauseNode = Kind{
	Name: "pause-node", About: "stops a lock server with SIGSTOP: connections stay open, nobody answers",
	Nodes: true, Heals: true,
	Acts:  "its process",
	holds: stopped,
	make:  func(c Controls, s Spec, _ string) Fault { return &pausedNode{c, s.Nodes} },
}

type pausedNode struct {
	c     Controls
	nodes []string
}

func (f *pausedNode) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.PauseNode(ctx, n) })
}

func (f *pausedNode) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) { return f.c.ResumeNode(ctx, n) })
}
