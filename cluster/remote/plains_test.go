package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/internal/redistest"
)

// rights are those of a user who may do what runs need, and next to nothing else.
var rights = []string{"resetkeys", "~lockchaos:*", "+@all", "-@dangerous", "-@admin"}

// limited makes a user who may do nothing outside lockchaos:*, and nothing that is
// dangerous or an administrator's, and returns the server as that user sees it.
func limited(t *testing.T, s *redistest.Server) Plain {
	t.Helper()
	rules := []any{"ACL", "SETUSER", "app", "on", ">" + hush}
	for _, r := range rights {
		rules = append(rules, r)
	}
	if err := s.Do(t.Context(), rules...).Err(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte(hush+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Plain{Server: s.Addr, User: "app", PasswordFile: file}
}

func opened(t *testing.T, entries map[string]Plain) *plainServers {
	t.Helper()
	p, err := openPlainServers(deadline(t), entries)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// A server is asked what it is, by a user who may not ask for INFO, and nothing is
// left on it.
func TestSurvey(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	if err := s.Set(t.Context(), "other", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		plain Plain
		says  string
		warns int
	}{
		"everything":     {Plain{Server: s.Addr}, ", maxmemory-policy allkeys-lru, not started by this program", 1},
		"a limited user": {limited(t, s), ", not started by this program", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := opened(t, map[string]Plain{"lock1": c.plain})
			if says := p.servers[0].describe(); !strings.HasPrefix(says, "redis ") || !strings.HasSuffix(says, c.says) {
				t.Errorf("it says %q", says)
			}
			if w := p.warnings(); len(w) != c.warns {
				t.Errorf("warnings %q", w)
			}
			if keys := s.Keys(t.Context(), "*").Val(); len(keys) != 1 {
				t.Errorf("keys %q", keys)
			}
		})
	}
}

// What cannot be used is refused with the reason, and no secret in it.
func TestUnfit(t *testing.T) {
	t.Parallel()
	one := redistest.Start(t)
	replica := redistest.Start(t, "--replicaof", "127.0.0.1", "1")
	inCluster := redistest.Start(t, "--cluster-enabled", "yes")
	app := limited(t, one)
	if err := one.Do(t.Context(), "ACL", "SETUSER", "reader", "on", ">"+hush, "~lockchaos:*", "+@read", "+@connection", "+dbsize").Err(); err != nil {
		t.Fatal(err)
	}
	if err := one.Do(t.Context(), "ACL", "SETUSER", "elsewhere", "on", ">"+hush, "~mine:*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	as := func(user string) Plain {
		p := app
		p.User = user
		return p
	}
	for name, c := range map[string]struct {
		entries map[string]Plain
		says    string
		unfit   bool
	}{
		"a replica":           {map[string]Plain{"n": {Server: replica.Addr}}, "it is a replica", true},
		"of a cluster":        {map[string]Plain{"n": {Server: inCluster.Addr}}, "Redis Cluster", true},
		"twice the same":      {map[string]Plain{"a": app, "b": {Server: strings.Replace(one.Addr, "127.0.0.1", "localhost", 1)}}, "the same server as b", true},
		"nobody there":        {map[string]Plain{"n": {Server: "127.0.0.1:1"}}, "refused", false},
		"an unknown user":     {map[string]Plain{"n": as("nobody")}, "WRONGPASS", false},
		"only reading":        {map[string]Plain{"n": as("reader")}, "may not do all that is needed, with keys lockchaos:*: set:", true},
		"another prefix":      {map[string]Plain{"n": as("elsewhere")}, "may not do all that is needed, with keys lockchaos:*", true},
		"no such variable":    {map[string]Plain{"n": {Server: one.Addr, PasswordEnv: "LOCKCHAOS_TEST_UNSET"}}, "LOCKCHAOS_TEST_UNSET is not set", true},
		"no such file":        {map[string]Plain{"n": {Server: one.Addr, PasswordFile: "/nonexistent"}}, "password_file: ", true},
		"TLS, which it isn't": {map[string]Plain{"n": {Server: one.Addr, TLS: true}}, "TLS with", false},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := openPlainServers(deadline(t), c.entries)
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), hush) {
				t.Errorf("it says %v, expected %q", err, c.says)
			}
			var u *UnfitError
			if errors.As(err, &u) != c.unfit {
				t.Errorf("unfit: %v, expected %v: %v", !c.unfit, c.unfit, err)
			}
			if keys := one.Keys(t.Context(), "*").Val(); len(keys) != 0 {
				t.Errorf("it has left %q", keys)
			}
		})
	}
}

// A Sentinel does not answer to what other servers do.
func TestUnfitSentinel(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinel(t)
	_, err := openPlainServers(deadline(t), map[string]Plain{"n": {Server: s.Addr}})
	var u *UnfitError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "it is a Sentinel") {
		t.Errorf("it says %v", err)
	}
}

// The password of a variable is gone from the environment, which hosts inherit.
func TestPasswordIsForgotten(t *testing.T) {
	s := redistest.Start(t, "--requirepass", hush)
	const variable = "LOCKCHAOS_TEST_PASSWORD"
	t.Setenv(variable, hush)
	opened(t, map[string]Plain{"n": {Server: s.Addr, PasswordEnv: variable}})
	if v, ok := os.LookupEnv(variable); ok {
		t.Errorf("it is still %q", v)
	}
}

// What is left of a run is found among many keys, and the others stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := opened(t, map[string]Plain{"n": limited(t, s)})
	members := map[string]Member{"n1": {Name: "n", Plain: p.servers[0].plain}}
	loan, other := p.lend(members), p.lend(members)
	const many = 5000
	pipe := s.Pipeline()
	for i := range many {
		pipe.Set(t.Context(), fmt.Sprint("other:", i), i, 0)
		pipe.Set(t.Context(), fmt.Sprint(loan.prefix, i), i, 0)
		pipe.Set(t.Context(), fmt.Sprint(other.prefix, i), i, 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	left := func(what string, want int64) {
		t.Helper()
		if n := s.DBSize(t.Context()).Val(); n != want {
			t.Errorf("%s: %d keys, expected %d", what, n, want)
		}
	}
	if err := loan.giveBack(); err != nil {
		t.Error(err)
	}
	left("after one run", 2*many)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	left("after all", many)
	s.Kill()
	if err := loan.giveBack(); err == nil || !strings.Contains(err.Error(), "may be left") {
		t.Errorf("without a server: %v", err)
	}
}

// A dial that hangs in the login ends with its context.
func TestDialEnds(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d, err := limited(t, s).dialer()
	if err != nil {
		t.Fatal(err)
	}
	s.Stopped(t, func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if c, err := d.Dial(ctx); err == nil {
			c.Close()
			t.Error("it is logged in at a server that is stopped")
		}
	})
}

// A server that has gone since is named before a run begins.
func TestGone(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := opened(t, map[string]Plain{"lock1": {Server: s.Addr}})
	l := p.lend(map[string]Member{"n1": {Name: "lock1", Plain: Plain{Server: s.Addr}, Roles: []string{RoleLock}}})
	if err := l.answers(deadline(t)); err != nil {
		t.Fatal(err)
	}
	s.Stopped(t, func() {
		if err := l.answers(deadline(t)); err == nil || !strings.Contains(err.Error(), "node n1: the plain server lock1 ("+s.Addr+") does not answer: ") {
			t.Errorf("stopped: %v", err)
		}
	})
	s.Kill()
	if err := l.answers(deadline(t)); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("killed: %v", err)
	}
}
