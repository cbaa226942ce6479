package remote

import (
	"context"
	"fmt"
	"time"
)

// on does something to a node by its agent.
func (c *Cluster) on(ctx context.Context, node, do string, q control) (string, error) {
	if s, ok := c.loan.nodes[node]; ok {
		if do != doJump {
			return "", notOurs(node, do, s)
		}
		return s.jump(ctx, c.loan.prefix, q.By)
	}
	a, ok := c.agents[node]
	if !ok {
		return "", fmt.Errorf("there is no node %q", node)
	}
	return a.control(ctx, do, q)
}

// notOurs is the answer to what cannot be done to a plain server. Scenarios that
// want it are refused before they run.
func notOurs(node, do string, s *plainServer) error {
	return fmt.Errorf("node %s: %s: it is a plain server, which we did not start: %s", node, do, s)
}

// Command sends a command to a node past all links; not to a plain server, to which
// nobody here is an operator.
func (c *Cluster) Command(ctx context.Context, node string, args ...any) (any, error) {
	if s, ok := c.loan.nodes[node]; ok {
		return nil, notOurs(node, "a command past all links", s)
	}
	return c.Cluster.Command(ctx, node, args...)
}

// PauseNode stops a node with SIGSTOP.
func (c *Cluster) PauseNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doPause, control{})
}

// ResumeNode lets a node go on with SIGCONT.
func (c *Cluster) ResumeNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doResume, control{})
}

// CrashNode kills a node with SIGKILL.
func (c *Cluster) CrashNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doCrash, control{})
}

// StartNode starts a node that has ended, with its files.
func (c *Cluster) StartNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doStart, control{})
}

// JumpClock sets the clock of a node.
func (c *Cluster) JumpClock(ctx context.Context, node string, by time.Duration) (string, error) {
	return c.on(ctx, node, doJump, control{By: by})
}

// SetClockRate sets the rate of a node's clock.
func (c *Cluster) SetClockRate(ctx context.Context, node string, rate float64) (string, error) {
	return c.on(ctx, node, doRate, control{Rate: rate})
}

// SyncNode waits until what the node has written is on disk.
func (c *Cluster) SyncNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doSync, control{})
}

// CutPower kills a node and cuts its file.
func (c *Cluster) CutPower(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doCut, control{})
}

// EvictKeys makes a node drop the keys that it has.
func (c *Cluster) EvictKeys(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doEvict, control{})
}

// FreeMemory ends that.
func (c *Cluster) FreeMemory(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doFree, control{})
}

// SlowNode makes each answer of a node take about that much longer.
func (c *Cluster) SlowNode(ctx context.Context, node string, latency time.Duration) (string, error) {
	return c.on(ctx, node, doSlow, control{By: latency})
}

// HurryNode ends that.
func (c *Cluster) HurryNode(ctx context.Context, node string) (string, error) {
	return c.on(ctx, node, doHurry, control{})
}
