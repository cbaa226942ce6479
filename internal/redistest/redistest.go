// Package redistest starts a real redis-server for a test. Only tests import it.
package redistest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Server is a redis-server of a test's own, which ends with the test, or with
// the test process.
type Server struct {
	*redis.Client // past all that is under test
	Addr          string
	cmd           *exec.Cmd
}

// forks are done on one thread that lives as long as the process: the death of
// the thread that forked would kill the child.
var forks = make(chan func())

func init() {
	go func() {
		runtime.LockOSThread()
		for f := range forks {
			f()
		}
	}()
}

// Start starts a server on a free port, and returns when it is ready. args are
// more arguments of redis-server.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return start(t, "Ready to accept connections", append([]string{"--save", ""}, args...))
}

// StartSentinel starts a Sentinel that watches nobody.
func StartSentinel(t testing.TB) *Server {
	t.Helper()
	config := filepath.Join(t.TempDir(), "sentinel.conf") // which it writes to
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, "Sentinel ID is", []string{config, "--sentinel"})
}

func start(t testing.TB, ready string, args []string) *Server {
	t.Helper()
	var err error
	for range 5 { // another may take the port first
		var s *Server
		if s, err = try(t, ready, args); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func try(t testing.TB, ready string, args []string) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command("redis-server", append(slices.Clone(args), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--port", addr[strings.LastIndex(addr, ":")+1:])...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	started := make(chan error)
	forks <- func() { started <- cmd.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	s := &Server{Addr: addr, cmd: cmd}
	t.Cleanup(s.Kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), ready) {
			go io.Copy(io.Discard, out)
			s.Client = redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
			t.Cleanup(func() { s.Client.Close() })
			return s, nil
		}
	}
	return nil, errors.New("redis-server ended before it was ready")
}

// Kill may be called twice.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Stopped stops the server while f runs.
func (s *Server) Stopped(t testing.TB, f func()) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer s.cmd.Process.Signal(syscall.SIGCONT)
	f()
}

// Value is what a key holds; "" if it is not there.
func (s *Server) Value(t testing.TB, key string) string {
	t.Helper()
	v, err := s.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

// Until polls for a condition.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Second, fmt.Errorf("waiting until %s", what))
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			t.Fatal(context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
}
