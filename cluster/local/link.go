package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/Shopify/toxiproxy/v2/stream"

	"lockchaos/cluster"
)

// probeSource is the address that probes come from, so that a link can tell
// them from its host: all of 127.0.0.0/8 is this machine.
var probeSource = netip.AddrFrom4([4]byte{127, 0, 0, 2})

// dialTimeout bounds the way from a link to its node.
const dialTimeout = 5 * time.Second

// Link is the way from a host to a node: a Toxiproxy proxy whose connections
// are accepted here. Toxiproxy's own listener would neither reset a connection
// that is open (its reset_peer waits for a byte and then closes in peace), nor
// tell probes from the rest, nor go on accepting while one dial hangs.
type Link struct {
	name     string // of the proxy, unique in the machine
	title    string // for messages: "link w1→n1"
	upstream string
	proxy    *toxiproxy.Proxy
	toxi     *toxi
	listener net.Listener
	speaks   protocol

	rules  atomic.Pointer[ruleSet]
	counts counts
	// delayed: Toxiproxy has a latency toxic, or is about to get one.
	delayed atomic.Bool

	control chan struct{} // a token: one control call of Toxiproxy at a time

	starting sync.Mutex // guards next, over the start of one connection
	next     *conn

	mu     sync.Mutex // guards the rest, and changes of rules
	conns  map[*conn]bool
	delays map[string]delay
	unlaid bool // Toxiproxy may not do yet what delays say
	serial int
	closed bool

	wg     sync.WaitGroup
	living context.Context // until close
	die    context.CancelFunc
}

var _ cluster.Link = (*Link)(nil)

type counts struct {
	delivered               [directions]atomic.Int64
	held, dropped, commands atomic.Int64
	connections             atomic.Int64
}

// newLink opens a link on a port of its own.
func newLink(ctx context.Context, t *toxi, name, title, upstream string, speaks protocol) (*Link, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("%s: cannot listen on a free port of 127.0.0.1: %w", title, err)
	}
	l := &Link{
		name: name, title: title, upstream: upstream, toxi: t, listener: ln, speaks: speaks,
		control: make(chan struct{}, 1), conns: map[*conn]bool{}, delays: map[string]delay{},
	}
	l.living, l.die = context.WithCancel(context.Background())
	l.rules.Store(newRuleSet(nil))
	gateLinks.Store(t.key(l), l)
	if l.proxy, err = t.addProxy(ctx, l); err != nil {
		l.die()
		gateLinks.Delete(t.key(l))
		_ = ln.Close()
		return nil, err
	}
	l.wg.Go(l.accept)
	return l, nil
}

// Addr is where the host finds the node.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Counts is cheap: it reads six numbers.
func (l *Link) Counts() cluster.Counts {
	return cluster.Counts{
		RequestBytes: l.counts.delivered[requests].Load(),
		ReplyBytes:   l.counts.delivered[replies].Load(),
		HeldBytes:    l.counts.held.Load(),
		DroppedBytes: l.counts.dropped.Load(),
		HeldCommands: l.counts.commands.Load(),
		Connections:  l.counts.connections.Load(),
	}
}

func (l *Link) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // a client that went away while it was accepted
		}
		if !l.admit(c.(*net.TCPConn)) {
			return
		}
	}
}

// admit serves a connection; false once the link is closed.
func (l *Link) admit(client *net.TCPConn) bool {
	l.mu.Lock() // close waits for what was admitted before it
	defer l.mu.Unlock()
	if l.closed {
		_ = client.Close()
		return false
	}
	l.wg.Go(func() { l.serve(client) })
	return true
}

// serve opens the other side of a connection and hands both to Toxiproxy.
func (l *Link) serve(client *net.TCPConn) {
	from, _ := netip.ParseAddrPort(client.RemoteAddr().String())
	probe := from.Addr() == probeSource
	server, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(l.living, "tcp4", l.upstream)
	if err != nil { // as if the node had refused: a reset
		_ = client.SetLinger(0)
		_ = client.Close()
		return
	}
	if !probe {
		l.counts.connections.Add(1)
	}
	if !l.start(client, server.(*net.TCPConn), probe) {
		_ = server.Close()
		_ = client.Close()
	}
}

func (l *Link) start(client, server *net.TCPConn, probe bool) bool {
	l.starting.Lock()
	defer l.starting.Unlock()
	l.mu.Lock()
	l.serial++
	c := newConn(l, fmt.Sprint(l.serial), client, server, probe)
	l.mu.Unlock()

	l.next = c // StartLink makes the flows, through NewState of the gate
	c.flows[requests] = &flow{link: l, conn: c, dir: requests}
	c.flows[replies] = &flow{link: l, conn: c, dir: replies}
	// Known before it carries a byte, for a rule that is lifted just now.
	if !l.remember(c) {
		return false
	}
	api, ts := l.toxi.api, l.proxy.Toxics
	ts.StartLink(api, c.name+"-requests", source{c, requests, client}, c.sinks[requests], stream.Upstream)
	ts.StartLink(api, c.name+"-replies", source{c, replies, server}, c.sinks[replies], stream.Downstream)
	l.next = nil
	return true
}

// newFlow is called by the gate within StartLink.
func (l *Link) newFlow(d direction) *flow {
	if l.next == nil {
		return nil
	}
	return l.next.flows[d]
}

func (l *Link) remember(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.conns[c] = true
	return true
}

func (l *Link) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// open lists the connections at this time.
func (l *Link) open() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		list = append(list, c)
	}
	return list
}

// close ends the link and all its connections. It may be called twice.
func (l *Link) close(ctx context.Context) error {
	l.mu.Lock()
	was := l.closed
	l.closed = true
	l.mu.Unlock()
	if was {
		return nil
	}
	l.die()
	_ = l.listener.Close()
	for _, c := range l.open() {
		c.reset()
	}
	l.setRules(nil) // wakes the gates that hold
	err := l.toxi.removeProxy(ctx, l)
	l.wg.Wait()
	gateLinks.Delete(l.toxi.key(l))
	return err
}
