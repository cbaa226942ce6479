package local

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/cluster"
)

var (
	_ cluster.NodeControl = (*Cluster)(nil)
	_ cluster.Commander   = (*Cluster)(nil)
)

// Command sends a command to a node past all links.
func (c *Cluster) Command(ctx context.Context, name string, args ...any) (any, error) {
	addr, err := c.NodeAddr(name)
	if err == nil {
		err = c.noRedis(name)
	}
	if err != nil {
		return nil, err
	}
	v, err := c.pools.client(addr).Do(ctx, args...).Result()
	if errors.Is(err, goredislib.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %v: %w", name, args[0], err)
	}
	return v, nil
}

// PauseNode stops a node with SIGSTOP.
func (c *Cluster) PauseNode(ctx context.Context, name string) (string, error) {
	if _, ok := c.postgres[name]; ok {
		return c.withPostgres(name, func(n *pgNode) (string, error) { return n.pause(ctx) })
	}
	return c.withNode(name, func(n *node) (string, error) { return n.proc.pause(ctx) })
}

// ResumeNode lets a node go on with SIGCONT.
func (c *Cluster) ResumeNode(ctx context.Context, name string) (string, error) {
	if _, ok := c.postgres[name]; ok {
		return c.withPostgres(name, func(n *pgNode) (string, error) { return n.resume(ctx) })
	}
	return c.withNode(name, func(n *node) (string, error) { return n.proc.resume(ctx) })
}

// CrashNode kills a node with SIGKILL. Its port stays its own and refuses.
func (c *Cluster) CrashNode(ctx context.Context, name string) (string, error) {
	if _, ok := c.postgres[name]; ok {
		return c.withPostgres(name, func(n *pgNode) (string, error) { return n.crash(ctx) })
	}
	return c.withNode(name, func(n *node) (string, error) {
		proof, err := n.proc.crash(ctx)
		if err != nil {
			return "", err
		}
		_, err = ask(ctx, "", n.port.addr(), "PING")
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return "", fmt.Errorf("node %s: killed, yet %s does not refuse a connect: %v", name, n.port.addr(), err)
		}
		return proof + ", connect refused", nil
	})
}

// StartNode starts a node that has ended, on its old port and with its files.
func (c *Cluster) StartNode(ctx context.Context, name string) (string, error) {
	if _, ok := c.postgres[name]; ok {
		return c.withPostgres(name, func(n *pgNode) (string, error) { return n.restart(ctx) })
	}
	return c.withNode(name, func(n *node) (string, error) {
		if n.proc.exit() == "" {
			return "", fmt.Errorf("node %s runs already (pid %d): crash it first", name, n.proc.pid)
		}
		old := n.runID
		if err := n.start(ctx); err != nil {
			return "", err
		}
		if n.runID == old {
			return "", fmt.Errorf("node %s: after the start its run id is still %s", name, old)
		}
		return fmt.Sprintf("run id %.8s… → %.8s… (pid %d)", old, n.runID, n.proc.pid), nil
	})
}

// withNode calls f with the node's control held.
func (c *Cluster) withNode(name string, f func(*node) (string, error)) (string, error) {
	n, ok := c.nodes[name]
	if !ok {
		return "", fmt.Errorf("there is no node %q; %s", name, c.members())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.port == nil {
		return "", fmt.Errorf("node %s: the cluster is closed", name)
	}
	return f(n)
}

// reach returns a node and where it listens, for what asks the server: the control of
// a node is not held for that, as whoever lets a stopped server go on needs it.
func (c *Cluster) reach(name string) (n *node, addr string, err error) {
	addr, err = c.withNode(name, func(found *node) (string, error) {
		n = found
		return n.port.addr(), nil
	})
	return n, addr, err
}

// halted tells that the process of a node is stopped, as one is that was paused.
func (n *node) halted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	st, err := statOf(n.proc.pid)
	return err == nil && st.state == "T"
}

// RunID is the run id that a node had when it was last started; empty for an unknown node.
func (c *Cluster) RunID(name string) string {
	if s, ok := c.outside.Servers[name]; ok {
		return s.RunID()
	}
	n, ok := c.nodes[name]
	if !ok {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.runID
}
