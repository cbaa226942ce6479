package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/host"
)

// peer is the other end of a client: a host that a test plays.
type peer struct {
	*host.Client
	requests *bufio.Scanner
	out      *io.PipeWriter
	in       *io.PipeReader

	mu     sync.Mutex
	events []host.Event
}

func newPeer() *peer {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &peer{requests: bufio.NewScanner(inR), out: outW, in: inR}
	p.Client = host.NewClient("w1", inW, outR, func(e host.Event) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.events = append(p.events, e)
	})
	return p
}

// next is the next request.
func (p *peer) next(t *testing.T) host.Request {
	t.Helper()
	if !p.requests.Scan() {
		t.Fatalf("no request comes: %v", p.requests.Err())
	}
	var r host.Request
	if err := json.Unmarshal(p.requests.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (p *peer) say(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.out, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// gone ends both pipes, as the end of a process does.
func (p *peer) gone() {
	p.out.Close()
	p.in.Close()
}

// ask sends a request in the background.
func (p *peer) ask(ctx context.Context, r host.Request) <-chan answer {
	ch := make(chan answer, 1)
	go func() {
		reply, err := p.Do(ctx, r)
		ch <- answer{reply, err}
	}()
	return ch
}

type answer struct {
	host.Reply
	err error
}

func TestRequestsAndReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		ctx := t.Context()
		a := p.ask(ctx, host.Request{ID: 1, Op: host.OpAcquire, Lock: "L"})
		if r := p.next(t); r.ID != 1 || r.Op != "acquire" || r.Lock != "L" {
			t.Errorf("the request comes as %+v", r)
		}
		b := p.ask(ctx, host.Request{ID: 2, Op: host.OpExtend, Lock: "L", Grant: 1})
		p.next(t)
		c := p.ask(ctx, host.Request{ID: 3, Op: host.OpCheck, Lock: "L", Grant: 1})
		p.next(t)
		p.say(t, `{"event":"trace","id":1,"node":2,"command":"set","vote":"yes","ms":0.5}`)
		p.say(t, `{"id":3,"ok":false,"error":{"code":"lost","definite":true,"text":"x"}}`) // out of order
		p.say(t, `  {"event":"lost","grant":1,"lock":"L"}  `)
		p.say(t, `{"new":"field","id":1,"ok":true,"owner":"me","token":7,"validity_ms":250.5}`)
		p.say(t, `{"id":2,"ok":true}`)
		if r := <-a; r.err != nil || r.Owner != "me" || r.Token != 7 || r.Validity() != 250500*time.Microsecond {
			t.Errorf("acquire: %+v, %v", r.Reply, r.err)
		}
		if r := <-b; r.err != nil || !r.OK {
			t.Errorf("extend: %+v, %v", r.Reply, r.err)
		}
		if r := <-c; r.err != nil || r.Error == nil || r.Error.Code != host.CodeLost || !r.Error.Definite {
			t.Errorf("check: %+v, %v", r.Reply, r.err)
		}
		synctest.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.events) != 2 || p.events[0].Vote != "yes" || p.events[0].Node != 2 || p.events[1].Event != host.EventLost {
			t.Errorf("events %+v", p.events)
		}
		select {
		case <-p.Done():
			t.Errorf("ended: %v", p.Err())
		default:
		}
	})
}

// A host may say much unasked, but not without end.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		flood := func(n int) {
			for range n {
				p.say(t, `{"event":"trace"}`)
			}
		}
		for id := range int64(2) { // a reply begins the count anew
			a := p.ask(t.Context(), host.Request{ID: id + 1, Op: host.OpCheck})
			p.next(t)
			flood(host.MaxEvents)
			p.say(t, fmt.Sprintf(`{"id":%d,"ok":true}`, id+1))
			if r := <-a; r.err != nil {
				t.Fatal(r.err)
			}
		}
		flood(host.MaxEvents + 1)
		<-p.Done()
		if err := p.Err(); !errors.Is(err, host.ErrProtocol) || !strings.Contains(err.Error(), "more than 10000 events") {
			t.Errorf("ended with %v", err)
		}
	})
}

// What a host may not say. The waiting request and all later ones get the error.
var garbage = []struct{ name, line, want string }{
	{"no JSON", "hello", `line "hello": invalid character 'h'`},
	{"an empty line", "", `unexpected end of JSON input`},
	{"a log line of a library", "2026/01/02 redis: connection lost", "invalid character"},
	{"two values", `{"id":1,"ok":true}{"id":1,"ok":true}`, "invalid character '{' after top-level value"},
	{"a list", `[]`, "cannot unmarshal array"},
	{"null", `null`, "neither ok nor an error"},
	{"an empty object", `{}`, "neither ok nor an error"},
	{"an answer to nothing", `{"id":99,"ok":true}`, "answers no request"},
	{"an answer with a negative id", `{"id":-1,"ok":true}`, "answers no request"},
	{"id in words", `{"id":"1","ok":true}`, "cannot unmarshal string"},
	{"ok and an error", `{"id":1,"ok":true,"error":{"code":"lost"}}`, "ok and an error at once"},
	{"neither", `{"id":1}`, "neither ok nor an error"},
	{"unknown code", `{"id":1,"ok":false,"error":{"code":"oops"}}`, `unknown error code "oops"`},
	{"no code", `{"id":1,"ok":false,"error":{}}`, `unknown error code ""`},
	{"token below 0", `{"id":1,"ok":true,"token":-1}`, "token -1 is below 0"},
	{"half a token", `{"id":1,"ok":true,"token":1.5}`, "cannot unmarshal number 1.5"},
	{"validity below 0", `{"id":1,"ok":true,"validity_ms":-1}`, "validity_ms -1 is below 0"},
	{"validity beyond all", `{"id":1,"ok":true,"validity_ms":1e999}`, "cannot unmarshal number 1e999"},
	{"unknown event", `{"event":"party"}`, "unknown event"},
	{"a stall of no time", `{"event":"stall"}`, "a stall of no time"},
	{"a stall that ends before it begins", `{"event":"stall","ms":-5}`, "a stall of no time"},
	{"event of no name", `{"event":5}`, "cannot unmarshal number"},
	{"event with a wrong field", `{"event":"trace","node":"n1"}`, "cannot unmarshal string"},
	{"a very long line", strings.Repeat("x", host.MaxLine+1), "a line of over 1048576 bytes"},
	{"a very long event", `{"event":"lost","text":"` + strings.Repeat("x", host.MaxLine) + `"}`, "a line of over 1048576 bytes"},
}

func TestGarbage(t *testing.T) {
	for _, c := range garbage {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			a := p.ask(t.Context(), host.Request{ID: 1, Op: host.OpAcquire})
			p.next(t)
			go io.WriteString(p.out, c.line+"\n") // the client may not read all of it
			defer p.gone()
			r := <-a
			if !errors.Is(r.err, host.ErrProtocol) || !strings.Contains(fmt.Sprint(r.err), c.want) || !strings.HasPrefix(fmt.Sprint(r.err), "host w1: ") {
				t.Errorf("%s: got %v, want %v: … %s", c.name, r.err, host.ErrProtocol, c.want)
			}
			if len(fmt.Sprint(r.err)) > 400 {
				t.Errorf("%s: the error has %d bytes", c.name, len(r.err.Error()))
			}
			<-p.Done()
			if _, err := p.Do(t.Context(), host.Request{ID: 2, Op: host.OpCheck}); !errors.Is(err, host.ErrProtocol) {
				t.Errorf("%s: a later request gets %v", c.name, err)
			}
		})
	}
}

func TestLineOfTheGreatestLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		a := p.ask(t.Context(), host.Request{ID: 1, Op: host.OpAcquire})
		p.next(t)
		line := `{"id":1,"ok":true,"owner":"` + strings.Repeat("x", host.MaxLine-31) + `"}`
		p.say(t, line)
		if r := <-a; r.err != nil || len(r.Owner) != host.MaxLine-31 {
			t.Errorf("a line of %d bytes: %v", len(line)+1, r.err)
		}
	})
}

func TestValidityIsNeverNegative(t *testing.T) {
	for ms, want := range map[float64]time.Duration{0: 0, 0.5: 500 * time.Microsecond, 1e13: math.MaxInt64, 1e300: math.MaxInt64} {
		if got := (host.Reply{ValidityMS: ms}).Validity(); got != want {
			t.Errorf("%g ms: %d, want %d", ms, got, want)
		}
	}
}

func TestPeerDies(t *testing.T) {
	for name, say := range map[string]string{"in silence": "", "in a line": `{"id":1,"o`} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			a := p.ask(t.Context(), host.Request{ID: 1, Op: host.OpAcquire})
			p.next(t)
			io.WriteString(p.out, say)
			p.gone()
			if r := <-a; !errors.Is(r.err, host.ErrEnded) {
				t.Errorf("%s: got %v, want %v", name, r.err, host.ErrEnded)
			}
			<-p.Done()
			if !errors.Is(p.Err(), host.ErrEnded) {
				t.Errorf("%s: Err is %v", name, p.Err())
			}
			if _, err := p.Do(t.Context(), host.Request{ID: 2, Op: host.OpCheck}); !errors.Is(err, host.ErrEnded) {
				t.Errorf("%s: a later request gets %v", name, err)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("%s: close: %v", name, err)
			}
		})
	}
}

// The last line of a host may be the reply that we wait for.
func TestReplyAndDeath(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer()
			a := p.ask(t.Context(), host.Request{ID: 1, Op: host.OpAcquire})
			p.next(t)
			p.say(t, `{"id":1,"ok":true}`)
			p.gone()
			if r := <-a; r.err != nil || !r.OK {
				t.Fatalf("the reply is lost: %v", r.err)
			}
		})
	}
}

// A host whose input is gone and whose output is open.
func TestInputGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		p.in.Close()
		if _, err := p.Do(t.Context(), host.Request{ID: 1, Op: host.OpAcquire}); !errors.Is(err, host.ErrEnded) {
			t.Errorf("got %v, want %v", err, host.ErrEnded)
		}
	})
}

// An answer that comes after we have given up is late, once; a second is wrong.
func TestLateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a := p.ask(ctx, host.Request{ID: 1, Op: host.OpAcquire})
		p.next(t)
		if r := <-a; !errors.Is(r.err, context.DeadlineExceeded) || fmt.Sprint(r.err) != "host w1: no reply to acquire 1: context deadline exceeded" {
			t.Errorf("got %v", r.err)
		}
		p.say(t, `{"id":1,"ok":true}`)
		b := p.ask(t.Context(), host.Request{ID: 2, Op: host.OpCheck})
		p.next(t)
		p.say(t, `{"id":2,"ok":true}`)
		if r := <-b; r.err != nil {
			t.Errorf("after a late reply: %v", r.err)
		}
		p.say(t, `{"id":1,"ok":true}`)
		<-p.Done()
		if !errors.Is(p.Err(), host.ErrProtocol) {
			t.Errorf("after a second reply to one request: %v", p.Err())
		}
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		closed := make(chan error, 1)
		go func() { closed <- p.Close(t.Context()) }()
		if r := p.next(t); r.Op != host.OpClose {
			t.Errorf("got %+v, want a close", r)
		}
		p.say(t, `{"id":0,"ok":true}`)
		if p.requests.Scan() {
			t.Errorf("after the close comes %q", p.requests.Text())
		}
		p.gone()
		if err := <-closed; err != nil {
			t.Error(err)
		}
	})
}

// A stopped host neither reads nor answers.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start := time.Now()
		err := p.Close(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 2*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

// A request to a stopped host whose pipe is full ends with its context, too.
func TestDoIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer()
		defer p.gone()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		a, b := p.ask(ctx, host.Request{ID: 1, Op: host.OpCheck}), p.ask(ctx, host.Request{ID: 2, Op: host.OpCheck})
		unblock := time.AfterFunc(time.Minute, p.gone) // so that a failure ends
		defer unblock.Stop()
		for _, r := range []answer{<-a, <-b} {
			if !errors.Is(r.err, context.DeadlineExceeded) || time.Since(start) != time.Second {
				t.Errorf("got %v after %s", r.err, time.Since(start))
			}
		}
	})
}

// Whatever a host says, the client neither panics nor hangs, and it ends with
// one of its two errors.
func FuzzClient(f *testing.F) {
	for _, c := range garbage {
		if len(c.line) < 1000 {
			f.Add([]byte(c.line + "\n"))
		}
	}
	f.Add([]byte(`{"id":1,"ok":true,"owner":"me"}` + "\n" + `{"event":"trace","id":1}` + "\n" + `{"id":0,"ok":true}`))
	f.Add([]byte(`{"event":"lost"}` + "\r\n\r\n"))
	f.Fuzz(func(t *testing.T, said []byte) {
		inR, inW := io.Pipe()
		defer inR.Close()
		outR, outW := io.Pipe()
		c := host.NewClient("w1", inW, outR, func(e host.Event) {
			if e.Event != host.EventTrace && e.Event != host.EventLost {
				t.Errorf("event %+v", e)
			}
		})
		go func() {
			bufio.NewReader(inR).ReadString('\n') // the request
			outW.Write(said)
			outW.Close()
		}()
		r, err := c.Do(t.Context(), host.Request{ID: 1, Op: host.OpAcquire})
		<-c.Done()
		if err == nil && (r.ID != 1 || r.OK == (r.Error != nil) || r.Token < 0 || r.Validity() < 0) {
			t.Errorf("%q gives %+v", said, r)
		}
		for _, e := range []error{err, c.Err()} {
			if e != nil && !errors.Is(e, host.ErrProtocol) && !errors.Is(e, host.ErrEnded) {
				t.Errorf("%q gives %v", said, e)
			}
		}
	})
}
