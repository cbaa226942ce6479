package sim

import (
	"slices"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
)

// copies is the part of a node that replicates: a master that sends its writes
// to those who follow it, or a replica that does what its master says.
//
//	replica ── PSYNC ──► master        over a stream on Link(replica, master):
//	        ◄─ all keys ─               each resync is a full one
//	        ◄─ write, write, … ─        one message for the effects of a command
//	        ── ACK offset ──►           once a second, and when it is asked
type copies struct {
	c   *Cluster
	s   *server
	odd *draws // timeouts of WAIT
	min int    // replicas that a write needs

	master string     // whom it follows; "" for a master
	offset int64      // bytes of effects that it has written, or has got
	writes [][]string // effects of the command under way
	asked  *waiter    // the command under way is WAIT

	up    *stream   // to its master; nil where there is none
	ready bool      // its keys are those of its master
	since time.Time // when they last were, where they are not

	followers []*follower
	waiters   []*waiter
}

// follower is a replica as its master sees it.
type follower struct {
	name   string
	stream *stream
	online bool // it has all keys, and has said so
	acked  int64
	heard  int64 // second in which it was last heard of
}

// mostLag is min-replicas-max-lag, in seconds.
const mostLag = 1

func newCopies(c *Cluster, s *server, spec cluster.NodeSpec, timer, odd *draws) *copies {
	r := &copies{c: c, s: s, odd: odd, min: spec.MinReplicas}
	s.node = node.New(node.Options{
		Name: spec.Name, Seed: uint64(c.seed), Persistence: spec.Persistence,
		OnWrite: func(args []string) { r.writes = append(r.writes, args) },
		Wait: func(wants int64, timeout time.Duration) int64 {
			r.asked = &waiter{wants: wants, timeout: timeout}
			return 0
		},
	})
	if spec.Role == cluster.RoleReplica {
		r.master, r.ready = c.group.first, true
		s.node.SetReplica(true)
	}
	c.every(s, func() time.Duration { return timer.align(cronPeriod) }, r.cron)
	return r
}

// pair makes replicas follow their master from the start: a cluster comes up in sync.
func (c *Cluster) pair() {
	for _, name := range c.group.data {
		r := c.servers[name].copies
		if r.master == "" {
			continue
		}
		m := c.servers[r.master].copies
		r.up = c.open(c.link(name, r.master))
		r.up.client.closed = r.lost(r.s.life)
		m.follow(name, r.up).online = true
	}
	for _, name := range c.group.data {
		c.servers[name].copies.count()
	}
}

// cron is what a node does once a second.
func (r *copies) cron() {
	switch {
	case r.master == "":
		r.count()
	case r.up == nil || !r.up.client.open:
		r.drop()
		r.connect()
	case r.ready:
		r.ack()
	}
}

// connect asks the master for all its keys, and for its writes from then on.
func (r *copies) connect() {
	st := r.c.open(r.c.link(r.s.name, r.master))
	r.up = st
	st.request(r.s, func(reply any, err error) {
		if _, refused := reply.(error); (refused || err != nil) && r.up == st {
			r.drop() // until cron tries again
		}
	}, "PSYNC", "?", int64(-1))
}

// lost makes a replica connect again at once when its stream has ended.
func (r *copies) lost(life int) func() {
	return func() {
		r.s.deliver(life, func() {
			if r.up != nil && !r.up.client.open {
				r.drop()
				r.connect()
			}
		})
	}
}

// drop is a replica without its master.
func (r *copies) drop() {
	if r.up != nil {
		r.up.hangUp()
	}
	r.up = nil
	if r.ready {
		r.ready, r.since = false, time.Now()
	}
}

// load takes all keys of the master. Those who follow this replica have to do
// the same.
func (r *copies) load(keys node.Snapshot, offset int64) {
	r.s.node.Load(keys)
	r.offset, r.ready = offset, true
	r.up.client.closed = r.lost(r.s.life)
	r.dismissAll()
	r.ack()
}

// apply does the writes of the master.
func (r *copies) apply(writes [][]string, size int64) {
	r.s.node.Apply(writes)
	r.writes = nil
	r.spread(writes, size)
}

func (r *copies) ack() {
	r.up.request(r.s, nil, "REPLCONF", "ACK", r.offset)
}

// follow takes a replica in.
func (r *copies) follow(name string, st *stream) *follower {
	f := &follower{name: name, stream: st, acked: r.offset, heard: time.Now().Unix()}
	st.server = end{true, func() { r.leave(f) }}
	r.followers = append(r.followers, f)
	return f
}

func (r *copies) leave(f *follower) {
	r.followers = slices.DeleteFunc(r.followers, func(x *follower) bool { return x == f })
	r.count()
}

// dismissAll disconnects all replicas.
func (r *copies) dismissAll() {
	for _, f := range r.followers {
		f.stream.shut()
	}
	r.followers = nil
	r.count()
}

// count looks how many replicas have been heard of, and lets the node take
// writes or not. Redis does that once a second, and when a replica comes or goes.
func (r *copies) count() {
	good, now := 0, time.Now().Unix()
	for _, f := range r.followers {
		if f.online && now-f.heard <= mostLag {
			good++
		}
	}
	r.s.node.SetStarved(r.master == "" && good < r.min)
}

// flush sends on what the command under way has written.
func (r *copies) flush() {
	if writes := r.writes; len(writes) > 0 {
		r.writes = nil
		r.spread(writes, bytes(writes))
	}
}

// spread sends writes to all who follow.
func (r *copies) spread(writes [][]string, size int64) {
	r.offset += size
	for _, f := range r.followers {
		f.stream.push(size, r.c.at(f, func(to *copies) { to.apply(writes, size) }))
	}
}

// at does something at a replica when it arrives there on its stream.
func (c *Cluster) at(f *follower, do func(to *copies)) func() {
	s, st := c.servers[f.name], f.stream
	life := s.life
	return func() {
		s.deliver(life, func() {
			if s.copies.up == st {
				do(s.copies)
			}
		})
	}
}

// bytes is how long writes are in the protocol, about.
func bytes(writes [][]string) int64 {
	n := int64(0)
	for _, w := range writes {
		n += 4
		for _, a := range w {
			n += int64(len(a)) + 6
		}
	}
	return n
}

// restarted is a node after its start. It has kept whom it follows, and knows of
// no offset: it has none on disk.
func (r *copies) restarted() {
	r.s.node.SetReplica(r.master != "") // as its file says
	r.offset, r.writes, r.followers, r.waiters = 0, nil, nil, nil
	r.up, r.ready, r.since = nil, false, time.Now()
	if r.master != "" {
		r.connect()
	}
	r.count()
}
