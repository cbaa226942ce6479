package host_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a redis-server of a test's own, which ends with the test, or with
// the test process.
type server struct {
	*redis.Client // past all that is under test
	addr          string
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

func startRedis(t testing.TB) *server {
	t.Helper()
	var err error
	for range 5 { // another may take the port first
		var s *server
		if s, err = tryRedis(t); err == nil {
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func tryRedis(t testing.TB) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command("redis-server", "--save", "", "--bind", "127.0.0.1", "--dir", t.TempDir(), "--port", addr[strings.LastIndex(addr, ":")+1:])
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
	s := &server{addr: addr, cmd: cmd}
	t.Cleanup(s.kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go io.Copy(io.Discard, out)
			s.Client = redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
			t.Cleanup(func() { s.Client.Close() })
			return s, nil
		}
	}
	return nil, errors.New("redis-server ended before it was ready")
}

// kill may be called twice.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// value is what a key holds; "" if it is not there.
func (s *server) value(t testing.TB, key string) string {
	t.Helper()
	v, err := s.Get(t.Context(), key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return v
}

// until polls for a condition.
func until(t testing.TB, what string, ok func() bool) {
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
