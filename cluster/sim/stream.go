package sim

import (
	"slices"
	"time"
)

// stream is a connection that stays open, for what the server sends unasked: a
// master's writes, a Sentinel's events. Each of its ends can close it; the other
// learns of it by a message, which the link may hold or lose. What is lost of a
// stream breaks it, as with TCP.
type stream struct {
	link   *link
	client end // who has opened it
	server end
	heard  func(string) // what a subscriber does with an event
}

// end is one end of a stream. closed is told when the other side closes it, or
// the link breaks it; nil where nobody cares.
type end struct {
	open   bool
	closed func()
}

func (e *end) close() {
	if e.open {
		e.open = false
		if e.closed != nil {
			e.closed()
		}
	}
}

// open makes a stream over a link. All of a stream's methods are called with the
// cluster's mutex held.
func (c *Cluster) open(l *link) *stream {
	st := &stream{link: l, client: end{open: true}}
	c.streams = append(c.streams, st)
	return st
}

// request sends something to the server's end. then gets its reply.
func (st *stream) request(from *server, then func(reply any, err error), args ...any) {
	c, life := st.link.c, from.life
	m := newMessage(st.link, args)
	m.traits = &traits{stream: st, mute: then == nil, then: func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil {
			st.snap()
		}
		if then != nil {
			from.deliver(life, func() { then(m.reply, err) })
		}
	}}
	st.link.request(m)
}

// push sends something to the client's end, where got gets it.
func (st *stream) push(size int64, got func()) {
	c := st.link.c
	c.push(st.link, size, func(err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case err != nil:
			st.snap()
		case st.client.open:
			got()
		}
	})
}

// hangUp is the client closing the stream.
func (st *stream) hangUp() {
	if !st.client.open {
		return
	}
	st.client.open = false
	c := st.link.c
	m := newMessage(st.link, []any{"FIN"})
	m.traits = &traits{pushed: true, bytes: finSize, then: func(error) { c.dismiss(st) }}
	st.link.request(m)
}

// dismiss is the server learning that the client has closed the stream.
func (c *Cluster) dismiss(st *stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	st.server.close()
	c.sweep()
}

// shut is the server closing the stream.
func (st *stream) shut() {
	if !st.server.open {
		return
	}
	st.server.open = false
	c := st.link.c
	c.push(st.link, finSize, func(error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		st.client.close()
		c.sweep()
	})
}

const finSize = 1

// snap breaks the stream at both ends.
func (st *stream) snap() {
	st.client.close()
	st.server.close()
	st.link.c.sweep()
}

// sweep forgets the streams that are closed at both ends. mu is held.
func (c *Cluster) sweep() {
	c.streams = slices.DeleteFunc(c.streams, func(st *stream) bool { return !st.client.open && !st.server.open })
}

// breakStreams lets a reset of a link break its streams, and counts them.
func (c *Cluster) breakStreams(l *link) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, st := range c.streams {
		if st.link == l {
			n++
			after(l.odd.between(1, time.Millisecond), func() {
				c.mu.Lock()
				defer c.mu.Unlock()
				st.snap()
			})
		}
	}
	return n
}

// abandon is what becomes of the streams of a server that is killed: the kernel
// closes them. mu is held.
func (c *Cluster) abandon(s *server) {
	for _, st := range slices.Clone(c.streams) {
		switch s.name {
		case st.link.host:
			st.client.closed = nil
			st.hangUp()
		case st.link.server.name:
			st.server.closed = nil
			st.shut()
		}
	}
}
