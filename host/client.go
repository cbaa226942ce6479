package host

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"lockchaos/internal/excerpt"
)

// MaxLine is the longest line of the protocol, in bytes.
const MaxLine = 1 << 20

// MaxEvents is how many events a host may send without a reply between them:
// each is kept in the history.
const MaxEvents = 10_000

// ErrProtocol is wrapped by the error of a host that does not keep to the protocol.
var ErrProtocol = errors.New("the host does not keep to the protocol")

// ErrEnded is wrapped by the error of a host whose output has ended.
var ErrEnded = errors.New("the host has ended")

// Client is the harness's end of the line protocol: a Host over two pipes.
type Client struct {
	name   string
	events func(Event)

	writing chan struct{} // holds one: one line at a time
	in      io.WriteCloser
	unasked int // events since the last reply; only for who reads

	mu      sync.Mutex
	waiting map[int64]chan Reply
	expired map[int64]bool // given up by us: an answer is late, not wrong
	err     error
	done    chan struct{}
}

var _ Host = (*Client)(nil)

// NewClient speaks to a host over its standard input and output. events is
// called for each line that answers no request, in order; it must not block.
func NewClient(name string, stdin io.WriteCloser, stdout io.Reader, events func(Event)) *Client {
	c := &Client{
		name: name, events: events, in: stdin, writing: make(chan struct{}, 1),
		waiting: map[int64]chan Reply{}, expired: map[int64]bool{}, done: make(chan struct{}),
	}
	go c.read(stdout)
	return c
}

// Do sends a request and waits for its reply.
func (c *Client) Do(ctx context.Context, r Request) (Reply, error) {
	ch := make(chan Reply, 1)
	if err := c.expect(r.ID, ch); err != nil {
		return Reply{}, err
	}
	if err := c.send(ctx, r); err != nil {
		c.forget(r.ID)
		return Reply{}, err
	}
	select {
	case reply := <-ch:
		return reply, nil
	case <-c.done:
		select { // the last line may have been ours
		case reply := <-ch:
			return reply, nil
		default:
			return Reply{}, c.Err()
		}
	case <-ctx.Done():
		c.forget(r.ID)
		err := ctx.Err()
		if cause := context.Cause(ctx); cause != err {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return Reply{}, fmt.Errorf("host %s: no reply to %s %d: %w", c.name, r.Op, r.ID, err)
	}
}

// Done is closed when the host's output has ended or has broken the protocol.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err says why Done was closed.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close asks the host to end and waits for the end of its output, or for ctx.
func (c *Client) Close(ctx context.Context) error {
	go func() { // a stopped host with a full pipe must not keep us
		_ = c.send(ctx, Request{Op: OpClose}) // it may be gone already
		_ = c.in.Close()
	}()
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("host %s does not close: %w", c.name, ctx.Err())
	}
}

func (c *Client) expect(id int64, ch chan Reply) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	c.waiting[id] = ch
	return nil
}

func (c *Client) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.waiting[id]; ok {
		delete(c.waiting, id)
		c.expired[id] = true
	}
}

// send writes a request, or gives up with ctx: a stopped host does not read.
func (c *Client) send(ctx context.Context, r Request) error {
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	late := func() error { return fmt.Errorf("host %s: %s %d cannot be sent: %w", c.name, r.Op, r.ID, ctx.Err()) }
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return late()
	}
	sent := make(chan error, 1)
	go func() {
		_, err := c.in.Write(append(b, '\n'))
		<-c.writing
		sent <- err
	}()
	select {
	case err := <-sent:
		if err != nil {
			return fmt.Errorf("host %s: %w: %w", c.name, ErrEnded, err)
		}
		return nil
	case <-ctx.Done():
		return late()
	}
}

func (c *Client) read(stdout io.Reader) {
	br := bufio.NewReaderSize(stdout, 16<<10)
	for {
		line, err := readLine(br)
		if err == nil {
			err = c.line(line)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

func (c *Client) end(err error) {
	c.mu.Lock()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		err = ErrEnded
	}
	c.err = fmt.Errorf("host %s: %w", c.name, err)
	c.mu.Unlock()
	close(c.done)
}

// line handles one line of the host: an event or a reply.
func (c *Client) line(b []byte) error {
	if bytes.HasPrefix(b, []byte(`{"event"`)) { // as the built-in host writes them
		return c.event(b)
	}
	var l struct {
		Reply
		Event string `json:"event"`
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return fmt.Errorf("%w: line %s: %w", ErrProtocol, excerpt.Of(b), err)
	}
	if l.Event != "" {
		return c.event(b)
	}
	c.unasked = 0
	r := l.Reply
	if err := r.validate(); err != nil {
		return fmt.Errorf("%w: reply %s: %w", ErrProtocol, excerpt.Of(b), err)
	}
	if r.ID == 0 { // of close
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.waiting[r.ID]
	switch {
	case ok:
		delete(c.waiting, r.ID)
		ch <- r
	case c.expired[r.ID]:
		delete(c.expired, r.ID)
	default:
		return fmt.Errorf("%w: reply %s answers no request", ErrProtocol, excerpt.Of(b))
	}
	return nil
}

func (c *Client) event(b []byte) error {
	if c.unasked++; c.unasked > MaxEvents {
		return fmt.Errorf("%w: more than %d events without a reply between them", ErrProtocol, MaxEvents)
	}
	var e Event
	if err := json.Unmarshal(b, &e); err != nil {
		return fmt.Errorf("%w: event %s: %w", ErrProtocol, excerpt.Of(b), err)
	}
	if e.Event != EventTrace && e.Event != EventLost && e.Event != EventStall {
		return fmt.Errorf("%w: unknown event in %s", ErrProtocol, excerpt.Of(b))
	}
	if e.Event == EventStall && !(e.MS > 0) {
		return fmt.Errorf("%w: a stall of no time in %s", ErrProtocol, excerpt.Of(b))
	}
	if c.events != nil {
		c.events(e)
	}
	return nil
}

var codes = map[string]bool{
	CodeRefused: true, CodeLost: true, CodeUnavailable: true, CodeTooLate: true,
	CodeUnsupported: true, CodeBadRequest: true, CodeInternal: true,
}

func (r Reply) validate() error {
	switch {
	case r.OK && r.Error != nil:
		return errors.New("ok and an error at once")
	case !r.OK && r.Error == nil:
		return errors.New("neither ok nor an error")
	case r.Error != nil && !codes[r.Error.Code]:
		return fmt.Errorf("unknown error code %q", r.Error.Code)
	case r.Token < 0:
		return fmt.Errorf("token %d is below 0", r.Token)
	case r.ValidityMS < 0:
		return fmt.Errorf("validity_ms %g is below 0", r.ValidityMS)
	}
	return nil
}

// readLine reads one line of at most MaxLine bytes, without its end.
func readLine(br *bufio.Reader) ([]byte, error) {
	var long []byte
	for {
		part, err := br.ReadSlice('\n')
		if err == nil && long == nil {
			return bytes.TrimSpace(part), nil
		}
		long = append(long, part...)
		switch {
		case len(long) > MaxLine:
			return nil, fmt.Errorf("%w: a line of over %d bytes", ErrProtocol, MaxLine)
		case err == nil:
			return bytes.TrimSpace(long), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(long) > 0:
			return nil, fmt.Errorf("%w: the last line is cut off: %s", ErrEnded, excerpt.Of(long))
		default:
			return nil, err
		}
	}
}
