package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/history"
	"lockchaos/internal/excerpt"
	"lockchaos/locks"
)

// Dialer makes the pool of one node from its address.
type Dialer func(addr string, o locks.Options) redis.Pool

// Server is the built-in host: one of the systems of package locks behind the
// line protocol. Requests are handled at the same time, so a watchdog's extend
// can race a release as it does in a real program.
type Server struct {
	// Draw is handed to the lock systems; it may be set before init.
	Draw locks.Draw
	// DialMaster makes the pool of a system with a failover; DialMaster of this
	// package, unless it is set before init.
	DialMaster func(SentinelInit, locks.Options) redis.Pool

	dial Dialer
	tell func(Event) // safe for many goroutines

	mu     sync.Mutex
	init   *Init
	system locks.System
	opts   locks.Options
	pools  []redis.Pool
	locks  map[string]locks.Locker
	grants map[int64]*held
}

// held is a grant and what the host knows of it.
type held struct {
	grant *locks.Grant
	until time.Time
	lost  bool
}

// Serve handles requests from in until it ends or a close comes.
func Serve(ctx context.Context, in io.Reader, out io.Writer, dial Dialer) error {
	var mu sync.Mutex
	buf := bufio.NewWriterSize(out, 16<<10)
	enc := json.NewEncoder(buf)
	write := func(v any) {
		mu.Lock()
		defer mu.Unlock()
		err := enc.Encode(v)
		// Traces go out with the reply that they belong to.
		if e, ok := v.(Event); err == nil && !(ok && e.Event == EventTrace) {
			err = buf.Flush()
		}
		if err != nil {
			slog.Error("cannot write to the harness", "err", err)
		}
	}
	s := NewServer(dial, func(e Event) { write(e) })
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	br := bufio.NewReaderSize(in, 16<<10)
	for {
		line, err := readLine(br)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read requests: %w", err)
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("request %s: %w", excerpt.Of(line), err)
		}
		if r.Op == OpClose {
			write(Reply{ID: r.ID, OK: true})
			return nil
		}
		if r.Op == OpCheck { // it asks nobody, and what came after it must not answer before it
			write(s.Handle(ctx, r))
			continue
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			reply := s.Handle(ctx, r)
			write(reply)
			if r.Op == OpInit && reply.OK {
				Heartbeat(ctx, millis(r.Init.TTLMS), func(still time.Duration) {
					write(Event{Event: EventStall, MS: float64(still.Microseconds()) / 1000})
				})
			}
		}()
	}
}

// NewServer makes a host that writes replies to nobody, and tells events.
func NewServer(dial Dialer, tell func(Event)) *Server {
	return &Server{DialMaster: DialMaster, dial: dial, tell: tell, locks: map[string]locks.Locker{}, grants: map[int64]*held{}}
}

// Handle does one request.
func (s *Server) Handle(ctx context.Context, r Request) Reply {
	ctx = context.WithValue(ctx, requestID{}, r.ID)
	var reply Reply
	var err error
	switch r.Op {
	case OpInit:
		err = s.start(ctx, r.Init)
	case OpAcquire:
		reply, err = s.acquire(ctx, r)
	case OpExtend:
		reply, err = s.extend(ctx, r)
	case OpCheck:
		reply, err = s.check(r)
	case OpRelease:
		err = s.release(ctx, r)
	default:
		err = bad("unknown op %q", r.Op)
	}
	reply.ID, reply.OK = r.ID, err == nil
	if err != nil {
		reply.Error = wire(err)
	}
	return reply
}

func bad(format string, args ...any) *Error {
	return &Error{Code: CodeBadRequest, Definite: true, Text: fmt.Sprintf(format, args...)}
}

// mostTTLMS is a year: no lease is that long, and nothing overflows below it.
const mostTTLMS = 365 * 24 * 3600 * 1000

func (s *Server) start(ctx context.Context, init *Init) error {
	if init == nil {
		return bad("init without its settings")
	}
	if init.Version != ProtocolVersion {
		return bad("protocol version %d, this host speaks %d", init.Version, ProtocolVersion)
	}
	system, err := locks.Find(init.System)
	if err != nil {
		return bad("%v", err)
	}
	if (init.Sentinel != nil) != (system.Sentinels > 0) {
		return bad("system %s has %d Sentinels, and sentinel is %v", system.Name, system.Sentinels, init.Sentinel)
	}
	if init.TTLMS < 1 || init.TTLMS > mostTTLMS {
		return bad("ttl_ms is %g, expected 1 to %g", init.TTLMS, float64(mostTTLMS))
	}
	if d := init.Discipline; d != "" && d != history.Trusting && d != history.ChecksLease {
		return bad("discipline %q, expected %s or %s", d, history.Trusting, history.ChecksLease)
	}
	opts, err := locks.FromMap(init.Options)
	if err != nil {
		return bad("%v", err)
	}
	n := system.Nodes + system.Replicas
	if opts.Token == locks.TokenExternal {
		n++
	}
	if len(init.Nodes) != n {
		return bad("%d nodes, %s needs %d", len(init.Nodes), system.Name, n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init != nil {
		return bad("init came twice")
	}
	s.init, s.system, s.opts = init, system, opts
	if init.Sentinel != nil { // which node answers is the connection's to know
		s.pools = []redis.Pool{&tracedPool{Pool: s.DialMaster(*init.Sentinel, opts), node: -1, nodes: init.Nodes, tell: s.tell}}
	} else {
		for i, addr := range init.Nodes {
			s.pools = append(s.pools, &tracedPool{Pool: s.dial(addr, opts), node: i, tell: s.tell})
		}
	}
	s.warm(ctx)
	return nil
}

// warm opens a connection to each node, so that the first acquire is like the
// others. A node that does not answer is no error: it may be down on purpose.
func (s *Server) warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, requestID{}, int64(0)), time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for _, p := range s.pools {
		wg.Add(1)
		go func() {
			defer wg.Done()
			conn, err := p.Get(ctx)
			if err == nil {
				_, err = conn.PTTL(s.init.KeyPrefix + "lockchaos:warm")
				conn.Close()
			}
			if err != nil {
				slog.Warn("a node does not answer", "err", err)
			}
		}()
	}
	wg.Wait()
}

func (s *Server) locker(name string) (locks.Locker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.init == nil {
		return nil, bad("no init yet")
	}
	if name == "" {
		return nil, bad("no lock named")
	}
	if l, ok := s.locks[name]; ok {
		return l, nil
	}
	pools, tokens := s.pools, redis.Pool(nil)
	if s.opts.Token == locks.TokenExternal {
		last := len(pools) - 1
		pools, tokens = pools[:last], pools[last]
	}
	l, err := s.system.New(locks.Config{
		Pools: pools, Tokens: tokens, Name: name, Options: s.opts, Draw: s.Draw,
		TTL: time.Duration(s.init.TTLMS * float64(time.Millisecond)),
	})
	if err == nil {
		s.locks[name] = l
	}
	return l, err
}

func (s *Server) acquire(ctx context.Context, r Request) (Reply, error) {
	l, err := s.locker(r.Lock)
	if err != nil {
		return Reply{}, err
	}
	g, err := s.try(ctx, l)
	if err != nil {
		return Reply{}, err
	}
	s.mu.Lock()
	s.grants[r.ID] = &held{grant: g, until: g.Until}
	s.mu.Unlock()
	return Reply{Owner: g.Owner, Token: g.Token, ValidityMS: left(g.Until)}, nil
}

// try acquires as the caller in this process does: for as long as it has time,
// and not with a lease that is over if it is one who looks.
func (s *Server) try(ctx context.Context, l locks.Locker) (*locks.Grant, error) {
	if d := s.opts.AcquireTimeout.D(); d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	g, err := l.Acquire(ctx)
	if err == nil && s.init.Discipline == history.ChecksLease && !time.Now().Before(g.Until) {
		err = &locks.Error{Kind: locks.ErrTooLate}
	}
	return g, err
}

func left(until time.Time) float64 {
	return max(0, float64(time.Until(until))/float64(time.Millisecond))
}

func (s *Server) find(id int64) (*held, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.grants[id]
	if !ok {
		return nil, bad("no grant %d", id)
	}
	return h, nil
}

func (s *Server) extend(ctx context.Context, r Request) (Reply, error) {
	h, err := s.find(r.Grant)
	if err != nil {
		return Reply{}, err
	}
	until, err := h.grant.Extend(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		h.lost = h.lost || errors.Is(err, locks.ErrLost)
		return Reply{}, err
	}
	h.until = until
	return Reply{ValidityMS: left(until)}, nil
}

// check answers from what the host knows; it asks no node.
func (s *Server) check(r Request) (Reply, error) {
	h, err := s.find(r.Grant)
	if err != nil {
		return Reply{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	late := s.init.Discipline == history.ChecksLease && !time.Now().Before(h.until)
	if h.lost || late {
		return Reply{}, &Error{Code: CodeLost, Definite: true, Text: "the lease has ended"}
	}
	return Reply{ValidityMS: left(h.until)}, nil
}

func (s *Server) release(ctx context.Context, r Request) error {
	h, err := s.find(r.Grant)
	if err != nil {
		return err
	}
	err = h.grant.Release(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.lost = true
	return err
}

// wire puts an error into the protocol's words.
func wire(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	code := CodeInternal
	switch {
	case errors.Is(err, locks.ErrRefused):
		code = CodeRefused
	case errors.Is(err, locks.ErrLost):
		code = CodeLost
	case errors.Is(err, locks.ErrTooLate):
		code = CodeTooLate
	case errors.Is(err, locks.ErrUnavailable):
		code = CodeUnavailable
	}
	var le *locks.Error
	definite := errors.As(err, &le) && le.Definite
	return &Error{Code: code, Definite: definite, Text: err.Error()}
}
