package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/cluster/sim/node"
)

// waiter is a WAIT that has not been answered.
type waiter struct {
	wants   int64
	timeout time.Duration // 0: for ever
	offset  int64         // what the replicas must have
	m       *message
	answer  *any // where in m
}

// do does a command that reaches a node of a group. It has not arrived where
// the node keeps it: a WAIT.
func (r *copies) do(m *message) (arrived bool, err error) {
	if reply, ours := r.own(m); ours {
		m.reply = reply
	} else {
		r.c.run(r.s, m)
		r.flush()
	}
	if r.asked != nil {
		return r.wait(m, &m.reply), nil
	}
	switch {
	case m.next == nil:
		return true, nil
	case m.next[0] == "CLIENT": // KILL, from a Sentinel
		r.disconnectClients()
		return true, nil
	}
	second := newMessage(m.link, m.next) // WAIT
	if reply, ours := r.own(second); ours {
		second.reply = reply
	} else {
		r.c.run(r.s, second)
	}
	m.answer = second.reply
	if r.asked != nil {
		return r.wait(m, &m.answer), nil
	}
	return true, nil
}

// wait answers the WAIT that the node has been asked, at once or later.
func (r *copies) wait(m *message, answer *any) bool {
	w := r.asked
	r.asked = nil
	w.m, w.answer, w.offset = m, answer, r.offset
	n := r.have(w.offset)
	if n >= w.wants || m.link == nil { // nobody could wait past all links
		*answer = n
		return true
	}
	r.waiters = append(r.waiters, w)
	if life := r.s.life; w.timeout > 0 {
		after(r.odd.align(w.timeout), func() { r.expire(w, life) })
	}
	for _, f := range r.followers { // GETACK
		f.stream.push(getAckSize, r.c.at(f, func(to *copies) { to.ack() }))
	}
	return false
}

const getAckSize = 37

// expire ends a WAIT whose time is over.
func (r *copies) expire(w *waiter, life int) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.s.deliver(life, func() {
		if i := slices.Index(r.waiters, w); i >= 0 {
			r.waiters = slices.Delete(r.waiters, i, i+1)
			r.settle(w, r.have(w.offset))
		}
	})
}

func (r *copies) settle(w *waiter, n int64) {
	*w.answer = n
	w.m.link.respond(w.m)
}

// disconnectClients closes the connections of all clients.
func (r *copies) disconnectClients() {
	r.s.births++
	r.refuse()
}

// refuse disconnects those who WAIT.
func (r *copies) refuse() {
	for _, w := range r.waiters {
		after(w.m.link.odd.between(1, time.Millisecond), func() { w.m.finish(errClosed) })
	}
	r.waiters = nil
}

// own answers what a node of a group knows itself.
func (r *copies) own(m *message) (reply any, ours bool) {
	switch m.name {
	case "INFO":
		return r.info(), true
	case "ROLE":
		return r.role(), true
	case "PSYNC":
		return r.accept(m.stream), true
	case "REPLCONF":
		r.acked(m.stream, m.args[2].(int64))
		return nil, true
	case "REPLICAOF", "SLAVEOF":
		return r.replicaOf(m.args), true
	case "PUBLISH":
		if m.args[1] == helloChannel {
			return r.c.relay(r.s, m), true
		}
	case "WAIT":
		if r.master != "" && len(m.args) == 3 {
			return errWaitReplica, true
		}
	}
	return nil, false
}

// accept lets a replica follow: all keys first, then each write. A replica can be
// followed, too, where it knows what its master has.
func (r *copies) accept(st *stream) any {
	if r.master != "" && !r.ready {
		return node.Error("NOMASTERLINK Can't SYNC while not connected with my master")
	}
	if !st.client.open { // it has hung up behind its request
		return node.Status("FULLRESYNC")
	}
	f := r.follow(st.link.host, st)
	keys, offset := r.s.node.Snapshot(), r.offset
	st.push(max(offset, finSize), r.c.at(f, func(to *copies) { to.load(keys, offset) }))
	return node.Status("FULLRESYNC")
}

// acked hears of a replica.
func (r *copies) acked(st *stream, offset int64) {
	for _, f := range r.followers {
		if f.stream == st {
			f.acked, f.heard = max(f.acked, offset), time.Now().Unix()
			if !f.online {
				f.online = true
				r.count()
			}
		}
	}
	r.waiters = slices.DeleteFunc(r.waiters, func(w *waiter) bool {
		n := r.have(w.offset)
		if n >= w.wants {
			r.settle(w, n)
		}
		return n >= w.wants
	})
}

// have counts the replicas that have what was written up to an offset.
func (r *copies) have(offset int64) int64 {
	n := int64(0)
	for _, f := range r.followers {
		if f.online && f.acked >= offset {
			n++
		}
	}
	return n
}

// errWaitReplica is Redis' own.
const errWaitReplica = node.Error("ERR WAIT cannot be used with replica instances. " +
	"Please also note that since Redis 4.0 if a replica is configured to be writable (which is not the default) " +
	"writes to replicas are just local and are not propagated.")

// replicaOf changes the master: REPLICAOF host port, or NO ONE.
func (r *copies) replicaOf(args []any) any {
	if len(args) != 3 {
		return node.Error("ERR wrong number of arguments for 'replicaof' command")
	}
	master := fmt.Sprint(args[1])
	switch {
	case strings.EqualFold(master, "no"):
		master = ""
	case master == r.s.name || !slices.Contains(r.c.group.data, master):
		return node.Error("ERR there is no node " + master)
	}
	if master == r.master {
		return node.Status("OK")
	}
	r.drop()
	r.master = master
	r.s.node.SetReplica(master != "")
	if master == "" { // those who follow have to begin anew
		r.dismissAll()
		return node.Status("OK")
	}
	r.refuse()
	r.since = time.Now()
	r.connect()
	r.count()
	return node.Status("OK")
}
