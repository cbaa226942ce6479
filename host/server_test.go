package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/history"
	"lockchaos/host"
	"lockchaos/internal/redistest"
	"lockchaos/locks"
)

// pair is a client and the built-in host, over two pipes.
type pair struct {
	*host.Client
	served <-chan error
	last   int64

	mu     sync.Mutex
	events []host.Event
}

func newPair(dial host.Dialer) *pair {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	p := &pair{served: served}
	go func() {
		err := host.Serve(context.Background(), inR, outW, dial)
		inR.Close()
		outW.Close()
		served <- err
	}()
	p.Client = host.NewClient("w1", inW, outR, func(e host.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, e)
	})
	return p
}

// close ends both sides and wants them to end well.
func (p *pair) close(t *testing.T) {
	t.Helper()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-p.served; err != nil {
		t.Error(err)
	}
}

// do sends a request under the next id, and says the outcome in a word.
func (p *pair) do(t *testing.T, r host.Request) (host.Reply, string) {
	t.Helper()
	p.last++
	r.ID = p.last
	reply, err := p.Do(t.Context(), r)
	if err != nil {
		t.Fatalf("%+v: %v", r, err)
	}
	if reply.ID != r.ID {
		t.Errorf("request %d is answered as %d", r.ID, reply.ID)
	}
	if reply.Error == nil {
		return reply, "ok"
	}
	if !reply.Error.Definite {
		return reply, reply.Error.Code + ", perhaps"
	}
	return reply, reply.Error.Code
}

func (p *pair) init(t *testing.T, change func(*host.Init)) {
	t.Helper()
	i := host.Init{Version: host.ProtocolVersion, Host: "w1", System: "single", TTLMS: 10_000, Discipline: history.Trusting}
	change(&i)
	if reply, got := p.do(t, host.Request{Op: host.OpInit, Init: &i}); got != "ok" {
		t.Fatalf("init: %s, %v", got, reply.Error)
	}
}

// votes waits for the votes of a request and gives them in order of the nodes.
func (p *pair) votes(t *testing.T, id int64, n int) []string {
	t.Helper()
	var list []string
	redistest.Until(t, fmt.Sprintf("%d votes have come", n), func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		list = nil
		for _, e := range p.events {
			if e.Event == host.EventTrace && e.ID == id {
				list = append(list, fmt.Sprintf("%d %s %s", e.Node, e.Command, e.Vote))
			}
		}
		return len(list) >= n
	})
	slices.Sort(list)
	return list
}

func TestServerOverRedis(t *testing.T) {
	s := redistest.Start(t)
	a, b := newPair(host.Dial), newPair(host.Dial)
	defer a.close(t)
	defer b.close(t)
	for _, p := range []*pair{a, b} {
		p.init(t, func(i *host.Init) { i.Nodes = []string{s.Addr} })
	}
	got, word := a.do(t, host.Request{Op: host.OpAcquire, Lock: "L"})
	if word != "ok" || got.Owner == "" || got.Token != 1 || got.ValidityMS <= 0 || got.ValidityMS > 10_000 {
		t.Errorf("acquire: %s, %+v", word, got)
	}
	grant := got.ID
	if v := s.Value(t, "L"); v != got.Owner {
		t.Errorf("the node holds it for %q, the host said %q", v, got.Owner)
	}
	for _, c := range []struct {
		p    *pair
		r    host.Request
		want string
	}{
		{b, host.Request{Op: host.OpAcquire, Lock: "L"}, "refused"},
		{b, host.Request{Op: host.OpAcquire, Lock: "M"}, "ok"},
		{a, host.Request{Op: host.OpCheck, Lock: "L", Grant: grant}, "ok"},
		{a, host.Request{Op: host.OpExtend, Lock: "L", Grant: grant}, "ok"},
		{a, host.Request{Op: host.OpCheck, Lock: "L", Grant: 99}, "bad-request"},
		{b, host.Request{Op: host.OpRelease, Lock: "L", Grant: grant}, "bad-request"}, // not of this host
		{a, host.Request{Op: host.OpAcquire}, "bad-request"},                          // no lock
		{a, host.Request{Op: "steal", Lock: "L"}, "bad-request"},
		{a, host.Request{Op: ""}, "bad-request"},
		{a, host.Request{Op: host.OpRelease, Lock: "L", Grant: grant}, "ok"},
		{a, host.Request{Op: host.OpCheck, Lock: "L", Grant: grant}, "lost"},
		{a, host.Request{Op: host.OpRelease, Lock: "L", Grant: grant}, "lost"},
		{a, host.Request{Op: host.OpExtend, Lock: "L", Grant: grant}, "lost"},
		{b, host.Request{Op: host.OpAcquire, Lock: "L"}, "ok"},
	} {
		if reply, word := c.p.do(t, c.r); word != c.want {
			t.Errorf("%s %s %d: %s (%v), want %s", c.r.Op, c.r.Lock, c.r.Grant, word, reply.Error, c.want)
		}
	}
}

// A host that lost its lock behind its back believes on until it is told.
func TestLossIsNoticed(t *testing.T) {
	s := redistest.Start(t)
	p := newPair(host.Dial)
	defer p.close(t)
	p.init(t, func(i *host.Init) { i.Nodes = []string{s.Addr} })
	g, _ := p.do(t, host.Request{Op: host.OpAcquire, Lock: "L"})
	if err := s.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, op := range []string{host.OpCheck, host.OpExtend, host.OpCheck} {
		_, w := p.do(t, host.Request{Op: op, Lock: "L", Grant: g.ID})
		words = append(words, w)
	}
	if got := strings.Join(words, " "); got != "ok lost lost" {
		t.Errorf("check, extend, check: %s, want ok lost lost", got)
	}
}

func TestInit(t *testing.T) {
	good := host.Init{Version: 1, System: "single", Nodes: []string{"127.0.0.1:1"}, TTLMS: 1000, Discipline: history.Trusting}
	for _, c := range []struct {
		name   string
		change func(*host.Init)
		want   string // "" where it is good
	}{
		{"as it should be", func(*host.Init) {}, ""},
		{"no discipline is trusting", func(i *host.Init) { i.Discipline = "" }, ""},
		{"options", func(i *host.Init) { i.Options = map[string]any{"read_timeout": "1s"} }, ""},
		{"version of the future", func(i *host.Init) { i.Version = 2 }, "protocol version 2, this host speaks 1"},
		{"no version", func(i *host.Init) { i.Version = 0 }, "protocol version 0, this host speaks 1"},
		{"unknown system", func(i *host.Init) { i.System = "etcd" }, `unknown lock system "etcd"`},
		{"external is not built in", func(i *host.Init) { i.System = "external" }, `unknown lock system "external"`},
		{"too few nodes", func(i *host.Init) { i.System = "redlock" }, "1 nodes, redlock needs 5"},
		{"no nodes", func(i *host.Init) { i.Nodes = nil }, "0 nodes, single needs 1"},
		{"no ttl", func(i *host.Init) { i.TTLMS = 0 }, "ttl_ms is 0, expected 1"},
		{"ttl below 0", func(i *host.Init) { i.TTLMS = -5 }, "ttl_ms is -5, expected 1"},
		{"ttl that overflows", func(i *host.Init) { i.TTLMS = 1e300 }, "ttl_ms is 1e+300, expected 1"},
		{"unknown discipline", func(i *host.Init) { i.Discipline = "careless" }, `discipline "careless", expected trusting or checks-lease`},
		{"unknown option", func(i *host.Init) { i.Options = map[string]any{"trys": 1} }, `unknown field "trys"`},
	} {
		down := func(string, locks.Options) redis.Pool { return broken{} }
		s := host.NewServer(down, func(host.Event) {})
		init := good
		c.change(&init)
		r := s.Handle(t.Context(), host.Request{ID: 5, Op: host.OpInit, Init: &init})
		if c.want == "" {
			if !r.OK || r.ID != 5 {
				t.Errorf("%s: %+v", c.name, r.Error)
			}
			if again := s.Handle(t.Context(), host.Request{ID: 6, Op: host.OpInit, Init: &init}); again.OK || again.Error.Text != "init came twice" {
				t.Errorf("%s: a second init: %+v", c.name, again)
			}
			continue
		}
		if r.OK || r.Error.Code != host.CodeBadRequest || !r.Error.Definite || !strings.Contains(r.Error.Text, c.want) {
			t.Errorf("%s: %+v, want %s", c.name, r.Error, c.want)
		}
		// A refused init leaves the host as it was.
		if r := s.Handle(t.Context(), host.Request{ID: 6, Op: host.OpInit, Init: &good}); !r.OK {
			t.Errorf("%s: a good init after it: %+v", c.name, r.Error)
		}
	}
	s := host.NewServer(nil, func(host.Event) {})
	for _, op := range []string{host.OpInit, host.OpAcquire, host.OpExtend, host.OpCheck, host.OpRelease} {
		if r := s.Handle(t.Context(), host.Request{ID: 1, Op: op, Lock: "L", Grant: 1}); r.OK || r.Error.Code != host.CodeBadRequest {
			t.Errorf("%s before init: %+v", op, r)
		}
	}
}

// broken is a pool of a node that is down.
type broken struct{}

func (broken) Get(context.Context) (redis.Conn, error) {
	return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
}

// Each node's answer is told as a vote.
func TestVotes(t *testing.T) {
	var addrs []string
	var servers []*redistest.Server
	for range 5 {
		s := redistest.Start(t)
		servers, addrs = append(servers, s), append(addrs, s.Addr)
	}
	if err := servers[1].Set(t.Context(), "L", "foreign", 0).Err(); err != nil {
		t.Fatal(err)
	}
	servers[3].Kill()
	p := newPair(host.Dial)
	defer p.close(t)
	p.init(t, func(i *host.Init) {
		i.System, i.Nodes, i.TTLMS = "redlock", addrs, 60_000 // a node has a twentieth of it to answer
		i.Options = map[string]any{"max_retries": -1}
	})
	for _, c := range []struct{ op, want string }{
		{host.OpAcquire, "0 set yes, 1 set no, 2 set yes, 3 set error, 4 set yes"},
		{host.OpExtend, "0 eval yes, 1 eval no, 2 eval yes, 3 eval error, 4 eval yes"},
		{host.OpRelease, "0 eval yes, 1 eval no, 2 eval yes, 3 eval error, 4 eval yes"},
	} {
		r, word := p.do(t, host.Request{Op: c.op, Lock: "L", Grant: 2})
		if word != "ok" {
			t.Fatalf("%s: %s, %v", c.op, word, r.Error)
		}
		if got := strings.Join(p.votes(t, r.ID, 5), ", "); got != c.want {
			t.Errorf("%s: the votes are %s, want %s", c.op, got, c.want)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		if e.Node == 3 && !strings.Contains(e.Text, "refused") || e.Node != 3 && e.Text != "" || e.MS < 0 {
			t.Errorf("event %+v", e)
		}
	}
}

// willing is a pool of a node that grants everything.
type willing struct{}

func (willing) Get(context.Context) (redis.Conn, error) { return willingConn{}, nil }

type willingConn struct{ redis.Conn }

func (willingConn) Close() error                            { return nil }
func (willingConn) PTTL(string) (time.Duration, error)      { return -2, nil }
func (willingConn) Eval(*redis.Script, ...any) (any, error) { return int64(1), nil }

// Only the discipline checks-lease looks at the clock.
func TestDisciplines(t *testing.T) {
	for discipline, want := range map[string]string{
		history.Trusting:    "ok ok ok ok",
		history.ChecksLease: "ok lost ok lost",
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPair(func(string, locks.Options) redis.Pool { return willing{} })
			p.init(t, func(i *host.Init) { i.Nodes, i.TTLMS, i.Discipline = []string{"x"}, 1000, discipline })
			g, _ := p.do(t, host.Request{Op: host.OpAcquire, Lock: "L"})
			check := func() string {
				_, w := p.do(t, host.Request{Op: host.OpCheck, Lock: "L", Grant: g.ID})
				return w
			}
			time.Sleep(999 * time.Millisecond) // virtual
			words := check()
			time.Sleep(time.Millisecond)
			words += " " + check()
			if r, w := p.do(t, host.Request{Op: host.OpExtend, Lock: "L", Grant: g.ID}); w != "ok" || r.ValidityMS != 1000 {
				t.Errorf("extend: %s, %+v", w, r)
			}
			time.Sleep(500 * time.Millisecond)
			words += " " + check()
			time.Sleep(500 * time.Millisecond)
			words += " " + check()
			if words != want {
				t.Errorf("%s: before and after the end, before and after the end of an extend: %s, want %s", discipline, words, want)
			}
			p.close(t)
		})
	}
}

// What ends Serve, and how.
func TestServe(t *testing.T) {
	for _, c := range []struct{ name, in, out, err string }{
		{"nothing", "", "", ""},
		{"close", `{"id":4,"op":"close"}` + "\n" + `{"id":5,"op":"check"}` + "\n", `{"id":4,"ok":true}` + "\n", ""},
		{"garbage", "hello\n", "", `request "hello": invalid character 'h' looking for beginning of value`},
		{"a line cut off", `{"id":4,"op":`, "", `read requests: the host has ended: the last line is cut off: "{\"id\":4,\"op\":"`},
		{"an answer before the end", `{"id":4,"op":"check"}` + "\n", `{"id":4,"ok":false,"error":{"code":"bad-request","definite":true,"text":"no grant 0"}}` + "\n", ""},
	} {
		var out bytes.Buffer
		err := host.Serve(t.Context(), strings.NewReader(c.in), &out, nil)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if out.String() != c.out || got != c.err {
			t.Errorf("%s: said %q, ended with %q, want %q and %q", c.name, &out, got, c.out, c.err)
		}
	}
}
