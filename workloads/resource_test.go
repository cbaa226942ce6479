package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/history"
	"lockchaos/internal/golden"
	"lockchaos/internal/redistest"
	"lockchaos/workloads"
)

func pool(t *testing.T, addr string) redis.Pool {
	client := goredislib.NewClient(&goredislib.Options{
		Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	t.Cleanup(func() { client.Close() })
	return goredis.NewPool(client)
}

func newResource(t *testing.T, s *redistest.Server, guard string) *workloads.RedisResource {
	t.Helper()
	p := pool(t, s.Addr)
	r, err := workloads.NewRedisResource(t.Context(), guard, "", func(string) redis.Pool { return p }, p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stories are sequences of "owner/token reads" and "owner/token writes value",
// a write after "reads" of the same owner carries the version it has read.
// "op N" in front gives the number of the operation, where it is not the next.
var stories = []struct {
	name, guards string
	steps        []string
}{
	{"a holder and the next one", "none fence fence-read version atomic",
		[]string{"a/1 reads", "a/1 writes 1", "b/2 reads", "b/2 writes 2"}},
	{"the old holder's write lands after the new holder's write", "none fence fence-read version atomic",
		[]string{"a/1 reads", "b/2 reads", "b/2 writes 1", "a/1 writes 1"}},
	{"the old holder's write lands between the new holder's read and write", "none fence fence-read version atomic",
		[]string{"a/1 reads", "b/2 reads", "a/1 writes 1", "b/2 writes 1"}},
	{"an old holder reads late", "none fence fence-read",
		[]string{"b/2 reads", "a/1 reads", "b/2 writes 1"}},
	{"the same holder writes twice", "none fence fence-read version",
		[]string{"a/1 reads", "a/1 writes 1", "a/1 writes 2", "a/1 reads", "a/1 writes 3"}},
	{"the same holder writes twice, and the next one", "fence-greater fence-greater-or-equal",
		[]string{"a/1 reads", "a/1 writes 1", "a/1 writes 2", "b/2 reads", "b/2 writes 3", "a/1 writes 4"}},
	{"two owners share a token", "fence fence-read fence-greater fence-greater-or-equal",
		[]string{"a/5 reads", "a/5 writes 1", "b/5 reads", "b/5 writes 2"}},
	{"a holder's older attempt arrives after its newer one", "fence fence-read fence-greater-or-equal",
		[]string{"op 9 a/1 writes 5", "op 8 a/1 writes 4", "op 9 a/1 writes 4", "op 10 a/1 writes 6"}},
	{"a grant without a token", "none fence fence-read fence-greater fence-greater-or-equal",
		[]string{"a/0 reads", "a/0 writes 1"}},
	{"a token below 0", "fence fence-read fence-greater fence-greater-or-equal",
		[]string{"a/-7 reads", "a/-7 writes 1"}},
	{"tokens of one digit and of two", "fence",
		[]string{"a/9 writes 1", "b/10 writes 2", "a/9 writes 3"}},
	{"tokens that are nanoseconds", "fence fence-read",
		[]string{"a/1790000000000000001 writes 1", "b/1790000000000000002 writes 2", "a/1790000000000000001 writes 3", "c/1790000000000000002 writes 4"}},
	{"values below 0", "none version",
		[]string{"a/1 reads", "a/1 writes -5", "a/1 reads", "a/1 writes -6"}},
}

// play does a story and tells it, with the ledger.
func play(t *testing.T, r workloads.Resource, steps []string) string {
	t.Helper()
	var b strings.Builder
	versions := map[string]int64{}
	next := int64(0)
	for _, step := range steps {
		words := strings.Fields(step)
		next++
		if words[0] == "op" {
			next, _ = strconv.ParseInt(words[1], 10, 64)
			words = words[2:]
		}
		owner, token, _ := strings.Cut(words[0], "/")
		a := workloads.Attempt{Op: next, Host: "host \"" + owner + "\" é", Grant: 100 + next, Owner: owner, Version: versions[owner]}
		a.Token, _ = strconv.ParseInt(token, 10, 64)
		var got workloads.Answer
		if words[1] == "reads" {
			got = r.Read(t.Context(), a)
			versions[owner] = got.Version
		} else {
			a.Value, _ = strconv.ParseInt(words[2], 10, 64)
			got = r.Write(t.Context(), a)
		}
		fmt.Fprintf(&b, "    %-32s %-7s value %d version %d\n", step, got.Result, got.Value, got.Version)
		if got.Result == history.OK != (got.Text == "") {
			t.Errorf("%s: %s says %q", step, got.Result, got.Text)
		}
	}
	entries, err := r.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	final, err := r.Final(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "  ledger, and at the end %d\n", final)
	for _, e := range entries {
		fmt.Fprintf(&b, "    %+v\n", e)
	}
	return b.String()
}

func TestGuards(t *testing.T) {
	s := redistest.Start(t)
	var b strings.Builder
	for _, story := range stories {
		for guard := range strings.FieldsSeq(story.guards) {
			if err := s.FlushDB(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			r := newResource(t, s, guard)
			fmt.Fprintf(&b, "# %s\n  guard %s\n%s\n", story.name, guard, play(t, r, story.steps))
		}
	}
	golden.Check(t, "testdata/guards.txt", b.String())
}

// A resource that is new has an empty ledger and a counter of 0.
func TestEmpty(t *testing.T) {
	r := newResource(t, redistest.Start(t), history.GuardNone)
	entries, err := r.Ledger(t.Context())
	if err != nil || len(entries) != 0 {
		t.Errorf("ledger %v, %v", entries, err)
	}
	if n, err := r.Final(t.Context()); err != nil || n != 0 {
		t.Errorf("final %d, %v", n, err)
	}
}

// The ledger comes in pages; none of the entries may be lost, or come twice.
func TestLongLedger(t *testing.T) {
	s := redistest.Start(t)
	r := newResource(t, s, history.GuardNone)
	fill := goredislib.NewScript(`
for i = tonumber(ARGV[1]), tonumber(ARGV[2]) do
  redis.call("RPUSH", KEYS[1], '{"op":' .. i .. ',"do":"write","host":"w1","grant":1,"token":2,"ok":true,"before":3,"value":4}')
end`)
	done := 0
	for _, n := range []int{9_999, 10_000, 10_001, 20_000, 25_000} {
		if err := fill.Run(t.Context(), s.Client, []string{"counter:ledger"}, done+1, n).Err(); err != nil && !errors.Is(err, goredislib.Nil) {
			t.Fatal(err)
		}
		done = n
		entries, err := r.Ledger(t.Context())
		if err != nil || len(entries) != n {
			t.Errorf("of %d entries %d are read, %v", n, len(entries), err)
		}
		for i, e := range entries {
			if want := (workloads.Entry{Op: int64(i) + 1, Do: history.Write, Host: "w1", Grant: 1, Token: 2, OK: true, Before: 3, Value: 4}); e != want {
				t.Fatalf("entry %d is %+v, want %+v", i+1, e, want)
			}
		}
	}
}

func TestBrokenLedger(t *testing.T) {
	s := redistest.Start(t)
	r := newResource(t, s, history.GuardNone)
	if err := s.RPush(t.Context(), "counter:ledger", `{"op":1}`, "garbage").Err(); err != nil {
		t.Fatal(err)
	}
	const want = `ledger entry 2, "garbage": invalid character 'g' looking for beginning of value`
	if _, err := r.Ledger(t.Context()); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A restarted resource knows no scripts any more.
func TestScriptsForgotten(t *testing.T) {
	s := redistest.Start(t)
	r := newResource(t, s, history.GuardNone)
	if err := s.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if a := r.Write(t.Context(), workloads.Attempt{Op: 1, Host: "w1", Value: 3}); a.Result != history.OK || a.Value != 3 || a.Version != 1 {
		t.Errorf("got %+v", a)
	}
}

func TestUnknownGuard(t *testing.T) {
	p := pool(t, "127.0.0.1:1")
	_, err := workloads.NewRedisResource(t.Context(), "fnece", "", func(string) redis.Pool { return p }, p)
	if err == nil || err.Error() != `resource: unknown guard "fnece"` {
		t.Errorf("got %v", err)
	}
}

// What is certain about an attempt that got no answer.
func TestUnreachable(t *testing.T) {
	s := redistest.Start(t)
	r := newResource(t, s, history.GuardNone)
	a := workloads.Attempt{Op: 1, Host: "w1", Value: 7}
	s.Stopped(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if got := r.Write(ctx, a); got.Result != history.Unknown || got.Text == "" {
			t.Errorf("of a server that hangs: %+v, want unknown", got)
		}
	})
	redistest.Until(t, "the write is done all the same", func() bool { return s.Value(t, "counter") == "7" })
	s.Kill()
	redistest.Until(t, "its port refuses", func() bool {
		c, err := net.Dial("tcp", s.Addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	var got workloads.Answer
	for range 2 { // the first may find the connection of before, which is broken
		got = r.Write(t.Context(), a)
	}
	if got.Result != history.Failed || got.Text == "" {
		t.Errorf("of a server that is gone: %+v, want failed", got)
	}
	if _, err := r.Ledger(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "read the ledger: ") {
		t.Errorf("ledger: %v", err)
	}
	if _, err := r.Final(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "read the counter: ") {
		t.Errorf("final: %v", err)
	}
	p := pool(t, s.Addr)
	if _, err := workloads.NewRedisResource(t.Context(), history.GuardNone, "", func(string) redis.Pool { return p }, p); err == nil {
		t.Error("a resource is made where no server is")
	}
}
