package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster/sim/node"
)

// How long a simulated server takes to start.
const startTime = 20*time.Millisecond + 1

func (c *Cluster) process(name string) (*process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.hosts[name]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("there is no host %q", name)
}

// PauseHost stops a host.
func (c *Cluster) PauseHost(_ context.Context, name string) (string, error) {
	p, err := c.process(name)
	if err != nil {
		return "", err
	}
	return p.pause()
}

// ResumeHost lets it go on.
func (c *Cluster) ResumeHost(_ context.Context, name string) (string, error) {
	p, err := c.process(name)
	if err != nil {
		return "", err
	}
	return p.unpause()
}

// KillHost ends it.
func (c *Cluster) KillHost(_ context.Context, name string) (string, error) {
	p, err := c.process(name)
	if err != nil {
		return "", err
	}
	return p.kill()
}

func (c *Cluster) server(name string) (*server, error) {
	if s, ok := c.servers[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

// PauseNode stops a node: what arrives waits.
func (c *Cluster) PauseNode(_ context.Context, name string) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.down || s.paused {
		return "", errNodeStopped
	}
	s.paused = true
	return "simulated process state T", nil
}

// ResumeNode lets a node go on with what has arrived.
func (c *Cluster) ResumeNode(_ context.Context, name string) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	if s.down {
		c.mu.Unlock()
		return "", errNodeStopped
	}
	s.paused = false
	queue := s.queue
	s.queue = nil
	c.mu.Unlock()
	for _, m := range queue {
		c.arrive(m)
	}
	return "simulated process state R", nil
}

// CrashNode kills a node: all that waits there is lost.
func (c *Cluster) CrashNode(_ context.Context, name string) (string, error) {
	if _, err := c.kill(name, (*node.Node).Crash); err != nil {
		return "", err
	}
	return "simulated process killed, connections refused", nil
}

// kill ends a node in one of two ways.
func (c *Cluster) kill(name string, end func(*node.Node)) (*server, error) {
	s, err := c.server(name)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if s.down {
		c.mu.Unlock()
		return nil, errNodeStopped
	}
	s.down, s.paused = true, false
	queue := s.queue
	s.queue, s.busy = nil, time.Time{}
	end(s.node)
	c.mu.Unlock()
	for _, m := range queue {
		after(m.link.odd.between(1, time.Millisecond), func() { m.finish(errClosed) })
	}
	return s, nil
}

// StartNode starts a crashed node again.
func (c *Cluster) StartNode(_ context.Context, name string) (string, error) {
	s, err := c.server(name)
	if err != nil {
		return "", err
	}
	time.Sleep(startTime)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !s.down {
		return "", errors.New("the node runs already")
	}
	s.node.Start()
	s.down = false
	return "run id " + s.node.RunID(), nil
}

// Command sends a command to a node at once, past all links.
func (c *Cluster) Command(ctx context.Context, name string, args ...any) (any, error) {
	s, err := c.server(name)
	if err != nil {
		return nil, err
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

func (d direct) Get(ctx context.Context) (redis.Conn, error) { return &conn{d.do, ctx}, nil }

func (d direct) do(_ context.Context, args ...any) (any, error) {
	d.c.mu.Lock()
	defer d.c.mu.Unlock()
	if d.s.down || d.s.paused {
		return nil, errRefused
	}
	return value(d.s.node.Do(args...))
}
