package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
)

// How long a simulated server takes to start.
const startTime = 20*time.Millisecond + 1

// PauseHost stops a host.
func (c *Cluster) PauseHost(_ context.Context, name string) (string, error) {
	return c.withHost(name, (*process).pause)
}

// ResumeHost lets it go on.
func (c *Cluster) ResumeHost(_ context.Context, name string) (string, error) {
	return c.withHost(name, (*process).unpause)
}

// KillHost ends it.
func (c *Cluster) KillHost(_ context.Context, name string) (string, error) {
	return c.withHost(name, (*process).kill)
}

// withHost calls f with a host.
func (c *Cluster) withHost(name string, f func(*process) (string, error)) (string, error) {
	c.mu.Lock()
	p, ok := c.hosts[name]
	c.mu.Unlock()
	if !ok {
		return "", fmt.Errorf("there is no host %q", name)
	}
	return f(p)
}

var (
	errNodeDown = errors.New("the node does not run")
	errNodeUp   = errors.New("the node runs already")
)

// PauseNode stops a node: what arrives waits.
func (c *Cluster) PauseNode(_ context.Context, name string) (string, error) {
	return c.withNode(name, func(s *server) (string, error) {
		if s.down || s.paused {
			return "", errNodeDown
		}
		s.paused = true
		return "simulated process state T", nil
	})
}

// ResumeNode lets a node go on with what has arrived.
func (c *Cluster) ResumeNode(_ context.Context, name string) (string, error) {
	var queue []*message
	var late []func()
	proof, err := c.withNode(name, func(s *server) (string, error) {
		if s.down {
			return "", errNodeDown
		}
		s.paused = false
		queue, s.queue = s.queue, nil
		late, s.late = s.late, nil
		return "simulated process state R", nil
	})
	c.catchUp(queue)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, do := range late {
		do()
	}
	return proof, err
}

// CrashNode kills a node: all that waits there is lost.
func (c *Cluster) CrashNode(_ context.Context, name string) (string, error) {
	return c.kill(name, func(s *server) (string, error) {
		s.node.Crash()
		return "simulated process killed, connections refused", nil
	})
}

// kill ends a node, in the way that end does it.
func (c *Cluster) kill(name string, end func(*server) (proof string, err error)) (string, error) {
	var queue []*message
	proof, err := c.withNode(name, func(s *server) (string, error) {
		if s.down {
			return "", errNodeDown
		}
		s.down, s.paused = true, false
		queue, s.queue, s.busy = s.queue, nil, time.Time{}
		defer c.die(s)
		for _, l := range c.links {
			if l.server == s {
				l.abandon()
			}
		}
		return end(s)
	})
	for _, m := range queue {
		after(m.link.odd.between(1, time.Millisecond), func() { m.finish(errClosed) })
	}
	return proof, err
}

// StartNode starts a crashed node again.
func (c *Cluster) StartNode(_ context.Context, name string) (string, error) {
	time.Sleep(startTime)
	return c.withNode(name, func(s *server) (string, error) {
		if !s.down {
			return "", errNodeUp
		}
		s.node.Start()
		s.down = false
		s.wake()
		return "run id " + s.node.RunID(), nil
	})
}

func (c *Cluster) server(name string) (*server, error) {
	if s, ok := c.servers[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

// withNode calls f with a node, and with mu held.
func (c *Cluster) withNode(name string, f func(*server) (string, error)) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return f(s)
}

// Command sends a command to a node at once, past all links.
func (c *Cluster) Command(ctx context.Context, name string, args ...any) (any, error) {
	s, ok := c.servers[name]
	if !ok {
		return nil, fmt.Errorf("there is no node %q", name)
	}
	v, err := direct{c, s}.do(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("node %s: %v: %w", name, args[0], err)
	}
	return v, nil
}

// direct reaches a node at once, past all links.
type direct struct {
	c *Cluster
	s *server
}

func (d direct) Get(ctx context.Context) (redis.Conn, error) { return &conn{d, ctx}, nil }

func (d direct) do(_ context.Context, args ...any) (any, error) {
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	if d.s.down || d.s.paused {
		return nil, errRefused
	}
	m := newMessage(nil, args)
	if _, err := d.c.perform(d.s, m); err != nil {
		return nil, err
	}
	return value(m.reply)
}
