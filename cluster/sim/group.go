package sim

import (
	"slices"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
	"lockchaos/host"
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

// Times of nodes and Sentinels that Redis does not let be set, and those that are
// set alike for all.
const (
	cronPeriod = time.Second // of a node

	troubledInfo    = time.Second // between two INFO to a replica of a master in trouble
	shortestTick    = 52 * time.Millisecond
	longestTick     = 100 * time.Millisecond
	failoverTimeout = 2 * time.Second
	electionTimeout = failoverTimeout // 10 s, and no more than this
	mostDesync      = time.Second
	tiltTrigger     = 2 * time.Second
	tiltPeriod      = 500 * time.Millisecond
	parallelSyncs   = 2
)

// periods are what can be set for a Sentinel.
type periods struct {
	ping, info, ask, publish time.Duration
	downAfter                time.Duration // without an answer a node is taken for down
}

// periodsOf are those of the i-th Sentinel: as on real servers, where SENTINEL
// DEBUG shortens them so that a failover takes about a second.
func periodsOf(i int) periods {
	p := periods{
		ping: 400 * time.Millisecond, info: 100 * time.Millisecond, ask: time.Second, publish: 600 * time.Millisecond,
		downAfter: 2500 * time.Millisecond,
	}
	switch i { // one at a time notices, so that two do not vote for themselves at one time
	case 0:
		p.downAfter, p.ask = time.Second, 50*time.Millisecond
	case 1:
		p.downAfter = 600 * time.Millisecond
	}
	return p
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

// init is what a host is told to find the master.
func (g *group) init() *host.SentinelInit {
	s := &host.SentinelInit{Master: cluster.Service, Sentinels: g.sentinels, Addresses: map[string]string{}}
	for _, name := range g.peers() {
		s.Addresses[name] = name
	}
	return s
}

// disband ends a group: nothing arrives any more, and nothing falls due.
func (c *Cluster) disband() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.group == nil {
		return
	}
	c.group.closed = true
	for _, name := range c.group.peers() {
		c.servers[name].down = true
	}
}

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
			s.node = node.New(node.Options{Name: n.Name, Seed: uint64(c.seed)}) // for its run id
			s.sentinel = newSentinel(c, s, periodsOf(slices.Index(g.sentinels, n.Name)), draw("sentinel", n.Name))
		case slices.Contains(g.data, n.Name):
			s.copies = newCopies(c, s, n, draw("cron", n.Name), draw("wait", n.Name))
		}
	}
	c.pair()
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

// die is what a crash takes from a node of a group. mu is held.
func (c *Cluster) die(s *server) {
	s.life++
	s.late = nil
	c.abandon(s)
	if s.copies != nil {
		s.copies.refuse()
	}
}

// wake is the start of a node of a group. mu is held.
func (s *server) wake() {
	switch {
	case s.copies != nil:
		s.copies.restarted()
	case s.sentinel != nil:
		s.sentinel.begin()
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
	m.traits = &traits{then: func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		from.deliver(life, func() {
			if e, is := m.reply.(error); is && err == nil {
				err = e
			}
			then(m.reply, err)
		})
	}}
	l.request(m)
}

// push sends a reply that nobody asked for over a link: a write to a replica, a
// message to a subscriber. Those of one link stay in order.
func (c *Cluster) push(l *link, size int64, then func(err error)) {
	m := newMessage(l, []any{"PUSH"})
	m.traits = &traits{pushed: true, bytes: size, then: then}
	l.respond(m)
}

// An address is a name here, and a port that is always the same.
const (
	portNumber = 6379
	port       = "6379"
)
