package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"lockchaos/cluster"
)

// stage of a failover.
type stage int

const (
	idle stage = iota
	waitStart
	selectReplica
	promote
	waitPromotion
	reconfigure
)

// reconf is how far a replica has got to follow the new master.
type reconf int

const (
	notYet reconf = iota
	sent
	inProgress
	done
)

// change is a failover that this Sentinel leads, or wants to.
type change struct {
	state    stage
	epoch    int64
	started  time.Time // also when it has voted for another's
	changed  time.Time // to the stage
	promoted string
	forced   bool // an operator asked for it: no election
}

func (p *sentinel) enter(s stage, now time.Time) { p.change.state, p.change.changed = s, now }

// abort gives a failover up. When it was started stays known.
func (p *sentinel) abort() {
	p.change = change{started: p.change.started}
	for _, i := range p.replicas() {
		i.reconf = notYet
	}
}

// proceed takes a failover as far as it goes now.
func (p *sentinel) proceed(now time.Time) {
	switch p.change.state {
	case waitStart:
		p.waitElected(now)
	case selectReplica:
		if best := p.best(now); best == nil {
			p.abort()
		} else {
			p.change.promoted = best.name
			p.enter(promote, now)
		}
	case promote:
		i := p.seen[p.change.promoted]
		if i.connected {
			p.order(i.name, "NO", "ONE")
			p.enter(waitPromotion, now)
		} else if now.Sub(p.change.changed) > failoverTimeout {
			p.abort()
		}
	case waitPromotion:
		if now.Sub(p.change.changed) > failoverTimeout {
			p.abort()
		}
	case reconfigure:
		p.reconfigureNext(now)
	}
}

func (p *sentinel) waitElected(now time.Time) {
	if p.elected(p.change.epoch) != p.s.name && !p.change.forced {
		if now.Sub(p.change.started) > min(electionTimeout, failoverTimeout) {
			p.abort()
		}
		return
	}
	p.enter(selectReplica, now)
}

// best is the replica to promote: it must be well; then its priority counts,
// then how much it has, then its run id.
func (p *sentinel) best(now time.Time) *instance {
	master := p.seen[p.master]
	fresh, mostDown := 3*p.every.info, 10*p.every.downAfter
	if master.down {
		fresh = 5 * p.every.ping
		mostDown += now.Sub(master.downSince)
	}
	var good []*instance
	for _, i := range p.replicas() {
		if !i.down && i.connected && now.Sub(i.available) <= 5*p.every.ping && i.priority != 0 &&
			now.Sub(i.told) <= fresh && i.linkDown <= mostDown {
			good = append(good, i)
		}
	}
	if len(good) == 0 {
		return nil
	}
	return slices.MinFunc(good, func(a, b *instance) int {
		if a.priority != b.priority {
			return a.priority - b.priority
		}
		if a.offset != b.offset {
			return int(min(max(b.offset-a.offset, -1), 1))
		}
		return strings.Compare(p.c.servers[a.name].node.RunID(), p.c.servers[b.name].node.RunID())
	})
}

// order makes a node follow another, or none, and disconnects its clients.
func (p *sentinel) order(name, host, port string) {
	l, life := p.c.link(p.s.name, name), p.s.life
	m := newMessage(l, []any{"REPLICAOF", host, port})
	m.traits = &traits{next: []any{"CLIENT", "KILL", "TYPE", "normal"}, then: func(err error) {
		p.c.mu.Lock()
		defer p.c.mu.Unlock()
		p.s.deliver(life, func() {
			if err != nil {
				p.seen[name].connected = false
			}
		})
	}}
	l.request(m)
}

// reconfigureNext makes the other replicas follow the new master, a few at a
// time, and ends the failover when all do that are there, or when its time is over.
func (p *sentinel) reconfigureNext(now time.Time) {
	var waiting []*instance
	left, busy := 0, 0
	for _, i := range p.replicas() {
		if i.name == p.change.promoted || i.reconf == done {
			continue
		}
		if !i.down {
			left++
		}
		switch {
		case i.reconf != notYet:
			busy++
		case i.connected:
			waiting = append(waiting, i)
		}
	}
	late := now.Sub(p.change.changed) > failoverTimeout
	for _, i := range waiting {
		if late || left > 0 && busy < parallelSyncs {
			busy++
			i.reconf = sent
			p.order(i.name, p.change.promoted, port)
		}
	}
	if late || left == 0 {
		p.switchTo(p.change.promoted)
	}
}

// switchTo believes in another master, and tells all who listen.
func (p *sentinel) switchTo(master string) {
	p.turns = append(p.turns, turn{p.master, master})
	size := int64(len(switchChannel) + len(cluster.Service) + len(p.master) + len(master) + 2*len(port))
	p.master = master
	p.forget(time.Now())
	for _, st := range p.subscribers {
		st.push(size, func() { st.heard(master) })
	}
}

// heard takes in the INFO of a node.
func (p *sentinel) heard(i *instance, text string) {
	now := time.Now()
	f := fields(text)
	i.told = now
	if role := f["role"]; role != i.role {
		i.role, i.roleSince, i.masterSince = role, now, now
	}
	if m := f["master_host"]; i.role == "slave" && m != i.master {
		i.master, i.masterSince = m, now
	}
	i.offset, _ = strconv.ParseInt(f["slave_repl_offset"], 10, 64)
	i.linkUp = i.role == "master" || f["master_link_status"] == "up"
	seconds, _ := strconv.Atoi(f["master_link_down_since_seconds"])
	i.linkDown = time.Duration(seconds) * time.Second
	if n, err := strconv.Atoi(f["slave_priority"]); err == nil {
		i.priority = n
	}
	if !p.tilt && i.name != p.master {
		p.correct(i, now)
	}
}

func fields(text string) map[string]string {
	f := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			f[k] = v
		}
	}
	return f
}

// correct acts on what a node that is to be a replica says of itself.
func (p *sentinel) correct(i *instance, now time.Time) {
	if i.role == "slave" {
		p.advance(i)
		if wait := failoverTimeout; i.master != p.master && p.sane() && p.well(i, wait, now) && now.Sub(i.masterSince) > wait {
			p.order(i.name, p.master, port) // +fix-slave-config
		}
		return
	}
	if i.name == p.change.promoted {
		if p.change.state == waitPromotion {
			p.configEpoch = p.change.epoch
			p.enter(reconfigure, now)
			p.published = time.Time{} // tell it at once
		}
		return
	}
	if wait := 4 * p.every.publish; p.sane() && p.well(i, wait, now) && now.Sub(i.roleSince) > wait {
		p.order(i.name, p.master, port) // +convert-to-slave
	}
}

// advance follows a replica on its way to the new master.
func (p *sentinel) advance(i *instance) {
	if i.reconf == sent && i.master == p.change.promoted {
		i.reconf = inProgress
	}
	if i.reconf == inProgress && i.linkUp {
		i.reconf = done
	}
}

// sane tells whether the master looks like one.
func (p *sentinel) sane() bool {
	m := p.seen[p.master]
	return m.role == "master" && !m.down && time.Since(m.told) < 2*p.every.info
}

// well tells whether an instance has not been down for so long.
func (p *sentinel) well(i *instance, long time.Duration, now time.Time) bool {
	return !i.down && (i.downSince.IsZero() || now.Sub(i.downSince) > long)
}
