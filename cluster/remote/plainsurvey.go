package remote

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"lockchaos/cluster"
)

// UnfitError says why a server cannot be used, though it answers.
type UnfitError struct{ why string }

func (e *UnfitError) Error() string { return e.why }

func unfit(format string, args ...any) error { return &UnfitError{fmt.Sprintf(format, args...)} }

// facts are what a plain server says of itself.
type facts struct {
	kind    string // redis, valkey
	version string
	role    string
	mode    string
	policy  string // what is evicted when its memory is full; empty where it does not say
	keys    int64  // of all its users
}

// oldest is the first version whose scripts may write after a SCAN.
const oldest = 5

// A link that is cut is known by its silence over 30 ms. A server that takes long
// to answer on a new connection would prove nothing by that.
const slowest = 20 * time.Millisecond

// survey asks a server what it is, without a command that only administrators may send.
func (s *plainServer) survey(ctx context.Context) error {
	f, err := s.ask(ctx)
	if err != nil {
		return err
	}
	s.facts = f
	switch {
	case f.mode == "sentinel":
		return unfit("it is a Sentinel, which keeps no keys")
	case f.mode == "cluster":
		return unfit("it is a server of a Redis Cluster, which would send clients elsewhere, past their links: use a standalone server")
	case f.role != "master":
		return unfit("it is a replica, which takes no writes: name its master")
	}
	if major, _, _ := strings.Cut(f.version, "."); f.kind == "redis" {
		if n, err := strconv.Atoi(major); err == nil && n < oldest {
			return unfit("it is Redis %s, expected %d or later", f.version, oldest)
		}
	}
	if s.facts.keys, err = s.client.DBSize(ctx).Result(); err != nil {
		return err
	}
	return s.pace(ctx)
}

// ask asks with HELLO, which everybody may send, and with INFO where that is allowed.
func (s *plainServer) ask(ctx context.Context) (facts, error) {
	f := facts{kind: "redis"}
	told, err := s.client.Do(ctx, "HELLO", "2").Slice()
	if err == nil {
		for i := 0; i+1 < len(told); i += 2 {
			f.set(fmt.Sprint(told[i]), fmt.Sprint(told[i+1]))
		}
	} else if !strings.Contains(strings.ToLower(err.Error()), "unknown command") { // before Redis 6
		return f, err
	}
	text, infoErr := s.client.Info(ctx).Result()
	if infoErr == nil {
		for line := range strings.Lines(text) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), ":")
			f.set(k, v)
		}
	} else if err != nil || !refusedByACL(infoErr) {
		return f, infoErr
	}
	return f, nil
}

func (f *facts) set(key, value string) {
	switch key {
	case "server":
		f.kind = value
	case "version", "redis_version":
		if f.version == "" || f.kind == "redis" { // what is not Redis names in INFO the version that it is like
			f.version = value
		}
	case "mode", "redis_mode":
		f.mode = value
	case "role":
		f.role = value
	case "maxmemory_policy":
		f.policy = value
	}
}

func refusedByACL(err error) bool { return strings.HasPrefix(err.Error(), "NOPERM") }

// pace sees that a new connection answers soon.
func (s *plainServer) pace(ctx context.Context) error {
	const tries = 5
	best := time.Hour
	for range tries {
		start := time.Now()
		conn, err := s.dial.Dial(ctx)
		if err != nil {
			return err
		}
		err = pingOver(ctx, conn)
		_ = conn.Close()
		if err != nil {
			return err
		}
		best = min(best, time.Since(start))
	}
	if best > slowest {
		return unfit("a new connection to it takes %s until a PING is answered, and a link that is cut could not be told from it by its silence: run this within %s of it",
			best.Round(time.Millisecond), slowest)
	}
	return nil
}

func pingOver(ctx context.Context, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
		return err
	}
	const pong = "+PONG\r\n"
	b := make([]byte, len(pong))
	for n := 0; n < len(b); {
		m, err := conn.Read(b[n:])
		if err != nil {
			return err
		}
		n += m
	}
	if string(b) != pong {
		return fmt.Errorf("unexpected reply %q to PING", b)
	}
	return nil
}

// try does once what runs do, under the prefix: what is not allowed is found before
// the first run, and not in its midst.
func (s *plainServer) try(ctx context.Context, prefix string) error {
	key := prefix + "lockchaos:mine:" + s.name
	const script = `redis.call("RPUSH", KEYS[1], "1") return redis.call("PEXPIRE", KEYS[1], ARGV[1])`
	c, brief := s.client, time.Minute
	s.wrote = true
	for _, done := range []redis.Cmder{
		c.SetNX(ctx, key, s.name, brief),
		c.Get(ctx, key),
		c.PTTL(ctx, key),
		c.Eval(ctx, script, []string{key + ":list"}, brief.Milliseconds()),
		c.ScriptLoad(ctx, script),
		c.Scan(ctx, 0, cluster.Under(prefix), pageSize),
		c.Unlink(ctx, key+":list"),
	} {
		if err := done.Err(); err != nil && refusedByACL(err) {
			return unfit("its user may not do all that is needed, with keys %s: %s: %v", cluster.Under(everyPrefix), done.Name(), err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", done.Name(), err)
		}
	}
	return nil
}

// apart sees that the server has no key of the others: else two nodes are one server.
func (s *plainServer) apart(ctx context.Context, prefix string, others []*plainServer) error {
	for _, o := range others {
		if o == s {
			continue
		}
		n, err := s.client.Exists(ctx, prefix+"lockchaos:mine:"+o.name).Result()
		if err != nil {
			return err
		}
		if n > 0 {
			return unfit("it is the same server as %s, under another entry: each needs one of its own", o)
		}
	}
	return nil
}

// clientOptions send each command once, and none but those that are asked for.
func clientOptions(d *dialer) *redis.Options {
	return &redis.Options{
		Addr: d.addr, Protocol: 2, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DisableIdentity: true, PipelinePoolSize: -1, PoolSize: 2,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		Dialer:                   func(ctx context.Context, _, _ string) (net.Conn, error) { return d.Dial(ctx) },
	}
}
