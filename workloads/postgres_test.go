package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/history"
	"lockchaos/internal/golden"
	"lockchaos/internal/redistest"
	"lockchaos/workloads"
)

// machine is one for all tests: its first server costs a second, the others less.
var machine = sync.OnceValues(func() (*local.Machine, error) { return local.Open(context.Background()) })

func TestMain(m *testing.M) {
	code := m.Run()
	if m, err := machine(); err == nil {
		err = m.Close()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// postgres is a server of a test's own.
type postgres struct {
	*local.Cluster
	addr string
}

const host = "w1"

func startPostgres(t *testing.T) *postgres {
	t.Helper()
	m, err := machine()
	if err != nil {
		t.Fatal(err)
	}
	c, err := m.Up(t.Context(), cluster.Spec{
		Nodes: []cluster.NodeSpec{{Name: cluster.Resource, Kind: cluster.KindPostgres}},
		Hosts: []cluster.HostSpec{{Name: host}}, Logs: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	addr, err := c.NodeAddr(cluster.Resource)
	if err != nil {
		t.Fatal(err)
	}
	return &postgres{c, addr}
}

// exec runs statements past all that is under test.
func (p *postgres) exec(t *testing.T, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", cluster.PostgresUser, p.addr, cluster.PostgresDatabase))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := results[len(results)-1].Rows
	if len(last) == 0 {
		return ""
	}
	return string(last[0][0])
}

func (p *postgres) empty(t *testing.T) {
	t.Helper()
	p.exec(t, "DROP TABLE IF EXISTS counter, ledger; DROP FUNCTION IF EXISTS attempt")
}

// resource makes the counter anew, for hosts that reach it past all links.
func (p *postgres) resource(t *testing.T, guard string, hosts ...string) *workloads.PostgresResource {
	t.Helper()
	p.empty(t)
	ways := map[string]string{}
	for _, h := range hosts {
		ways[h] = p.addr
	}
	r, err := workloads.NewPostgresResource(t.Context(), guard, ways, p.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// named is how the stories call the host of an owner.
func named(owner string) string { return "host \"" + owner + "\" é" }

// The same stories come out as with Redis, word for word.
func TestPostgresGuards(t *testing.T) {
	p := startPostgres(t)
	var b strings.Builder
	for _, story := range stories {
		for guard := range strings.FieldsSeq(story.guards) {
			r := p.resource(t, guard, named("a"), named("b"), named("c"))
			fmt.Fprintf(&b, "# %s\n  guard %s\n%s\n", story.name, guard, play(t, r, story.steps))
			r.Close()
		}
	}
	golden.Check(t, "testdata/guards.txt", b.String())
}

// Random attempts have the same answers and the same ledger at both resources.
func TestPostgresAsRedis(t *testing.T) {
	const steps = 150
	p, s := startPostgres(t), redistest.Start(t)
	owners := []string{"", "a", "b", "\x00é"}
	for i, guard := range workloads.Guards() {
		if err := s.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		redis, postgres := newResource(t, s, guard.Name), p.resource(t, guard.Name, host)
		rng := rand.New(rand.NewPCG(1, uint64(i)))
		for n := range steps {
			a := workloads.Attempt{
				Op: rng.Int64N(steps), Host: host, Grant: rng.Int64N(9), Owner: owners[rng.IntN(len(owners))],
				Token: rng.Int64N(5) - 1, Value: rng.Int64N(9) - 4, Version: rng.Int64N(int64(n)/4 + 2),
			}
			if rng.IntN(9) == 0 {
				a.Token = 1_790_000_000_000_000_000 + rng.Int64N(3)
			}
			one, other := redis.Write, postgres.Write
			if rng.IntN(3) == 0 {
				one, other = redis.Read, postgres.Read
			}
			if want, got := one(t.Context(), a), other(t.Context(), a); got != want {
				t.Fatalf("guard %s, step %d, %+v: %+v, and Redis %+v", guard.Name, n, a, got, want)
			}
		}
		same(t, guard.Name, redis, postgres)
	}
}

func same(t *testing.T, guard string, redis, postgres workloads.Resource) {
	t.Helper()
	want, err := redis.Ledger(t.Context())
	got, perr := postgres.Ledger(t.Context())
	if err := errors.Join(err, perr); err != nil || len(got) != len(want) || len(want) == 0 {
		t.Fatalf("guard %s: %d entries, and Redis has %d: %v", guard, len(got), len(want), err)
	}
	refused := 0
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("guard %s: entry %d is %+v, with Redis %+v", guard, i+1, got[i], want[i])
		}
		if !want[i].OK {
			refused++
		}
	}
	if guards := guard != history.GuardNone && guard != history.GuardAtomic; guards != (refused > 0) || refused == len(want) {
		t.Errorf("guard %s: %d of %d attempts were refused", guard, refused, len(want))
	}
	a, err := redis.Final(t.Context())
	b, perr := postgres.Final(t.Context())
	if err := errors.Join(err, perr); err != nil || a != b {
		t.Errorf("guard %s: final %d, with Redis %d: %v", guard, b, a, err)
	}
}

// Attempts at one time take effect one after the other, in the order of the ledger.
func TestPostgresAtOneTime(t *testing.T) {
	const hosts, rounds = 4, 25
	var names []string
	for i := range hosts {
		names = append(names, fmt.Sprintf("w%d", i+1))
	}
	r := startPostgres(t).resource(t, history.GuardAtomic, names...)
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			for n := range rounds {
				if a := r.Write(t.Context(), workloads.Attempt{Op: int64(n*hosts + i), Host: name}); a.Result != history.OK {
					t.Errorf("%+v", a)
				}
			}
		})
	}
	wg.Wait()
	entries, err := r.Ledger(t.Context())
	if err != nil || len(entries) != hosts*rounds {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, e := range entries {
		if e.Before != int64(i) || e.Value != int64(i)+1 {
			t.Fatalf("entry %d goes from %d to %d", i+1, e.Before, e.Value)
		}
	}
}

func TestPostgresEmpty(t *testing.T) {
	r := startPostgres(t).resource(t, history.GuardNone)
	entries, err := r.Ledger(t.Context())
	if err != nil || len(entries) != 0 {
		t.Errorf("ledger %v, %v", entries, err)
	}
	if n, err := r.Final(t.Context()); err != nil || n != 0 {
		t.Errorf("final %d, %v", n, err)
	}
	if a := r.Write(t.Context(), workloads.Attempt{Host: "w9"}); a.Result != history.Failed || !strings.Contains(a.Text, "w9") {
		t.Errorf("a host that is not there: %+v", a)
	}
}

func TestPostgresUnknownGuard(t *testing.T) {
	_, err := workloads.NewPostgresResource(t.Context(), "fnece", nil, "127.0.0.1:1")
	if err == nil || err.Error() != `resource: unknown guard "fnece"` {
		t.Errorf("got %v", err)
	}
}

// Another server's settings in the environment are not ours.
func TestPostgresEnvironment(t *testing.T) {
	p := startPostgres(t)
	p.empty(t)
	t.Setenv("PGOPTIONS", "-c default_transaction_read_only=on")
	t.Setenv("PGSSLMODE", "verify-full")
	t.Setenv("PGTARGETSESSIONATTRS", "standby")
	t.Setenv("PGUSER", "somebody")
	r, err := workloads.NewPostgresResource(t.Context(), history.GuardNone, map[string]string{host: p.addr}, p.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if a := r.Write(t.Context(), workloads.Attempt{Op: 1, Host: host, Value: 7}); a.Result != history.OK {
		t.Errorf("%+v", a)
	}
}

// What is certain about an attempt that got no answer.
func TestPostgresUnreachable(t *testing.T) {
	p := startPostgres(t)
	r := p.resource(t, history.GuardNone, host)
	a := workloads.Attempt{Op: 1, Host: host, Value: 7}
	if got := r.Read(t.Context(), a); got.Result != history.OK {
		t.Fatalf("%+v", got)
	}
	if _, err := p.PauseNode(t.Context(), cluster.Resource); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if got := r.Write(ctx, a); got.Result != history.Unknown || got.Text == "" {
		t.Errorf("of a server that hangs: %+v, want unknown", got)
	}
	// A connection must be opened first, so nothing has been asked.
	if got := r.Write(ctx, a); got.Result != history.Failed || got.Text == "" {
		t.Errorf("of a server that does not let us in: %+v, want failed", got)
	}
	if _, err := p.ResumeNode(t.Context(), cluster.Resource); err != nil {
		t.Fatal(err)
	}
	redistest.Until(t, "the write is done all the same", func() bool { return p.exec(t, "SELECT value FROM counter") == "7" })
	if n := p.exec(t, "SELECT count(*) FROM ledger WHERE do_what = 'write'"); n != "1" {
		t.Errorf("written %s times", n)
	}
	crashed(t, p, r, a)
}

func crashed(t *testing.T, p *postgres, r *workloads.PostgresResource, a workloads.Attempt) {
	t.Helper()
	if got := r.Write(t.Context(), a); got.Result != history.OK {
		t.Errorf("%+v", got)
	}
	if _, err := p.CrashNode(t.Context(), cluster.Resource); err != nil {
		t.Fatal(err)
	}
	if got := r.Write(t.Context(), a); got.Result != history.Failed || got.Text == "" {
		t.Errorf("of a server that is gone: %+v, want failed", got)
	}
	if _, err := r.Ledger(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "read the ledger: ") {
		t.Errorf("ledger: %v", err)
	}
	if _, err := r.Final(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "read the counter: ") {
		t.Errorf("final: %v", err)
	}
	if _, err := workloads.NewPostgresResource(t.Context(), history.GuardNone, nil, p.addr); err == nil {
		t.Error("a resource is made where no server is")
	}
	if _, err := p.StartNode(t.Context(), cluster.Resource); err != nil {
		t.Fatal(err)
	}
	if got := r.Read(t.Context(), a); got.Result != history.OK || got.Value != 7 || got.Version != 2 {
		t.Errorf("after the restart: %+v", got)
	}
}

// An attempt under way when the server dies may be done or not; one that the
// server has refused is not.
func TestPostgresBroken(t *testing.T) {
	p := startPostgres(t)
	r := p.resource(t, history.GuardNone, host)
	a := workloads.Attempt{Op: 1, Host: host, Value: 7}
	const stuck = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'chaos' AND wait_event_type = 'Lock'"
	for end, want := range map[string]history.Result{
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'": history.Unknown,
		"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'":    history.Failed,
	} {
		locker, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", cluster.PostgresUser, p.addr, cluster.PostgresDatabase))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := locker.Exec(t.Context(), "BEGIN; SELECT FROM counter FOR UPDATE"); err != nil {
			t.Fatal(err)
		}
		done := make(chan workloads.Answer, 1)
		go func() { done <- r.Write(t.Context(), a) }()
		redistest.Until(t, "the write waits", func() bool { return p.exec(t, stuck) == "1" })
		p.exec(t, end)
		if got := <-done; got.Result != want || got.Text == "" {
			t.Errorf("after %s: %+v, want %s", end, got, want)
		}
		_ = locker.Close(t.Context())
	}
	if n, err := r.Final(t.Context()); n != 0 || err != nil {
		t.Errorf("final %d, %v", n, err)
	}
}

// Close ends what is under way, too.
func TestPostgresClose(t *testing.T) {
	p := startPostgres(t)
	r := p.resource(t, history.GuardNone, host)
	if _, err := p.PauseNode(t.Context(), cluster.Resource); err != nil {
		t.Fatal(err)
	}
	done := make(chan workloads.Answer, 1)
	go func() { done <- r.Write(t.Context(), workloads.Attempt{Op: 1, Host: host, Value: 7}) }()
	redistest.Until(t, "it has connected", func() bool { return connections(t, p.addr) > 0 })
	r.Close()
	if got := <-done; got.Result == history.OK {
		t.Errorf("%+v", got)
	}
	if got := r.Write(t.Context(), workloads.Attempt{Op: 2, Host: host}); got.Result != history.Failed {
		t.Errorf("after the end: %+v", got)
	}
}

// connections counts those that this process has to an address, or is about to have.
func connections(t *testing.T, addr string) int {
	t.Helper()
	var port int
	if _, err := fmt.Sscanf(addr, "127.0.0.1:%d", &port); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 3 && f[2] == fmt.Sprintf("0100007F:%04X", port) && f[3] == "01" {
			n++
		}
	}
	return n
}
