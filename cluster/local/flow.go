package local

import (
	"strings"
	"sync/atomic"
	"time"

	"github.com/Shopify/toxiproxy/v2/stream"
)

// maxKept is how much one direction of a connection keeps; beyond it the gate
// stops reading, and TCP makes the sender wait.
const maxKept = 16 << 20

// piece is a part of a direction's bytes that a rule passes, holds or drops as a whole.
type piece struct {
	chunk  *stream.StreamChunk
	starts bool   // a request begins with it
	name   string // of that request, in upper case
	passed bool   // it came when no rule looked: none may look now
}

// flow is one direction of one connection, as the gate sees it. All but the
// atomic fields belong to the goroutine in Pipe, of which Toxiproxy runs one
// at a time; the parser is the source's while nothing is on the way.
type flow struct {
	link *Link
	conn *conn
	dir  direction

	parse parser // requests only
	// A request whose name has not come in full can be neither passed nor held.
	head  []byte
	fresh bool // the bytes at hand begin a request
	known bool // and its name is known

	queue   []piece
	bytes   int // in the queue
	counted int // so many pieces at the front of the queue are counted as held
	eof     bool
	// lost: bytes were dropped, so nothing that came after them may pass.
	lost atomic.Bool
	// onWay is how many bytes Toxiproxy has taken and neither delivered nor dropped.
	onWay atomic.Int64
}

func (f *flow) empty() bool { return len(f.queue) == 0 && len(f.head) == 0 }

// admit takes in a chunk: cut into requests if rules look at it.
func (f *flow) admit(c *stream.StreamChunk, rs *ruleSet) {
	switch {
	case rs.quiet[f.dir]:
		if f.dir == requests {
			f.parse.skip(c.Data)
		}
		f.flushHead()
		f.fresh = false
		f.enqueue(piece{chunk: c, passed: true})
	case rs.cut[f.dir]:
		if f.dir == requests {
			f.parse.skip(c.Data)
		}
		f.lose(len(f.head) + len(c.Data))
		f.head, f.fresh = nil, false
	case f.dir == replies || !f.link.speaks.commands:
		f.judgeNew(piece{chunk: c}, rs)
	default:
		f.cutRequests(c, rs)
	}
}

func (f *flow) cutRequests(c *stream.StreamChunk, rs *ruleSet) {
	begin := 0
	for i := 0; i < len(c.Data); {
		if f.parse.boundary() {
			f.cut(c, begin, i, rs)
			begin, f.fresh, f.known = i, true, false
		}
		n, ev := f.parse.next(c.Data[i:])
		i += n
		f.known = f.known || ev != parsedAll
	}
	if f.fresh && !f.known {
		f.head = append(f.head, c.Data[begin:]...)
		return
	}
	f.cut(c, begin, len(c.Data), rs)
}

// cut judges bytes from one place of a chunk to another, with the head before
// them. The parser still knows the name of the request that they belong to.
func (f *flow) cut(c *stream.StreamChunk, from, to int, rs *ruleSet) {
	data := c.Data[from:to]
	if len(f.head) > 0 {
		data = append(f.head, data...)
		f.head = nil
	}
	if len(data) == 0 {
		return
	}
	p := piece{chunk: &stream.StreamChunk{Data: data, Timestamp: c.Timestamp}, starts: f.fresh}
	if f.fresh {
		p.name = strings.ToUpper(string(f.parse.name()))
	}
	f.fresh = false
	f.judgeNew(p, rs)
}

// flushHead gives up waiting for the name of a request.
func (f *flow) flushHead() {
	if len(f.head) == 0 {
		return
	}
	c := &stream.StreamChunk{Data: f.head, Timestamp: time.Now()}
	f.enqueue(piece{chunk: c, starts: true, passed: true})
	f.head, f.fresh = nil, false
}

func (f *flow) judgeNew(p piece, rs *ruleSet) {
	if f.lost.Load() || rs.judge(f.dir, &p) == dropped {
		f.lose(len(p.chunk.Data))
		return
	}
	f.enqueue(p)
}

func (f *flow) enqueue(p piece) {
	if f.lost.Load() {
		f.lose(len(p.chunk.Data))
		return
	}
	f.queue = append(f.queue, p)
	f.bytes += len(p.chunk.Data)
}

func (f *flow) shift() {
	f.bytes -= len(f.queue[0].chunk.Data)
	f.queue[0] = piece{}
	f.queue = f.queue[1:]
	f.counted = max(0, f.counted-1)
	if len(f.queue) == 0 {
		f.queue = nil
	}
}

// settle does what can be done without waiting, and returns the chunk that may
// be delivered, or nil.
func (f *flow) settle(rs *ruleSet) *stream.StreamChunk {
	if f.conn.dead.Load() {
		f.queue, f.head, f.bytes, f.counted = nil, nil, 0, 0
		return nil
	}
	if f.eof || rs.quiet[f.dir] {
		f.flushHead()
	}
	if len(f.queue) == 0 {
		return nil
	}
	switch p := &f.queue[0]; rs.judge(f.dir, p) {
	case held:
		f.countHeld(rs)
		return nil
	case dropped:
		f.lose(f.bytes)
		f.queue, f.bytes, f.counted = nil, 0, 0
		return nil
	default:
		if f.counted > 0 { // a delay behind the gate counts from now
			p.chunk.Timestamp = time.Now()
		}
		return p.chunk
	}
}

// countHeld counts what waits: all that is in the queue, as its head does.
func (f *flow) countHeld(rs *ruleSet) {
	for ; f.counted < len(f.queue); f.counted++ {
		p := &f.queue[f.counted]
		if f.conn.probe {
			continue
		}
		f.link.counts.held.Add(int64(len(p.chunk.Data)))
		if p.starts && rs.judge(f.dir, p) == held {
			f.link.counts.commands.Add(1)
		}
	}
}

// lose counts dropped bytes. The stream is broken from here on.
func (f *flow) lose(n int) {
	f.lost.Store(true)
	f.conn.lost(f.dir, n)
	f.onWay.Add(-int64(n))
}
