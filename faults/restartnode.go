package faults

import "context"

var restartNode = Kind{
	Name: "restart-node", About: "kills a lock server with SIGKILL and starts it again at once", Nodes: true,
	make: func(c Controls, s Spec, _ string) Fault { return &restartedNode{c, s.Nodes} },
}

type restartedNode struct {
	c     Controls
	nodes []string
}

func (f *restartedNode) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		down, err := f.c.CrashNode(ctx, n)
		if err != nil {
			return "", err
		}
		up, err := f.c.StartNode(ctx, n)
		if err != nil || down == "" || up == "" {
			return "", err
		}
		return down + ", then " + up, nil
	})
}
