package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// ask sends one command over a connection of its own and returns a simple,
// bulk or integer reply. It ends with ctx. from is the local address, or empty.
func ask(ctx context.Context, from, addr string, command ...string) (string, error) {
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := d.DialContext(ctx, "tcp4", addr)
	if err != nil {
		return "", fmt.Errorf("%s at %s: %w", command[0], addr, err)
	}
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	reply, err := exchange(c, command)
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("%s at %s: %w", command[0], addr, err)
	}
	return reply, nil
}

// encode is a command as it goes over the wire.
func encode(command []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, w := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b.String()
}

func exchange(c net.Conn, command []string) (string, error) {
	if _, err := io.WriteString(c, encode(command)); err != nil {
		return "", err
	}
	br := bufio.NewReader(c)
	line, err := br.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"), strings.HasPrefix(line, ":"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("unexpected reply %q", line)
		}
		body := make([]byte, n)
		_, err = io.ReadFull(br, body)
		return string(body), err
	}
	return "", fmt.Errorf("unexpected reply %q", line)
}

// Probe sends a PING through the link over a connection of its own.
func (l *Link) Probe(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	reply, err := ask(ctx, probeSource.String(), l.Addr(), "PING")
	if err == nil && reply != "PONG" {
		err = fmt.Errorf("unexpected reply %q to PING", reply)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: probe: %w", l.title, err)
	}
	return time.Since(start), nil
}
