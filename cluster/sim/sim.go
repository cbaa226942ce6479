package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
	"lockchaos/host"
	"lockchaos/locks"
)

// Latency is the range from which the time of each message is drawn, for each way.
type Latency struct{ Min, Max time.Duration }

// DefaultLatency is that of servers in one data centre.
var DefaultLatency = Latency{200 * time.Microsecond, 2200 * time.Microsecond}

// Cluster is a simulated cluster.
type Cluster struct {
	seed     int64
	spec     cluster.Spec
	latency  Latency
	links    map[[2]string]*link      // by host and node
	operator map[string]*link         // by node: nothing is ever done to these
	odd      map[string]*draws        // by host: for what the harness does in its name
	gates    map[string][lanes]*draws // by host: when it was stopped

	commands underway
	closed   sync.Once

	mu      sync.Mutex
	group   *group // nil where there are no replicas and Sentinels
	streams []*stream
	servers map[string]*server
	hosts   map[string]*process
}

var _ interface {
	cluster.Cluster
	cluster.HostControl
	cluster.NodeControl
	cluster.ClockControl
	cluster.Commander
	cluster.Conditions
	cluster.Pacer
	cluster.Failovers
} = (*Cluster)(nil)

// Up brings a simulated cluster up, until Close.
func Up(spec cluster.Spec, latency Latency) *Cluster {
	seed := spec.Seed
	c := &Cluster{
		seed: seed, spec: spec, latency: latency, links: map[[2]string]*link{}, odd: map[string]*draws{}, gates: map[string][lanes]*draws{},
		servers: map[string]*server{}, hosts: map[string]*process{}, operator: map[string]*link{},
	}
	c.commands.begin()
	for _, n := range spec.Nodes {
		c.servers[n.Name] = &server{name: n.Name, node: node.New(node.Options{Persistence: n.Persistence})}
	}
	slot := int64(0)
	draw := func(names ...string) *draws {
		slot++
		return newDraws(seed, slot, names...)
	}
	gates := func(names ...string) [lanes]*draws {
		return [lanes]*draws{draw(append([]string{"gate"}, names...)...), draw(append([]string{"watchdog"}, names...)...)}
	}
	c.odd[""] = draw("odd") // the schedule of faults
	for _, h := range spec.Hosts {
		c.odd[h.Name], c.gates[h.Name] = draw("odd", h.Name), gates(h.Name)
		for _, n := range spec.Nodes {
			odd := draw("odd", h.Name, n.Name)
			c.links[[2]string{h.Name, n.Name}] = c.newLink(h.Name, n.Name, odd, gates(h.Name, n.Name), draw)
		}
	}
	for _, n := range spec.Nodes {
		odd := draw("odd", "", n.Name)
		c.operator[n.Name] = c.newLink("", n.Name, odd, [lanes]*draws{}, draw)
	}
	if c.group = newGroup(spec); c.group != nil {
		c.form(draw)
	}
	return c
}

func (c *Cluster) newLink(from, to string, odd *draws, gates [lanes]*draws, draw func(...string) *draws) *link {
	return &link{
		c: c, host: from, server: c.servers[to], odd: odd, gates: gates,
		requests: draw("requests", from, to), replies: draw("replies", from, to),
	}
}

// StartHost makes a host of one of the built-in systems.
func (c *Cluster) StartHost(ctx context.Context, name string, init host.Init, events func(host.Event)) (host.Host, error) {
	if init.System == locks.External {
		return nil, fmt.Errorf("host %s: an external program cannot run in the simulation", name)
	}
	p := newProcess(name, c.odd[name], c.gates[name])
	dial := func(addr string, o locks.Options) redis.Pool { return newClient(c.link(name, addr), p, o) }
	p.server = host.NewServer(dial, p.tells(events))
	p.server.Draw = c.random(name)
	init.Version, init.Host, init.Nodes = host.ProtocolVersion, name, c.lockNodes()
	if c.group != nil {
		p.server.DialMaster = func(s host.SentinelInit, o locks.Options) redis.Pool { return c.newFailover(p, s, o) }
		init.Sentinel = c.group.init()
	}
	c.mu.Lock()
	c.hosts[name] = p
	c.mu.Unlock()
	time.Sleep(p.odd.between(1, time.Millisecond)) // hosts do not start at one instant
	reply, err := p.Do(ctx, host.Request{Op: host.OpInit, Init: &init})
	if err != nil {
		return nil, err
	}
	if reply.Error != nil {
		return nil, fmt.Errorf("host %s refuses init: %w", name, reply.Error)
	}
	return p, nil
}

// random gives a host's library what it would draw at random.
func (c *Cluster) random(name string) locks.Draw {
	d := newDraws(c.seed, c.odd[name].slot, "library", name)
	return locks.Draw{
		Value: func() (string, error) { return fmt.Sprintf("%s-%016x", name, d.uint64()), nil },
		// redsync's own range.
		Delay: func(int) time.Duration { return d.between(50*time.Millisecond, 250*time.Millisecond) },
	}
}

func (c *Cluster) lockNodes() []string {
	var names []string
	for _, n := range c.spec.Nodes {
		if n.Name != cluster.Resource && n.Role != cluster.RoleSentinel {
			names = append(names, n.Name)
		}
	}
	return names
}

func (c *Cluster) link(host, node string) *link {
	l, ok := c.links[[2]string{host, node}]
	if !ok {
		panic(fmt.Sprintf("no link from %s to %s", host, node)) // scenarios are validated
	}
	return l
}

// Link is the way from a host to a node.
func (c *Cluster) Link(host, node string) cluster.Link { return c.link(host, node) }

// Pool reaches a node through the link of a host, without retries or timeouts.
func (c *Cluster) Pool(host, node string) redis.Pool { return &client{link: c.link(host, node)} }

// Direct reaches a node at once.
func (c *Cluster) Direct(node string) redis.Pool { return direct{c, c.servers[node]} }

// Pace makes a host, or the schedule of faults where it is empty, go on at an
// instant of its own.
func (c *Cluster) Pace(host string, part int64) { c.odd[host].inOrder(part) }

// Close ends all hosts and waits for the commands that their libraries have left
// under way: a bubble must not end before all that was started in it.
func (c *Cluster) Close() error {
	c.mu.Lock()
	hosts := slices.Collect(maps.Values(c.hosts))
	c.mu.Unlock()
	for _, p := range hosts {
		p.end()
	}
	c.closed.Do(func() {
		c.commands.wait()
		c.disband()
	})
	return nil
}

// execute does a command at its node, in the client's goroutine. It has not
// arrived where the node is stopped: then the node keeps it.
func (c *Cluster) execute(m *message) (arrived bool, err error) {
	s := m.link.server
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.down:
		m.link.abandon()
		return false, errRefused
	case s.paused:
		s.queue = append(s.queue, m)
		return false, nil
	case s.latency > 0:
		c.enqueue(s, m)
		return false, nil
	}
	return c.perform(s, m)
}

// perform does a command. mu is held.
func (c *Cluster) perform(s *server, m *message) (arrived bool, err error) {
	switch {
	case m.of != nil && (m.of.birth != s.births || m.of.life != s.life): // the server has closed the connection
		return false, errReset
	case s.sentinel != nil:
		m.reply = s.sentinel.do(m)
		return true, nil
	case s.copies != nil:
		return s.copies.do(m)
	}
	c.run(s, m)
	return true, nil
}

// run does a command at the node itself. The cluster's mutex is held.
func (c *Cluster) run(s *server, m *message) { m.reply = s.node.Do(m.args...) }

// arrive is execute for a message that nobody carries.
func (c *Cluster) arrive(m *message) {
	arrived, err := c.execute(m)
	m.answered(arrived, err)
}

// catchUp is execute for what has waited at a node: those who get no answer there
// learn of it each at an instant of its own.
func (c *Cluster) catchUp(queue []*message) {
	for _, m := range queue {
		arrived, err := c.execute(m)
		if err == nil {
			m.answered(arrived, nil)
			continue
		}
		after(m.link.odd.align(1), func() { m.finish(err) })
	}
}

// answered sends the reply of a message that nobody carries back, if its node has one.
func (m *message) answered(arrived bool, err error) {
	switch {
	case err != nil:
		m.finish(err)
	case arrived && m.mute:
		m.finish(nil)
	case arrived:
		m.link.respond(m)
	}
}

// forget takes the messages of a link that wait at its stopped node.
func (c *Cluster) forget(l *link) []*message {
	c.mu.Lock()
	defer c.mu.Unlock()
	var gone []*message
	l.server.queue = slices.DeleteFunc(l.server.queue, func(m *message) bool {
		if m.link == l {
			gone = append(gone, m)
		}
		return m.link == l
	})
	return gone
}
