package faults

import (
	"context"
	"fmt"
)

var restartNode = Kind{
	Name: "restart-node", About: "kills a lock server with SIGKILL and starts it again, at once or after the time down",
	Nodes: true, Takes: []string{"down"}, check: checkDown,
	Acts:  "its process",
	holds: anew,
	make: func(c Controls, s Spec, _ string) Fault {
		if s.Down > 0 { // the schedule starts it again, as the run goes on meanwhile
			return &crashedNode{c, s.Nodes}
		}
		return &restartedNode{c, s.Nodes}
	},
}

func checkDown(s Spec) error {
	if s.Down < 0 || s.Most > 0 && s.Down > s.Most {
		return &KeyError{"down", fmt.Sprintf("%s, expected above 0, at most %s", s.Down, s.Most)}
	}
	return nil
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
