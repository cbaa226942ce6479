package sim

import (
	"slices"
	"time"

	"lockchaos/cluster"
)

// group is what a cluster with replicas and Sentinels has besides: a role for
// each lock node, and the links between them.
//
// Nothing in it has a goroutine. All that a replica or a Sentinel does is done
// when a message arrives or a timer fires, each at an instant of its own, with
// the cluster's mutex held.
type group struct {
	first     string   // the first master
	data      []string // nodes that keep locks, in their order
	sentinels []string
	prefer    string // the replica that Sentinels like best

	closed bool
}

// timing are the periods of replicas and Sentinels. They are those of the group
// on real servers.
var timing = struct {
	cron time.Duration // of a data node

	tick              [2]time.Duration // of a Sentinel: from, to
	ping, info, ask   time.Duration
	publish           time.Duration // of what a Sentinel knows
	downAfter         time.Duration // without an answer a node is taken for down
	failover          time.Duration // how long one may take
	desync            time.Duration
	election          time.Duration
	tilt, tiltTrigger time.Duration
}{
	cron: time.Second,

	tick: [2]time.Duration{52 * time.Millisecond, 100 * time.Millisecond},
	ping: time.Second, info: 10 * time.Second, ask: time.Second,
	publish:   2 * time.Second,
	downAfter: 300 * time.Millisecond, failover: 3 * time.Second, desync: time.Second, election: 3 * time.Second,
	tilt: 30 * time.Second, tiltTrigger: 2 * time.Second,
}

// quorum is how many Sentinels must agree that a master is down.
const quorum = 2

// newGroup is nil where the spec has neither replicas nor Sentinels.
func newGroup(spec cluster.Spec) *group {
	g := &group{}
	for _, n := range spec.Nodes {
		switch {
		case n.Name == cluster.Resource:
			continue
		case n.Role == cluster.RoleSentinel:
			g.sentinels = append(g.sentinels, n.Name)
			continue
		case n.Role == cluster.RolePrimary && g.first == "":
			g.first = n.Name
		case n.Prefer:
			g.prefer = n.Name
		}
		g.data = append(g.data, n.Name)
	}
	replicas := slices.ContainsFunc(spec.Nodes, func(n cluster.NodeSpec) bool { return n.Role == cluster.RoleReplica })
	if !replicas && len(g.sentinels) == 0 {
		return nil
	}
	return g
}

// peers are all nodes that talk to each other.
func (g *group) peers() []string { return slices.Concat(g.data, g.sentinels) }

// form links the nodes of a group and gives each its part.
func (c *Cluster) form(draw func(...string) *draws) {
	g := c.group
	for _, from := range g.peers() {
		for _, to := range g.peers() {
			if from != to {
				c.links[[2]string{from, to}] = c.newLink(from, to, draw("odd", from, to), [lanes]*draws{}, draw)
			}
		}
	}
	for _, n := range c.spec.Nodes {
		s := c.servers[n.Name]
		switch {
		case n.Role == cluster.RoleSentinel:
			s.sentinel = newSentinel(c, s, draw("sentinel", n.Name))
		case slices.Contains(g.data, n.Name):
			s.copies = newCopies(c, s, n, draw("replication", n.Name))
		}
	}
}

// deliver does to a server what has arrived or fallen due: at once, when it goes
// on where it is stopped, and not at all where it has died since. mu is held.
func (s *server) deliver(life int, do func()) {
	switch {
	case s.down || s.life != life:
	case s.paused:
		s.late = append(s.late, func() { s.deliver(life, do) })
	default:
		do()
	}
}

// every lets something fall due again and again, for as long as the cluster is up.
func (c *Cluster) every(s *server, wait func() time.Duration, do func()) {
	after(wait(), func() {
		c.mu.Lock()
		closed := c.group.closed
		// A stopped process misses its timers; one that is down has none.
		if !closed && !s.down && !s.paused {
			do()
		}
		c.mu.Unlock()
		if !closed {
			c.every(s, wait, do)
		}
	})
}

// send sends a command from one node of a group to another. then gets its reply,
// or an error where none will come.
func (c *Cluster) send(from *server, to string, then func(reply any, err error), args ...any) {
	l, life := c.link(from.name, to), from.life
	m := newMessage(l, args)
	m.then = func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		from.deliver(life, func() {
			if e, is := m.reply.(error); is && err == nil {
				err = e
			}
			then(m.reply, err)
		})
	}
	l.request(m)
}

// push sends a reply that nobody asked for over a link: a write to a replica, a
// message to a subscriber. Those of one link stay in order.
func (c *Cluster) push(l *link, size int64, then func(err error)) {
	m := newMessage(l, []any{"PUSH"})
	m.pushed, m.bytes, m.then = true, size, then
	l.respond(m)
}
