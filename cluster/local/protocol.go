package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// protocol is what is spoken on a link.
type protocol struct {
	name string
	// commands: requests are told apart, so a rule may name some.
	commands bool
	// probe asks for a sign of life, over a connection of its own from a local address.
	probe func(ctx context.Context, from, addr string) error
}

var (
	redisProtocol    = protocol{"Redis", true, ping}
	postgresProtocol = protocol{"PostgreSQL", false, askForTLS}
)

// Probe asks the node for a sign of life through the link.
func (l *Link) Probe(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	if err := l.speaks.probe(ctx, probeSource.String(), l.Addr()); err != nil {
		return 0, fmt.Errorf("%s: probe: %w", l.title, err)
	}
	return time.Since(start), nil
}

func ping(ctx context.Context, from, addr string) error {
	reply, err := ask(ctx, from, addr, "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("unexpected reply %q to PING", reply)
	}
	return err
}

// sslRequest is the code of the packet with which a Postgres client may begin.
const sslRequest = 80877103

// askForTLS is the shortest exchange with a Postgres server: eight bytes, and
// one that says whether it would encrypt. It needs no login.
func askForTLS(ctx context.Context, from, addr string) error {
	c, err := dialFrom(ctx, from, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	request := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), sslRequest)
	_, err = c.Write(request)
	var reply [1]byte
	if err == nil {
		_, err = io.ReadFull(c, reply[:])
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("SSLRequest at %s: %w", addr, ctx.Err())
	case err != nil:
		return fmt.Errorf("SSLRequest at %s: %w", addr, err)
	case reply[0] != 'N' && reply[0] != 'S':
		return fmt.Errorf("unexpected reply %q to SSLRequest", reply[0])
	}
	return nil
}
