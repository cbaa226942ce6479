package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// front is an address of this machine that leads to a server elsewhere, so that
// links, probes and clients need not know how that is reached.
type front struct {
	node     string
	listener net.Listener
	dial     func(context.Context) (net.Conn, error)

	living context.Context // until close
	die    context.CancelFunc
	wg     sync.WaitGroup
}

func openFront(node string, dial func(context.Context) (net.Conn, error)) (*front, error) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("node %s: cannot listen on a free port of 127.0.0.1 for the way to it: %w", node, err)
	}
	f := &front{node: node, listener: ln, dial: dial}
	f.living, f.die = context.WithCancel(context.Background())
	f.wg.Go(f.serve)
	return f, nil
}

func (f *front) addr() string { return f.listener.Addr().String() }

func (f *front) serve() {
	for {
		c, err := f.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // a client that went away while it was accepted
		}
		f.wg.Go(func() { f.lead(c) })
	}
}

// lead carries one connection. Where the server cannot be reached it is reset, as
// if the server had refused.
func (f *front) lead(near net.Conn) {
	ctx, cancel := context.WithTimeout(f.living, dialTimeout)
	far, err := f.dial(ctx)
	cancel()
	if err != nil {
		abort(near)
		return
	}
	Splice(f.living, near, far)
}

// Splice carries bytes between two connections until both directions have ended,
// one is broken, or ctx ends, and closes both. The end of one direction is passed
// on, and so is a reset.
func Splice(ctx context.Context, a, b net.Conn) {
	stop := context.AfterFunc(ctx, func() { abort(a); abort(b) })
	defer stop()
	var wg sync.WaitGroup
	carry := func(to, from net.Conn) {
		if _, err := io.Copy(to, from); err != nil {
			abort(a)
			abort(b)
			return
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
			return
		}
		_ = to.Close()
	}
	wg.Go(func() { carry(a, b) })
	wg.Go(func() { carry(b, a) })
	wg.Wait()
	_, _ = a.Close(), b.Close()
}

// abort closes a connection with a reset, where it is one of TCP.
func abort(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (f *front) close() {
	f.die()
	_ = f.listener.Close()
	f.wg.Wait()
}
