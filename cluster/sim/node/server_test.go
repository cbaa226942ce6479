package node

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// server is a connection to a real redis-server of the test's own.
type server struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	w    *bufio.Writer
}

// startServer starts a redis-server on a free port and ends it with the test.
func startServer(t *testing.T) *server {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("no redis-server")
	}
	for range 5 { // another may take the port before the server does
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr := l.Addr().String()
		_, port, _ := net.SplitHostPort(addr)
		l.Close()
		cmd := exec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() { cmd.Wait(); close(gone) }()
		t.Cleanup(func() { cmd.Process.Kill(); <-gone })
		if s := dial(t, addr, gone); s != nil {
			return s
		}
	}
	t.Fatal("redis-server does not start")
	return nil
}

// dial waits until the server answers PING; nil if it ends before.
func dial(t *testing.T, addr string, gone chan struct{}) *server {
	deadline := time.After(10 * time.Second)
	for {
		if conn, err := net.Dial("tcp", addr); err == nil {
			s := &server{t, conn, bufio.NewReader(conn), bufio.NewWriter(conn)}
			t.Cleanup(func() { conn.Close() })
			if s.do("PING") == Status("PONG") {
				return s
			}
		}
		select {
		case <-gone:
			return nil
		case <-deadline:
			t.Fatal("redis-server does not answer")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *server) send(args []string) {
	fmt.Fprintf(s.w, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(s.w, "$%d\r\n%s\r\n", len(a), a)
	}
}

func (s *server) flush() {
	if err := s.w.Flush(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) do(args ...string) any {
	s.send(args)
	s.flush()
	return s.reply()
}

// reply reads one reply into the types of Node.Do.
func (s *server) reply() any {
	line, err := s.r.ReadString('\n')
	if err != nil || len(line) < 3 {
		s.t.Fatalf("redis-server: %q, %v", line, err)
	}
	kind, rest := line[0], line[1:len(line)-2]
	n, _ := strconv.ParseInt(rest, 10, 64)
	switch kind {
	case '+':
		return Status(rest)
	case '-':
		return Error(rest)
	case ':':
		return n
	case '$':
		return s.bulk(n)
	}
	if n < 0 {
		return nil
	}
	out := make([]any, n)
	for i := range out {
		out[i] = s.reply()
	}
	return out
}

func (s *server) bulk(n int64) any {
	if n < 0 {
		return nil
	}
	b := make([]byte, n+2)
	if _, err := io.ReadFull(s.r, b); err != nil {
		s.t.Fatal(err)
	}
	return string(b[:n])
}
