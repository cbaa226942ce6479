package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// client is a plain Redis client through a link.
type client struct {
	net.Conn
	t  testing.TB
	in *bufio.Reader
}

func dial(t testing.TB, c *Cluster, host, node string) *client {
	t.Helper()
	conn, err := net.Dial("tcp4", c.links[pair{host, node}].Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{Conn: conn, t: t, in: bufio.NewReader(conn)}
}

func request(words ...string) string {
	s := fmt.Sprintf("*%d\r\n", len(words))
	for _, w := range words {
		s += fmt.Sprintf("$%d\r\n%s\r\n", len(w), w)
	}
	return s
}

func (c *client) send(words ...string) { c.raw(request(words...)) }

func (c *client) raw(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) line(within time.Duration) (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return "", err
	}
	s, err := c.in.ReadString('\n')
	return strings.TrimRight(s, "\r\n"), err
}

func (c *client) expect(lines ...string) {
	c.t.Helper()
	for _, want := range lines {
		if got, err := c.line(10 * time.Second); err != nil || got != want {
			c.t.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
}

// silent: for a while, nothing comes.
func (c *client) silent() {
	c.t.Helper()
	if got, err := c.line(30 * time.Millisecond); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
		c.t.Fatalf("got %q, %v; want silence", got, err)
	}
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// linked is a cluster with one link.
func linked(t testing.TB) (*Cluster, *Link) {
	t.Helper()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}, Hosts: []cluster.HostSpec{{Name: "w1"}}})
	return c, c.links[pair{"w1", "n1"}]
}

func apply(t testing.TB, l *Link, id string, r cluster.Rule) {
	t.Helper()
	if err := l.Apply(deadline(t), id, r); err != nil {
		t.Fatal(err)
	}
}

func lift(t testing.TB, l *Link, id string) {
	t.Helper()
	if err := l.Lift(deadline(t), id); err != nil {
		t.Fatal(err)
	}
}
