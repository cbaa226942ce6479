package faults

import "context"

var pauseHost = Kind{
	Name: "pause-host", About: "stops a lock client with SIGSTOP: it notices nothing",
	Hosts: true, Heals: true,
	make: func(c Controls, s Spec, _ string) Fault { return &pausedHost{c, s.Hosts} },
}

type pausedHost struct {
	c     Controls
	hosts []string
}

func (f *pausedHost) Start(ctx context.Context) (string, error) {
	return each(f.hosts, func(h string) (string, error) { return f.c.PauseHost(ctx, h) })
}

func (f *pausedHost) Heal(ctx context.Context) (string, error) {
	return each(f.hosts, func(h string) (string, error) { return f.c.ResumeHost(ctx, h) })
}
