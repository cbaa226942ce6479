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
	if err == nil && len(reply) != 1 {
		err = fmt.Errorf("unexpected reply %q", reply)
	}
	if err != nil {
		return "", fmt.Errorf("%s at %s: %w", command[0], addr, err)
	}
	return reply[0], nil
}

// dialFrom connects from a local address, or from any where it is empty.
func dialFrom(ctx context.Context, from, addr string) (net.Conn, error) {
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	return d.DialContext(ctx, "tcp4", addr)
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

// exchange sends a command and reads its reply: a simple or bulk string, or a flat
// list of these.
func exchange(c net.Conn, command []string) ([]string, error) {
	if _, err := io.WriteString(c, encode(command)); err != nil {
		return nil, err
	}
	br := bufio.NewReader(c)
	line, err := readLine(br)
	if n, list := strings.CutPrefix(line, "*"); list && err == nil {
		return readList(br, n)
	}
	if err != nil {
		return nil, err
	}
	one, err := readString(br, line)
	return []string{one}, err
}

func readLine(br *bufio.Reader) (string, error) {
	line, err := br.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func readList(br *bufio.Reader, length string) ([]string, error) {
	n, err := strconv.Atoi(length)
	if err != nil {
		return nil, fmt.Errorf("unexpected reply %q", "*"+length)
	}
	var list []string
	for range n {
		line, err := readLine(br)
		if err != nil {
			return nil, err
		}
		one, err := readString(br, line)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// readString reads what its first line begins.
func readString(br *bufio.Reader, line string) (string, error) {
	switch {
	case strings.HasPrefix(line, "+"), strings.HasPrefix(line, ":"):
		return line[1:], nil
	case strings.HasPrefix(line, "$"):
		n, err := strconv.Atoi(line[1:])
		if err != nil || n < 0 {
			return "", fmt.Errorf("unexpected reply %q", line)
		}
		body := make([]byte, n+len("\r\n"))
		if _, err := io.ReadFull(br, body); err != nil {
			return "", err
		}
		return string(body[:n]), nil
	}
	return "", fmt.Errorf("unexpected reply %q", line)
}
