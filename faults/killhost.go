package faults

import "context"

var killHost = Kind{
	Name: "kill-host", About: "ends a lock client with SIGKILL", Hosts: true,
	make: func(c Controls, s Spec, _ string) Fault { return &killedHost{c, s.Hosts, s.actor} },
}

type killedHost struct {
	c     Controls
	hosts []string
	actor *actor
}

func (f *killedHost) Start(ctx context.Context) (string, error) {
	f.actor.add(ending, 0, f.hosts...)
	return each(f.hosts, func(h string) (string, error) { return f.c.KillHost(ctx, h) })
}
