package workloads

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"lockchaos/cluster"
)

// pgClient is what one host has of connections to a server. pgx has a pool,
// which asks a connection for a sign of life before it hands it out, and
// connects in the background: that would be in the counts of a link. This one
// sends what it is told to, once.
type pgClient struct {
	addr string

	mu     sync.Mutex
	idle   []*pgx.Conn
	open   map[tracked]bool
	closed bool
}

// mostIdle is enough for a host, which does one thing at a time.
const mostIdle = 2

// errNotSent is wrapped by an error before anything was asked of the server.
var errNotSent = errors.New("not sent")

func newPgClient(addr string) *pgClient {
	return &pgClient{addr: addr, open: map[tracked]bool{}}
}

// with does something with a connection that nobody else uses meanwhile.
func (c *pgClient) with(ctx context.Context, do func(*pgx.Conn) error) error {
	conn, err := c.take(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotSent, err)
	}
	defer c.give(conn)
	return do(conn)
}

// take takes an idle connection that the server has not closed, or opens one.
func (c *pgClient) take(ctx context.Context) (*pgx.Conn, error) {
	for {
		conn := c.pop()
		if conn == nil {
			return c.connect(ctx)
		}
		if quiet(conn.PgConn().Conn().(tracked)) {
			return conn, nil
		}
		_ = conn.PgConn().Conn().Close()
	}
}

// quiet reports whether a connection is open and nothing has come on it, as the
// farewell of a server would. It costs one system call; pgx waits a millisecond.
// It must not wait for its turn to read: after a write that took long, pgx has a
// reader of its own in the background, which stays until something comes.
func quiet(conn tracked) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var b [1]byte
	var got error
	err = raw.Control(func(fd uintptr) {
		_, _, got = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	})
	return err == nil && errors.Is(got, unix.EAGAIN)
}

func (c *pgClient) pop() *pgx.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		return nil
	}
	conn := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	return conn
}

func (c *pgClient) give(conn *pgx.Conn) {
	if conn.IsClosed() { // by an error
		return
	}
	c.mu.Lock()
	keep := !c.closed && len(c.idle) < mostIdle
	if keep {
		c.idle = append(c.idle, conn)
	}
	c.mu.Unlock()
	if !keep {
		_ = conn.PgConn().Conn().Close()
	}
}

func (c *pgClient) connect(ctx context.Context) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&target_session_attrs=any",
		cluster.PostgresUser, c.addr, cluster.PostgresDatabase))
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams = map[string]string{"application_name": "chaos"} // and none from the environment
	// A statement with its values is one message there and one back; nothing is
	// prepared before it.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.ConnectTimeout = 0 // ctx decides
	cfg.DialFunc = c.dialOnce()
	return pgx.ConnectConfig(ctx, cfg)
}

// errNoCancel is what pgx gets in place of a second connection.
var errNoCancel = errors.New("a statement is not cancelled")

// dialOnce connects once. When its context ends, pgx would connect again to have
// the server cancel the statement; but here a client that has given up is gone,
// and what it has sent takes effect when it arrives.
func (c *pgClient) dialOnce() func(ctx context.Context, network, addr string) (net.Conn, error) {
	var once sync.Mutex
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if !once.TryLock() {
			return nil, errNoCancel
		}
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.closed {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		t := tracked{conn.(*net.TCPConn), c}
		c.open[t] = true
		return t, nil
	}
}

// tracked is a connection that its client knows of until it is closed.
type tracked struct {
	*net.TCPConn
	client *pgClient
}

func (t tracked) Close() error {
	t.client.mu.Lock()
	delete(t.client.open, t)
	t.client.mu.Unlock()
	return t.TCPConn.Close()
}

// close ends all connections, those in use as well.
func (c *pgClient) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed, c.idle = true, nil
	for conn := range c.open {
		_ = conn.TCPConn.Close()
	}
	clear(c.open)
}
