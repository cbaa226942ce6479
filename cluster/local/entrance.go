package local

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"lockchaos/cluster"
)

// entrance is where the other nodes find a node: the address that it announces.
// Who comes in is known by the source address, as each node dials from one of
// its own, and is led to the link from that node.
//
//	n2 (127.0.1.2) ─► entrance of n1 ─► link n2→n1 ─► n1
//	s1 (127.0.1.4) ─►                └► link s1→n1 ─►
type entrance struct {
	node     string
	listener net.Listener
	links    map[netip.Addr]*Link // by source; not changed after serve
}

func openEntrance(node string, at netip.AddrPort) (*entrance, error) {
	ln, err := net.Listen("tcp4", at.String())
	if err != nil {
		return nil, fmt.Errorf("node %s: cannot listen on %s for its peers: %w", node, at, err)
	}
	return &entrance{node: node, listener: ln, links: map[netip.Addr]*Link{}}, nil
}

func (e *entrance) addr() netip.AddrPort { return e.listener.Addr().(*net.TCPAddr).AddrPort() }

// serve leads in who comes, until close. Until it runs, connections wait.
func (e *entrance) serve() {
	for {
		c, err := e.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a peer that went away while it was accepted
		}
		tcp := c.(*net.TCPConn)
		from, _ := netip.ParseAddrPort(c.RemoteAddr().String())
		l, ok := e.links[from.Addr()]
		if !ok { // past all links no fault would reach it
			slog.Warn("only peers may dial a node by the address that it announces", "node", e.node, "from", from)
			_ = tcp.SetLinger(0)
			_ = tcp.Close()
			continue
		}
		l.admit(tcp)
	}
}

func (e *entrance) close() { _ = e.listener.Close() }

// sourceOf is the address that the i-th node of a cluster dials from: all of
// 127.0.0.0/8 is this machine.
func sourceOf(i int) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 1, byte(i + 1)}) }

// mostPeers is how many nodes can have a source address of their own.
const mostPeers = 200

// validatePeers wants one master to begin with.
func validatePeers(spec cluster.Spec) error {
	if !failsOver(spec) {
		return nil
	}
	masters := 0
	for _, n := range spec.Nodes {
		switch {
		case !slices.Contains([]string{cluster.RolePrimary, cluster.RoleReplica, cluster.RoleSentinel}, n.Role):
			return fmt.Errorf("cluster %q: node %s: unknown role %q", spec.Name, n.Name, n.Role)
		case n.Role == cluster.RolePrimary && n.Name != cluster.Resource:
			masters++
		}
	}
	if masters != 1 || len(spec.Nodes) > mostPeers {
		return fmt.Errorf("cluster %q: %d masters to begin with among %d nodes, expected one among at most %d",
			spec.Name, masters, len(spec.Nodes), mostPeers)
	}
	return nil
}

// anyPort is a free port of this machine.
var anyPort = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

// openEntrances gives each node an address that it announces, where nodes have to
// do with each other, and each node that is here a source address. It opens the
// entrances that nodes here need.
func (c *Cluster) openEntrances() error {
	if !failsOver(c.spec) {
		return nil
	}
	for i, s := range c.spec.Nodes {
		if s.Name == cluster.Resource {
			continue
		}
		if !c.elsewhere(s.Name) {
			c.sources[s.Name] = sourceOf(i)
		}
		at, given := c.outside.Announced[s.Name]
		c.announced[s.Name] = at
		if given && !c.wanted(s.Name) {
			continue
		}
		if !given {
			at = anyPort
		}
		e, err := openEntrance(s.Name, at)
		if err != nil {
			return err
		}
		c.entrances[s.Name], c.announced[s.Name] = e, e.addr()
	}
	return nil
}

// wanted tells that a node which is here has a node as its peer.
func (c *Cluster) wanted(node string) bool {
	return slices.ContainsFunc(c.spec.Nodes, func(s cluster.NodeSpec) bool {
		return s.Name != node && s.Name != cluster.Resource && !c.elsewhere(s.Name)
	})
}

// peers are the pairs of nodes that can have to do with each other, from those that are here.
func (c *Cluster) peers() []pair {
	var pairs []pair
	for near := range c.sources {
		for far := range c.entrances {
			if near != far {
				pairs = append(pairs, pair{near, far})
			}
		}
	}
	return pairs
}

// admitPeers leads peers to their links from now on.
func (c *Cluster) admitPeers() {
	for p, l := range c.links {
		if source, ok := c.sources[p.host]; ok {
			c.entrances[p.node].links[source] = l
		}
	}
	for _, e := range c.entrances {
		c.admitting.Go(e.serve)
	}
}

// announces is the node that announces an address; empty if none.
func (c *Cluster) announces(addr string) string {
	for name, at := range c.announced {
		if at.String() == addr {
			return name
		}
	}
	return ""
}
