package remote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/scenario"
)

// Loan is the use of plain servers for one run.
type Loan struct {
	plains *Plains
	nodes  map[string]*plainServer // by node of the run
	prefix string
}

// Lend hands out plain servers by their names for the nodes of a run.
func (p *Plains) Lend(nodes map[string]string) (*Loan, error) {
	l := &Loan{plains: p, nodes: map[string]*plainServer{}, prefix: p.nextPrefix()}
	for node, name := range nodes {
		i := slices.IndexFunc(p.servers, func(s *plainServer) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("node %s: there is no plain server %q", node, name)
		}
		l.nodes[node] = p.servers[i]
	}
	return l, nil
}

// Prefix is that of all keys of the run.
func (l *Loan) Prefix() string { return l.prefix }

// Servers are the nodes as a machine's cluster takes them.
func (l *Loan) Servers() map[string]local.Server {
	list := map[string]local.Server{}
	for node, s := range l.nodes {
		list[node] = s.server()
	}
	return list
}

// Return deletes what the run has left. It may be called twice.
func (l *Loan) Return() error {
	var servers []*plainServer
	for _, s := range l.nodes {
		servers = append(servers, s)
	}
	return l.plains.sweep(l.prefix, servers)
}

// borrowed tells what a node is, where it is a plain server.
func (l *Loan) borrowed(node string) string {
	s, ok := l.nodes[node]
	if !ok {
		return ""
	}
	return fmt.Sprintf("a plain server, which we did not start: %s", s)
}

// Check says why a scenario cannot run on these servers. The error is one of the
// scenario, with its place where there is one.
func (l *Loan) Check(s *scenario.Scenario) error {
	if err := s.CheckBorrowed(l.borrowed); err != nil {
		return err
	}
	shifted := s.Clocks()
	if s.Hammer != nil && s.Hammer.Weights["clock-jump"] > 0 {
		shifted = s.DataNodes()
	}
	for _, n := range shifted {
		if p, ok := l.nodes[n]; ok && p.facts.keys > MostKeys {
			return fmt.Errorf("%s: clock-jump shifts TTLs by a script that looks at all keys of the server, in which time it serves nobody; %s is %s and has %d keys, expected at most %d",
				s.Name, n, l.borrowed(n), p.facts.keys, MostKeys)
		}
	}
	return nil
}

// Base is a cluster some of whose nodes are plain servers.
type Base interface {
	cluster.Cluster
	cluster.Addressed
	cluster.Prefixed
	cluster.HostControl
	cluster.NodeControl
	cluster.ClockControl
	cluster.Commander
	cluster.Conditions
	cluster.Failovers
}

// Cover puts the controls of plain servers over those of a cluster. Its Close
// returns the loan, too.
func (l *Loan) Cover(c Base) Base { return &covered{c, l} }

type covered struct {
	Base
	loan *Loan
}

// Close ends the cluster first: nobody may write any more.
func (c *covered) Close() error { return errors.Join(c.Base.Close(), c.loan.Return()) }

// JumpClock shifts the TTLs of the run's keys.
func (c *covered) JumpClock(ctx context.Context, node string, by time.Duration) (string, error) {
	s, ok := c.loan.nodes[node]
	if !ok {
		return c.Base.JumpClock(ctx, node, by)
	}
	proof, err := s.jump(ctx, c.loan.prefix, by)
	if err != nil {
		return "", fmt.Errorf("node %s: clock: %w", node, err)
	}
	return proof, nil
}

// refuse is the answer to what cannot be done to a plain server. Scenarios that
// want it are refused before they run; this is for those that came here all the same.
func (c *covered) refuse(node, what string) error {
	if is := c.loan.borrowed(node); is != "" {
		return fmt.Errorf("node %s cannot %s: it is %s", node, what, is)
	}
	return nil
}

func (c *covered) done(node, what string, do func() (string, error)) (string, error) {
	if err := c.refuse(node, what); err != nil {
		return "", err
	}
	return do()
}

func (c *covered) Command(ctx context.Context, node string, args ...any) (any, error) {
	if err := c.refuse(node, "be sent the commands of an operator"); err != nil {
		return nil, err
	}
	return c.Base.Command(ctx, node, args...)
}

func (c *covered) PauseNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be paused", func() (string, error) { return c.Base.PauseNode(ctx, n) })
}

func (c *covered) ResumeNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be resumed", func() (string, error) { return c.Base.ResumeNode(ctx, n) })
}

func (c *covered) CrashNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be killed", func() (string, error) { return c.Base.CrashNode(ctx, n) })
}

func (c *covered) StartNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be started", func() (string, error) { return c.Base.StartNode(ctx, n) })
}

func (c *covered) SetClockRate(ctx context.Context, n string, rate float64) (string, error) {
	return c.done(n, "have another rate of its clock", func() (string, error) { return c.Base.SetClockRate(ctx, n, rate) })
}

func (c *covered) SyncNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be synced", func() (string, error) { return c.Base.SyncNode(ctx, n) })
}

func (c *covered) CutPower(ctx context.Context, n string) (string, error) {
	return c.done(n, "lose its power", func() (string, error) { return c.Base.CutPower(ctx, n) })
}

func (c *covered) EvictKeys(ctx context.Context, n string) (string, error) {
	return c.done(n, "be made short of memory", func() (string, error) { return c.Base.EvictKeys(ctx, n) })
}

func (c *covered) FreeMemory(ctx context.Context, n string) (string, error) {
	return c.done(n, "have its memory freed", func() (string, error) { return c.Base.FreeMemory(ctx, n) })
}

func (c *covered) SlowNode(ctx context.Context, n string, latency time.Duration) (string, error) {
	return c.done(n, "be slowed", func() (string, error) { return c.Base.SlowNode(ctx, n, latency) })
}

func (c *covered) HurryNode(ctx context.Context, n string) (string, error) {
	return c.done(n, "be hurried", func() (string, error) { return c.Base.HurryNode(ctx, n) })
}
