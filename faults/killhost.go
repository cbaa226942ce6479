package faults

import "context"

var killHost = Kind{
	Name: "kill-host", About: "ends a lock client with SIGKILL", Hosts: true,
	make: func(c Controls, s Spec, _ string) Fault { return &killedHost{c, s.Hosts} },
}

type killedHost struct {
	c     Controls
	hosts []string
}

func (f *killedHost) Start(ctx context.Context) (string, error) {
	return each(f.hosts, func(h string) (string, error) { return f.c.KillHost(ctx, h) })
}
