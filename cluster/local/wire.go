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

// ask sends one command over a connection of its own and returns a simple or
// bulk reply. It ends with ctx. from is the local address, or empty.
func ask(ctx context.Context, from, addr string, command ...string) (string, error) {
	c, err := dialFrom(ctx, from, addr)
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

// dialFrom connects from a local address, or from any where it is empty.
func dialFrom(ctx context.Context, from, addr string) (net.Conn, error) {
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return d.DialContext(ctx, "tcp4", addr)
}

func exchange(c net.Conn, command []string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(command))
	for _, w := range command {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(c, b.String()); err != nil {
		return "", err
	}
	br := bufio.NewReader(c)
	line, err := br.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	switch {
	case strings.HasPrefix(line, "+"):
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
