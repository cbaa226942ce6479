package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/internal/concurrent"
)

// Cluster is a cluster whose nodes are behind agents. Hosts, links and what is
// asked of nodes past them are those of cluster/local.
type Cluster struct {
	*local.Cluster
	spec   cluster.Spec
	agents map[string]*client // by node; not changed after Up
	loan   *loan              // of the nodes that are plain servers

	once sync.Once
	err  error
}

var (
	_ cluster.Cluster      = (*Cluster)(nil)
	_ cluster.NodeControl  = (*Cluster)(nil)
	_ cluster.ClockControl = (*Cluster)(nil)
	_ cluster.Conditions   = (*Cluster)(nil)
	_ cluster.Failovers    = (*Cluster)(nil)
)

// holdLimit is how long an agent is waited for that another runner has.
const holdLimit = 10 * time.Second

// Up brings the nodes up behind their agents, and links to them here. After an
// error nothing is left of it.
func (p *Placement) Up(ctx context.Context, spec cluster.Spec) (*Cluster, error) {
	c := &Cluster{spec: spec, agents: map[string]*client{}, loan: p.fleet.plains.lend(p.members)}
	c.spec.KeyPrefix = c.loan.prefix
	if err := c.up(ctx, p); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) up(ctx context.Context, p *Placement) error {
	if err := c.note(p); err != nil {
		return err
	}
	if err := c.loan.answers(ctx); err != nil {
		return err
	}
	hctx, cancel := context.WithTimeoutCause(ctx, holdLimit, errHeld)
	defer cancel()
	var mu sync.Mutex
	err := concurrent.Each(c.supervised(), func(n cluster.NodeSpec) error {
		a, err := hold(hctx, p.members[n.Name], p.fleet.token, c.spec.Name)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			c.agents[n.Name] = a
		}
		return err
	})
	if err != nil {
		return err
	}
	out := local.Outside{Servers: c.loan.outside(), Announced: announced(c.spec)}
	for name, a := range c.agents {
		out.Servers[name] = local.Server{
			Dial:  func(ctx context.Context) (net.Conn, error) { return dialTunnel(ctx, a.addr, a.token) },
			RunID: a.RunID,
		}
	}
	if err := concurrent.Each(c.supervised(), func(n cluster.NodeSpec) error { return c.start(ctx, n.Name, out.Announced) }); err != nil {
		return err
	}
	c.Cluster, err = p.fleet.machine.UpWith(ctx, c.spec, out)
	return err
}

// supervised are the nodes that are behind agents.
func (c *Cluster) supervised() []cluster.NodeSpec {
	return slices.DeleteFunc(slices.Clone(c.spec.Nodes), func(n cluster.NodeSpec) bool { return c.loan.nodes[n.Name] != nil })
}

// start has an agent run its node.
func (c *Cluster) start(ctx context.Context, name string, announced map[string]netip.AddrPort) error {
	j := job{Spec: c.spec, Self: name}
	j.Spec.Hosts, j.Spec.Logs = nil, ""
	if _, ok := announced[name]; ok {
		j.Announced, j.Peers = announced, map[string]string{}
		for peer := range announced {
			if peer != name {
				j.Peers[peer] = c.agents[peer].addr
			}
		}
	}
	_, err := c.agents[name].call(ctx, http.MethodPut, pathNode, j)
	return err
}

// announcedPort is the port of all announced addresses; nothing else is likely to
// listen on that of such an address.
const announcedPort = 7377

// announced gives each node that has to do with others a loopback address that
// stands for it in every agent.
func announced(spec cluster.Spec) map[string]netip.AddrPort {
	out := map[string]netip.AddrPort{}
	for i, n := range spec.Nodes {
		switch roleOf(spec, n) {
		case RoleMaster, RoleReplica, RoleSentinel:
			out[n.Name] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 91, 0, byte(i + 1)}), announcedPort)
		}
	}
	return out
}

// note writes down where the nodes are.
func (c *Cluster) note(p *Placement) error {
	if c.spec.Logs == "" {
		return nil
	}
	var b strings.Builder
	for _, n := range c.spec.Nodes {
		m := p.members[n.Name]
		if m.isPlain() {
			fmt.Fprintf(&b, "%s is %s, a plain server at %s, with keys %s\n", n.Name, m.Name, m.Server, cluster.Under(c.loan.prefix))
			continue
		}
		fmt.Fprintf(&b, "%s is %s, behind the agent at %s\n", n.Name, m.Name, m.Agent)
	}
	if err := os.MkdirAll(c.spec.Logs, 0o755); err != nil {
		return fmt.Errorf("cannot make the log directory: %w", err)
	}
	return os.WriteFile(filepath.Join(c.spec.Logs, "nodes.log"), []byte(b.String()), 0o644)
}

// Link is the way from a host to a node, or from a node to another.
func (c *Cluster) Link(from, to string) cluster.Link {
	if a, ok := c.agents[from]; ok {
		return &link{agent: a, peer: to}
	}
	return c.Cluster.Link(from, to)
}

// Close ends hosts, links and nodes, and fetches the logs of these. It may be called twice.
func (c *Cluster) Close() error {
	c.once.Do(func() { c.err = c.close() })
	return c.err
}

func (c *Cluster) close() error {
	var err error
	if c.Cluster != nil {
		err = c.Cluster.Close()
	}
	err = errors.Join(err, c.loan.giveBack()) // nobody writes any more
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var nodes []cluster.NodeSpec
	for _, n := range c.spec.Nodes {
		if c.agents[n.Name] != nil {
			nodes = append(nodes, n)
		}
	}
	return errors.Join(err, concurrent.Each(nodes, func(n cluster.NodeSpec) error {
		a := c.agents[n.Name]
		if c.spec.Logs != "" {
			_ = a.saveLog(ctx, filepath.Join(c.spec.Logs, n.Name+".log")) // a node that was never up has none
		}
		return a.close(ctx)
	}))
}
