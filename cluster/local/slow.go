package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/internal/concurrent"
)

var _ cluster.SpeedControl = (*Cluster)(nil)

// slowness keeps a server busy. Redis does one command at a time: two
// connections send DEBUG SLEEP, each again as soon as it has its answer, so that
// one of them is always under way and the other next.
//
//	hog 1   sleep ──────┐         ┌ sleep ──────┐
//	hog 2        (waits)└ sleep ──┘      (waits)└ sleep ─
//	client        PING ───────────► PONG
//
// A command that comes in the middle of one waits for its end and for the next,
// in one turn of the server's loop: between one and two of them, whatever the
// machine does. It needs no processor, and nothing of the process itself is
// touched, so that another fault can stop or kill it.
type slowness struct {
	latency time.Duration
	stop    context.CancelFunc
	hogs    sync.WaitGroup
}

const hogs = 2

func newSlowness(addr string, latency time.Duration) *slowness {
	ctx, cancel := context.WithCancel(context.Background())
	s := &slowness{latency: latency, stop: cancel}
	for range hogs {
		s.hogs.Go(func() { s.hog(ctx, addr) })
	}
	return s
}

func (s *slowness) end() {
	s.stop()
	s.hogs.Wait()
}

// hog keeps the server busy until ctx ends, a server that was started again, too.
func (s *slowness) hog(ctx context.Context, addr string) {
	for ctx.Err() == nil {
		if c, err := dialRaw(ctx, addr); err == nil {
			for err == nil {
				_, err = c.do("DEBUG", "SLEEP", seconds(s.latency))
			}
			c.close()
		}
		_ = concurrent.Sleep(ctx, tick) // it is down, or ctx has ended
	}
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// SlowNode makes a node slow. It is slow for all: for operators, too.
func (c *Cluster) SlowNode(ctx context.Context, name string, latency time.Duration) (string, error) {
	_, addr, err := c.reach(name)
	if err != nil {
		return "", err
	}
	if reply, err := ask(ctx, "", addr, "DEBUG", "SLEEP", "0"); err != nil || reply != "OK" {
		return "", fmt.Errorf("node %s: DEBUG SLEEP: %q, %w", name, reply, err)
	}
	p, err := dialPinger(ctx, addr) // while it is fast
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	defer p.close()
	_, err = c.withNode(name, func(n *node) (string, error) {
		if n.slow != nil {
			return "", fmt.Errorf("node %s is slow already", name)
		}
		n.slow = newSlowness(addr, latency)
		return "", nil
	})
	if err != nil {
		return "", err
	}
	median, err := p.slowed(latency)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	return fmt.Sprintf("PING took %s at the median of %d", median.Round(time.Millisecond/10), cluster.Pings(latency)), nil
}

// settle is how long a server may take to become slow, or fast again: on a busy
// machine its hogs have not yet connected when the first PINGs are answered.
const settle = 3 * time.Second

// HurryNode lets a node be as fast as it can.
func (c *Cluster) HurryNode(ctx context.Context, name string) (string, error) {
	var addr string
	var slow *slowness
	_, err := c.withNode(name, func(n *node) (string, error) {
		addr, slow = n.port.addr(), n.slow
		n.slow = nil
		return "", nil
	})
	if err != nil {
		return "", err
	}
	latency := 2 * settle // one that was not slow is as fast as it is
	if slow != nil {
		slow.end()
		latency = slow.latency
	}
	median, err := hurried(ctx, addr, latency)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	return fmt.Sprintf("PING took %s at the median of %d", median.Round(10*time.Microsecond), cluster.Pings(latency)), nil
}

// hurried wants PINGs to take half the latency at most, soon.
func hurried(ctx context.Context, addr string, latency time.Duration) (time.Duration, error) {
	p, err := dialPinger(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer p.close()
	return p.settled(latency, func(median time.Duration) error {
		if median > latency/2 {
			return fmt.Errorf("PING still takes %s at the median, expected %s or less", median, latency/2)
		}
		return nil
	})
}

// pinger measures what PINGs take, on a connection that has had its first.
type pinger struct{ *rawConn }

func dialPinger(ctx context.Context, addr string) (*pinger, error) {
	c, err := dialRaw(ctx, addr)
	if err != nil {
		return nil, err
	}
	p := &pinger{c}
	if _, err := p.median(1, 0); err != nil { // it has the connecting in it
		p.close()
		return nil, err
	}
	return p, nil
}

// median is that of so many PINGs, with some time before each.
func (p *pinger) median(pings int, apart time.Duration) (time.Duration, error) {
	var took []time.Duration
	for range pings {
		time.Sleep(apart)
		start := time.Now()
		if _, err := p.do("PING"); err != nil {
			return 0, fmt.Errorf("PING at %s: %w", p.RemoteAddr(), err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// slowed wants PINGs to take the latency at least, soon.
func (p *pinger) slowed(latency time.Duration) (time.Duration, error) {
	return p.settled(latency, func(median time.Duration) error {
		if median < latency {
			return fmt.Errorf("PING took %s at the median, expected %s or more", median, latency)
		}
		return nil
	})
}

// apart is how long after an answer the next PING is sent at most. All whom the server
// answers in one turn of its loop send their next at once, and a PING that is sooner
// than what keeps the server busy finds it free for that moment.
const apart = 25 * time.Millisecond

// settled measures until the median is as it should be.
func (p *pinger) settled(latency time.Duration, wrong func(median time.Duration) error) (time.Duration, error) {
	end := time.Now().Add(settle)
	for {
		median, err := p.median(cluster.Pings(latency), min(latency/2, apart))
		if err != nil {
			return 0, err
		}
		if err = wrong(median); err == nil || time.Now().After(end) {
			return median, err
		}
	}
}

// rawConn is a connection that ends with a context.
type rawConn struct {
	net.Conn
	in   *bufio.Reader
	stop func() bool
}

func dialRaw(ctx context.Context, addr string) (*rawConn, error) {
	d := net.Dialer{}
	c, err := d.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	return &rawConn{c, bufio.NewReader(c), stop}, nil
}

func (c *rawConn) close() {
	c.stop()
	_ = c.Close() // nothing is lost
}

// do sends a command whose reply is one line.
func (c *rawConn) do(command ...string) (string, error) {
	if _, err := io.WriteString(c, encode(command)); err != nil {
		return "", err
	}
	line, err := c.in.ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+") {
		err = fmt.Errorf("unexpected reply %q", line)
	}
	return line, err
}
