package sim

import (
	"maps"
	"slices"
	"time"

	"lockchaos/cluster/sim/node"
)

// sentinel is a Redis Sentinel: a model that does what the source of Redis 7.0
// does, function for function, of what decides about a failover.
//
//	tick ─► PING, INFO, hello ─► is it down for me? ─► for a quorum? ─► elect ─► promote
//
// Each says in its hellos what it takes for the master, and believes the one
// with the greater epoch.
type sentinel struct {
	c     *Cluster
	s     *server
	every periods
	odd   *draws // its ticks, and what it draws at random

	// What is on its disk, and survives its end.
	epoch       int64
	master      string
	configEpoch int64  // of the failover that made it the master
	leader      string // for whom it has voted last …
	leaderEpoch int64  // … and in which epoch

	seen      map[string]*instance
	change    change
	published time.Time
	ticked    time.Time
	tilted    time.Time // it is, or was, careful from then on; see tilt
	tilt      bool

	subscribers []*stream
	turns       []turn // that it has told of, and nobody has taken note of
}

// turn is a change of the master.
type turn struct{ from, to string }

// instance is a node or another Sentinel as a Sentinel sees it.
type instance struct {
	name     string
	sentinel bool

	connected bool
	pinged    time.Time // the last PING
	waiting   time.Time // the first PING without an answer since; zero where there is none
	ponged    time.Time // the last answer of any kind
	available time.Time // the last good one
	down      bool      // for this Sentinel
	downSince time.Time

	// Of a node, from its INFO.
	asked, told time.Time // INFO
	role        string
	roleSince   time.Time
	master      string
	masterSince time.Time
	linkUp      bool
	linkDown    time.Duration
	offset      int64
	priority    int
	reconf      reconf

	// Of another Sentinel.
	says        bool // that the master is down
	askedAt     time.Time
	answered    time.Time
	leader      string
	leaderEpoch int64
}

func newSentinel(c *Cluster, s *server, every periods, odd *draws) *sentinel {
	p := &sentinel{c: c, s: s, every: every, odd: odd, master: c.group.first, seen: map[string]*instance{}}
	p.begin()
	c.every(s, func() time.Duration { return odd.between(shortestTick, longestTick) }, p.tick)
	return p
}

// begin is the start of its process.
func (p *sentinel) begin() {
	now := time.Now()
	for _, name := range p.c.group.peers() {
		if name != p.s.name {
			p.seen[name] = &instance{name: name, sentinel: slices.Contains(p.c.group.sentinels, name)}
		}
	}
	p.forget(now)
	p.ticked, p.published, p.tilt, p.subscribers = now, now, false, nil
}

// forget makes a fresh start with the master of the time and its replicas.
func (p *sentinel) forget(now time.Time) {
	p.change = change{}
	for _, i := range p.seen { // each by itself: in no order
		if i.sentinel {
			i.connected, i.ponged, i.available = true, now, now
			i.says, i.leader = false, ""
			continue
		}
		role := "slave"
		if i.name == p.master {
			role = "master"
		}
		*i = instance{
			name: i.name, connected: true, ponged: now, available: now, pinged: i.pinged, waiting: i.waiting,
			role: role, roleSince: now, master: p.master, masterSince: now, linkUp: true, priority: defaultPriority,
		}
	}
}

// all are the instances that it sees, in an order that does not depend on a map.
func (p *sentinel) all() []*instance {
	var list []*instance
	for _, name := range slices.Sorted(maps.Keys(p.seen)) {
		list = append(list, p.seen[name])
	}
	return list
}

func (p *sentinel) others() []*instance {
	return slices.DeleteFunc(p.all(), func(i *instance) bool { return !i.sentinel })
}

func (p *sentinel) replicas() []*instance {
	return slices.DeleteFunc(p.all(), func(i *instance) bool { return i.sentinel || i.name == p.master })
}

// tick is what a Sentinel does about ten times a second.
func (p *sentinel) tick() {
	now := time.Now()
	p.checkTilt(now)
	hello := now.Sub(p.published) >= p.every.publish
	if hello {
		p.published = now
	}
	for _, i := range p.all() {
		p.ask(i, now)
		if hello {
			p.hello(i)
		}
	}
	if p.tilt {
		return
	}
	for _, i := range p.all() {
		p.checkDown(i, now)
	}
	p.decide(now)
}

// checkTilt: a Sentinel that was stopped for a while does not trust its times,
// and only looks on.
func (p *sentinel) checkTilt(now time.Time) {
	if now.Sub(p.ticked) > tiltTrigger {
		p.tilt, p.tilted = true, now
	}
	if p.tilt && now.Sub(p.tilted) > tiltPeriod {
		p.tilt = false
	}
	p.ticked = now
}

// ask sends PING, and INFO to a node, where it is time for it.
func (p *sentinel) ask(i *instance, now time.Time) {
	if now.Sub(i.ponged) > p.every.ping && now.Sub(i.pinged) > p.every.ping/2 {
		p.ping(i, now)
	}
	if i.sentinel || !i.connected || now.Sub(i.asked) < p.infoPeriod(i) {
		return
	}
	i.asked = now
	p.c.send(p.s, i.name, func(reply any, err error) {
		if text, ok := reply.(string); ok && err == nil {
			p.heard(p.seen[i.name], text)
		}
	}, "INFO")
}

// infoPeriod is how often a node is asked for INFO. The replicas of a master in trouble
// are asked once a second: with Redis' own period of ten that is more often.
func (p *sentinel) infoPeriod(i *instance) time.Duration {
	if i.name != p.master && (p.agreed() || p.change.state != idle || i.linkDown > 0) {
		return troubledInfo
	}
	return p.every.info
}

func (p *sentinel) ping(i *instance, now time.Time) {
	i.pinged = now
	if i.waiting.IsZero() {
		i.waiting = now
	}
	name := i.name
	p.c.send(p.s, name, func(reply any, err error) {
		i, now := p.seen[name], time.Now()
		if err != nil {
			i.connected = false
			return
		}
		i.connected, i.ponged = true, now
		if reply == node.Status("PONG") {
			i.available, i.waiting = now, time.Time{}
		}
	}, "PING")
}

// checkDown is whether an instance is down for this Sentinel.
func (p *sentinel) checkDown(i *instance, now time.Time) {
	silent := time.Duration(0)
	switch {
	case !i.waiting.IsZero():
		silent = now.Sub(i.waiting)
	case !i.connected:
		silent = now.Sub(i.available)
	}
	down := silent > p.every.downAfter ||
		i.name == p.master && i.role == "slave" && now.Sub(i.roleSince) > p.every.downAfter+2*p.every.info
	if down && !i.down {
		i.downSince = now
	}
	i.down = down
}
