package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// teller asks a node for its TIME over a connection of its own.
type teller struct {
	conn net.Conn
	stop func() bool
	mute error // why the node says nothing; then there is no conn
}

func dialTeller(ctx context.Context, addr string) (*teller, error) {
	d := net.Dialer{}
	c, err := d.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its time: %w", addr, err)
	}
	return &teller{conn: c, stop: context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })}, nil
}

// tellerOf asks a node, where there is somebody to ask.
func tellerOf(ctx context.Context, n *node, addr string) *teller {
	if n.halted() {
		return &teller{mute: errHalted}
	}
	t, err := dialTeller(ctx, addr)
	if err != nil {
		return &teller{mute: err}
	}
	return t
}

var errHalted = errors.New("its process is stopped")

func (t *teller) close() {
	if t.mute == nil {
		t.stop()
		_ = t.conn.Close()
	}
}

func (t *teller) do(command ...string) ([]string, error) { return exchange(t.conn, command) }

// reading is a clock, read once.
type reading struct {
	shown time.Time
	at    time.Time     // when, by the harness's clock, give or take …
	doubt time.Duration // … this
}

// ahead is how far the clock is ahead of the harness's.
func (r reading) ahead() time.Duration { return r.shown.Sub(r.at.Round(0)) }

// read asks once.
func (t *teller) read() (reading, error) {
	if t.mute != nil {
		return reading{}, t.mute
	}
	asked := time.Now()
	reply, err := t.do("TIME")
	took := time.Since(asked)
	if err != nil {
		return reading{}, fmt.Errorf("TIME: %w", err)
	}
	if len(reply) != 2 {
		return reading{}, fmt.Errorf("TIME: unexpected reply %q", reply)
	}
	s, err1 := strconv.ParseInt(reply[0], 10, 64)
	us, err2 := strconv.ParseInt(reply[1], 10, 64)
	if err1 != nil || err2 != nil {
		return reading{}, fmt.Errorf("TIME: unexpected reply %q", reply)
	}
	shown := time.Unix(s, us*int64(time.Microsecond))
	return reading{shown, asked.Add(took / 2), took/2 + time.Microsecond}, nil
}

// best asks some times and takes the answer that came fastest.
func (t *teller) best() (reading, error) {
	const most, good = 20, 100 * time.Microsecond
	var best reading
	for i := range most {
		r, err := t.read()
		if err != nil {
			return r, err
		}
		if i == 0 || r.doubt < best.doubt {
			best = r
		}
		if i > 1 && best.doubt <= good {
			break
		}
	}
	return best, nil
}
