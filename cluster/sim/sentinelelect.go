package sim

import (
	"fmt"
	"time"

	"lockchaos/cluster"
)

// decide is what a Sentinel does about its master.
func (p *sentinel) decide(now time.Time) {
	if p.startIfNeeded(now) {
		p.askOthers(now, true)
	}
	p.proceed(now)
	p.askOthers(now, false)
}

// agreed tells whether enough Sentinels take the master for down.
func (p *sentinel) agreed() bool {
	if !p.seen[p.master].down {
		return false
	}
	votes := 1
	for _, i := range p.others() {
		if i.says {
			votes++
		}
	}
	return votes >= quorum
}

func (p *sentinel) startIfNeeded(now time.Time) bool {
	if !p.agreed() || p.change.state != idle || now.Sub(p.change.started) < 2*failoverTimeout {
		return false
	}
	p.start(now)
	return true
}

// start begins a failover: with an election in a new epoch.
func (p *sentinel) start(now time.Time) {
	p.epoch++
	p.change = change{state: waitStart, epoch: p.epoch, started: now.Add(p.odd.number(mostDesync)), changed: now}
}

// askOthers asks whether the master is down for them, too; and for their vote
// where this one wants to lead.
func (p *sentinel) askOthers(now time.Time, force bool) {
	down := p.seen[p.master].down
	candidate := "*"
	if p.change.state != idle {
		candidate = p.s.name
	}
	for _, i := range p.others() {
		if now.Sub(i.answered) > 5*p.every.ask {
			i.says, i.leader = false, ""
		}
		if !down || !i.connected || !force && now.Sub(i.askedAt) < p.every.ask {
			continue
		}
		i.askedAt = now
		p.c.send(p.s, i.name, func(reply any, err error) {
			if v, ok := reply.(vote); ok && err == nil {
				p.answered(p.seen[i.name], v)
			}
		}, "SENTINEL", "IS-MASTER-DOWN-BY-ADDR", p.master, p.epoch, candidate)
	}
}

// vote is the answer of a Sentinel: whether a master is down for it, and whom it
// has voted for, in which epoch.
type vote struct {
	down   bool
	leader string
	epoch  int64
}

func (p *sentinel) answered(i *instance, v vote) {
	i.answered, i.says = time.Now(), v.down
	if v.leader != "" {
		i.leader, i.leaderEpoch = v.leader, v.epoch
	}
}

// asked answers another Sentinel.
func (p *sentinel) asked(master string, epoch int64, candidate string) vote {
	v := vote{down: master == p.master && !p.tilt && p.seen[master].down}
	if candidate != "*" && master == p.master {
		v.leader, v.epoch = p.elect(epoch, candidate)
	}
	return v
}

// elect votes for a candidate, once in each epoch: the first who asks.
func (p *sentinel) elect(epoch int64, candidate string) (string, int64) {
	p.epoch = max(p.epoch, epoch)
	if p.leaderEpoch < epoch && p.epoch <= epoch {
		p.leader, p.leaderEpoch = candidate, p.epoch
		if candidate != p.s.name { // let it have its time
			p.change.started = time.Now().Add(p.odd.number(mostDesync))
		}
	}
	return p.leader, p.leaderEpoch
}

// elected is who leads in an epoch: with the votes of a majority of all, and of a
// quorum. This one votes last, for who has the most.
func (p *sentinel) elected(epoch int64) string {
	votes := map[string]int{}
	most := func() (winner string, n int) {
		for _, name := range p.c.group.sentinels {
			if votes[name] > n {
				winner, n = name, votes[name]
			}
		}
		return winner, n
	}
	for _, i := range p.others() {
		if i.leader != "" && i.leaderEpoch == p.epoch {
			votes[i.leader]++
		}
	}
	favourite, _ := most()
	if favourite == "" {
		favourite = p.s.name
	}
	if mine, of := p.elect(epoch, favourite); mine != "" && of == epoch {
		votes[mine]++
	}
	winner, n := most()
	if n < len(p.c.group.sentinels)/2+1 || n < quorum {
		return ""
	}
	return winner
}

// helloChannel is where Sentinels hear of each other, on each node.
const helloChannel = "__sentinel__:hello"

// hello says what this Sentinel knows: on a node to all who listen there, to
// another Sentinel directly.
func (p *sentinel) hello(i *instance) {
	if !i.connected {
		return
	}
	// During a failover of its own it says what the others are to believe.
	text := fmt.Sprintf("%s %d %s %s %d", p.s.name, p.epoch, cluster.Service, p.current(), p.configEpoch)
	p.c.send(p.s, i.name, func(any, error) {}, "PUBLISH", helloChannel, text)
}

// current is the master, or who it has just promoted.
func (p *sentinel) current() string {
	if p.change.promoted != "" && p.change.state >= reconfigure {
		return p.change.promoted
	}
	return p.master
}

// helloFrom hears what another knows.
func (p *sentinel) helloFrom(text string) {
	var from, service, master string
	var epoch, configEpoch int64
	if _, err := fmt.Sscanf(text, "%s %d %s %s %d", &from, &epoch, &service, &master, &configEpoch); err != nil || from == p.s.name {
		return
	}
	p.epoch = max(p.epoch, epoch)
	if configEpoch > p.configEpoch {
		p.configEpoch = configEpoch
		if master != p.master {
			p.switchTo(master)
		}
	}
}

// relay is a node that hands a hello on to the other Sentinels.
func (c *Cluster) relay(s *server, m *message) any {
	n := int64(0)
	text, _ := m.args[2].(string)
	for _, name := range c.group.sentinels {
		if m.link == nil || name == m.link.host {
			continue
		}
		n++
		to := c.servers[name]
		life := to.life
		c.push(c.link(name, s.name), int64(len(text)), func(err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil {
				to.deliver(life, func() { to.sentinel.helloFrom(text) })
			}
		})
	}
	return n
}
