package local

import (
	"io"
	"net"
	"sync/atomic"
)

// conn is one connection through a link: the client's side, the server's side
// and the two flows between them.
type conn struct {
	link  *Link
	name  string
	probe bool // the harness's own: not in the counts

	client, server *net.TCPConn
	flows          [directions]*flow
	sinks          [directions]*sink

	// dead: what is kept is not to be delivered any more.
	dead       atomic.Bool
	clientGone atomic.Bool
	ended      atomic.Int32 // directions that have ended
}

func newConn(l *Link, name string, client, server *net.TCPConn, probe bool) *conn {
	c := &conn{link: l, name: name, probe: probe, client: client, server: server}
	c.sinks[requests] = &sink{conn: c, dir: requests, to: server}
	c.sinks[replies] = &sink{conn: c, dir: replies, to: client}
	return c
}

// lost is called when a direction has dropped n bytes. The connection is
// closed when no rule that drops is left; a rule that is lifted at this very
// time looks either before, then it is seen here, or after.
func (c *conn) lost(d direction, n int) {
	if !c.probe {
		c.link.counts.dropped.Add(int64(n))
	}
	if !c.link.rules.Load().drops[d] {
		c.closeClient()
	}
}

// hasLost reports whether a direction has dropped bytes.
func (c *conn) hasLost(d direction) bool {
	return c.flows[d].lost.Load() || c.sinks[d].lost.Load()
}

// closeClient ends the client's side. What it has sent before and is held
// still reaches the server when its rule is lifted.
func (c *conn) closeClient() { _ = c.client.Close() } // closing twice is no matter

// reset breaks both sides with a TCP reset, and what is held is gone.
func (c *conn) reset() {
	c.dead.Store(true)
	for _, side := range []*net.TCPConn{c.client, c.server} {
		_ = side.SetLinger(0) // it may be closed already
		_ = side.Close()
	}
}

// end is called when the last byte of a direction is written.
func (c *conn) end(d direction) {
	if d == requests {
		// Not Close: with a reply unread, that would be a reset, and the
		// server might not read what was held until now.
		_ = c.server.CloseWrite()
	} else {
		c.dead.Store(true) // the server is gone: no request can reach it
		_ = c.client.Close()
	}
	if c.ended.Add(1) == int32(directions) {
		_ = c.server.Close()
		_ = c.client.Close()
		c.link.forget(c)
	}
}

// source is the beginning of one direction: what one side sends. Toxiproxy
// reads from it.
//
// As long as nothing is done to the link, what it reads goes straight to the
// sink and Toxiproxy never sees it: its way takes three more goroutines and
// two allocations for each read, a third of the time of a round trip. Once
// there is a rule or a delay, everything goes Toxiproxy's way, and it does so
// until nothing is on that way any more, so that no byte overtakes another.
type source struct {
	conn *conn
	dir  direction
	from *net.TCPConn
}

func (s source) Read(b []byte) (int, error) {
	f := s.conn.flows[s.dir]
	for {
		n, err := s.from.Read(b)
		if err != nil && s.dir == requests {
			s.conn.clientGone.Store(true)
		}
		if err == nil && f.straight() {
			if s.dir == requests {
				f.parse.skip(b[:n])
			}
			s.conn.sinks[s.dir].put(b[:n])
			continue
		}
		f.onWay.Add(int64(n))
		return n, err
	}
}

// straight reports whether the bytes at hand may go past Toxiproxy. They have
// been read already, so a rule whose Apply returned before they were sent is seen.
func (f *flow) straight() bool {
	return f.onWay.Load() == 0 && f.link.rules.Load().quiet[f.dir] && !f.link.delayed.Load() && !f.lost.Load()
}

// sink is the end of one direction. It counts what is delivered. Its Write
// never fails: Toxiproxy stops reading from its toxics after a failed write,
// and a toxic that waits to be read cannot be interrupted, so that a control
// call would hang for ever. Bytes for a side that is gone are thrown away.
type sink struct {
	conn *conn
	dir  direction
	to   *net.TCPConn

	gone bool        // a write has failed
	lost atomic.Bool // bytes were dropped here
	busy atomic.Bool // in Write, maybe with rules that are not in force any more
}

var _ io.WriteCloser = (*sink)(nil)

// Write is called by Toxiproxy.
func (s *sink) Write(p []byte) (int, error) {
	s.put(p)
	s.conn.flows[s.dir].onWay.Add(-int64(len(p)))
	return len(p), nil
}

// put is called by one goroutine at a time: the source's while nothing is on
// Toxiproxy's way, Toxiproxy's otherwise.
func (s *sink) put(p []byte) {
	s.busy.Store(true)
	s.deliver(p)
	s.busy.Store(false)
}

func (s *sink) deliver(p []byte) {
	l := s.conn.link
	// What has passed the gate before a cut may still be on its way behind a
	// delay. A cut link carries nothing, so it is looked at once more.
	if s.lost.Load() || l.rules.Load().cut[s.dir] {
		s.lost.Store(true)
		s.conn.lost(s.dir, len(p))
		return
	}
	if s.gone || s.conn.dead.Load() && s.dir == requests {
		return
	}
	// Counted before it is written: a host that has read a reply must be able to
	// find it in the counts.
	s.count(len(p))
	n, err := s.to.Write(p)
	s.count(n - len(p))
	s.gone = err != nil
}

func (s *sink) count(n int) {
	if n != 0 && !s.conn.probe {
		s.conn.link.counts.delivered[s.dir].Add(int64(n))
	}
}

// Close is called by Toxiproxy when the direction has ended.
func (s *sink) Close() error {
	s.conn.end(s.dir)
	return nil
}
