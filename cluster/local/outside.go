package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"lockchaos/cluster"
)

// Server is a node that this machine did not start.
type Server struct {
	// Dial connects to the server. What comes over the connection are its replies
	// and nothing else: whoever must log in, or wrap the bytes, does so in Dial.
	Dial func(ctx context.Context) (net.Conn, error)
	// RunID is that of the server's process, for the proof of a failover.
	RunID func() string
}

// Outside is what belongs to a cluster and is not of this machine.
type Outside struct {
	// Servers are nodes of the spec by name; the others are started here.
	Servers map[string]Server
	// Announced is where each node that has to do with others says that it is to
	// be found: a loopback address that stands for it on whatever machine its
	// peers are. Without it addresses are made up here.
	Announced map[string]netip.AddrPort
	// Part says that somebody else sees all nodes, and waits until they have found
	// each other.
	Part bool
}

// UpWith is Up with nodes that are not of this machine.
func (m *Machine) UpWith(ctx context.Context, spec cluster.Spec, out Outside) (*Cluster, error) {
	if err := validate(spec); err != nil {
		return nil, err
	}
	c := newCluster(m, spec, out)
	if err := m.enter(c); err != nil {
		return nil, fmt.Errorf("cluster %q: %w", spec.Name, err)
	}
	if err := c.up(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("cluster %q: %w", spec.Name, err), c.Close())
	}
	return c, nil
}

// elsewhere tells that a node is not of this machine.
func (c *Cluster) elsewhere(node string) bool {
	_, ok := c.outside.Servers[node]
	return ok
}

// openFronts gives each server that is elsewhere an address here.
func (c *Cluster) openFronts() error {
	for name, s := range c.outside.Servers {
		f, err := openFront(name, s.Dial)
		if err != nil {
			return err
		}
		c.fronts[name] = f
	}
	return nil
}
