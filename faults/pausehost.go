package faults

import "context"

var pauseHost = Kind{
	Name: "pause-host", About: "stops a lock client with SIGSTOP: it notices nothing",
	Hosts: true, Heals: true,
	holds: []aspect{process},
	make:  func(c Controls, s Spec, _ string) Fault { return &pausedHost{c, s.Hosts, s.actor} },
}

type pausedHost struct {
	c     Controls
	hosts []string
	actor *actor
}

func (f *pausedHost) Start(ctx context.Context) (string, error) {
	return each(f.hosts, func(h string) (string, error) { return f.c.PauseHost(ctx, h) })
}

func (f *pausedHost) Heal(ctx context.Context) (string, error) {
	return each(f.hosts, func(h string) (string, error) {
		proof, err := f.c.ResumeHost(ctx, h)
		if by := f.actor.others(ending, h); err != nil && by != nobody { // a pause ends with the process
			return "it was killed meanwhile by " + by, nil
		}
		return proof, err
	})
}
