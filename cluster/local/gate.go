package local

import (
	"sync"

	"github.com/Shopify/toxiproxy/v2/stream"
	"github.com/Shopify/toxiproxy/v2/toxics"
)

// gateType is the name of the gate among Toxiproxy's toxics.
const gateType = "gate"

// Toxiproxy makes its toxics by type name from a registry of its own and from
// JSON attributes: a toxic can be handed nothing but data. So the gate carries
// the name of its link, and finds the link here.
var gateLinks sync.Map // string → *Link

func init() { toxics.Register(gateType, new(gate)) }

// gate is the toxic that is installed for life on both directions of each
// link. It does what the link's rules say: pass, hold, drop.
//
//	client ─► source ─► noop ─► gate ─► [latency] ─► sink ─► server
//	              │              │                    ▲
//	              │            rules of the link      │
//	              └── while there is nothing to do ───┘
//
// Toxiproxy interrupts a toxic to put another one behind it or to take that
// away, so whatever the gate waits for, it also waits for the interrupt, and
// what it has not delivered stays in the stream's state until it runs again.
type gate struct {
	Link      string    `json:"link"`
	Direction direction `json:"direction"`
}

var (
	_ toxics.Toxic         = (*gate)(nil)
	_ toxics.StatefulToxic = (*gate)(nil)
)

// NewState is called by Toxiproxy when a connection starts, within StartLink.
func (g *gate) NewState() any {
	l, ok := gateLinks.Load(g.Link)
	if !ok {
		return (*flow)(nil) // the link is closing
	}
	return l.(*Link).newFlow(g.Direction)
}

// Pipe runs until the interrupt or the end of the connection.
func (g *gate) Pipe(stub *toxics.ToxicStub) {
	f, _ := stub.State.(*flow)
	if f == nil {
		new(toxics.NoopToxic).Pipe(stub)
		return
	}
	for again := true; again; {
		rs := f.link.rules.Load()
		if rs.quiet[f.dir] && f.empty() {
			again = f.pass(stub, rs)
		} else {
			again = f.regulate(stub, rs)
		}
	}
}

// pass is the short way, when there is no rule and nothing is kept: it hands
// on one chunk. It allocates nothing and takes no lock.
func (f *flow) pass(stub *toxics.ToxicStub, rs *ruleSet) (again bool) {
	select {
	case <-stub.Interrupt:
		return false
	case <-rs.changed:
		return true
	case c := <-stub.Input:
		if c == nil {
			stub.Close()
			return false
		}
		// The rules are read again: a rule must catch what is sent after its
		// Apply has returned, and select takes any case that is ready.
		if now := f.link.rules.Load(); now != rs {
			f.admit(c, now)
			return true
		}
		if f.dir == requests {
			f.parse.skip(c.Data)
		}
		return f.handOn(stub, c)
	}
}

func (f *flow) handOn(stub *toxics.ToxicStub, c *stream.StreamChunk) (again bool) {
	select {
	case stub.Output <- c:
		return true
	case <-stub.Interrupt:
		f.enqueue(piece{chunk: c, passed: true})
		return false
	}
}

// regulate is the long way: it waits for one thing to happen and sees to it.
func (f *flow) regulate(stub *toxics.ToxicStub, rs *ruleSet) (again bool) {
	head := f.settle(rs)
	if f.eof && f.empty() {
		stub.Close()
		return false
	}
	// A nil channel is never ready.
	var out chan<- *stream.StreamChunk
	if head != nil {
		out = stub.Output
	}
	in := stub.Input
	if f.eof || f.bytes > maxKept {
		in = nil
	}
	select {
	case <-stub.Interrupt:
		return false
	case <-rs.changed:
	case out <- head:
		f.shift()
	case c := <-in:
		if c == nil {
			f.eof = true
			break
		}
		f.admit(c, f.link.rules.Load())
	}
	return true
}
