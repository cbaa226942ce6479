package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockchaos/host"
)

// errKilled is what a killed process would never see. Its library is made to
// end quickly with it: no message leaves any more.
var errKilled = fmt.Errorf("%w: signal: killed", host.ErrEnded)

// process is a simulated host process, which can be stopped and killed. It has
// a gate wherever a real one could stop: before and after each operation, and
// at each command to a node.
type process struct {
	name   string
	server *host.Server
	odd    *draws
	gates  [lanes]*draws

	mu     sync.Mutex
	resume chan struct{} // closed when it may go on; nil where it is not stopped
	killed chan struct{}
	ended  bool
	done   chan struct{}
}

var _ host.Host = (*process)(nil)

func newProcess(name string, odd *draws, gates [lanes]*draws) *process {
	return &process{name: name, odd: odd, gates: gates, killed: make(chan struct{}), done: make(chan struct{})}
}

// A host does one thing at a time, but for its watchdog: two lanes, which may
// both wait at a gate and must not go on at one instant.
const lanes = 2

type requestKey struct{}

// request is what a command needs to know of the request that it is part of.
type request struct {
	base context.Context
	lane int
	id   int64
}

func laneOf(ctx context.Context) int {
	r, _ := ctx.Value(requestKey{}).(request)
	return r.lane
}

// numberOf tells the requests of one host apart.
func numberOf(ctx context.Context) int64 {
	r, _ := ctx.Value(requestKey{}).(request)
	return r.id
}

// base is the context of the harness, not one with a deadline of the library's:
// a stopped process does not notice that its time is up.
func base(ctx context.Context) context.Context {
	if r, ok := ctx.Value(requestKey{}).(request); ok {
		return r.base
	}
	return ctx
}

// gate lets a running process pass, and keeps a stopped one. Those who wait wake
// at one instant, and go on each in the slot of its lane, in the order of their
// numbers. Only of a killed process nobody sees in which order its parts end.
func (p *process) gate(ctx context.Context, slots *[lanes]*draws, number int64) error {
	for {
		p.mu.Lock()
		resume, ended := p.resume, p.ended
		p.mu.Unlock()
		if ended {
			return errKilled
		}
		if resume == nil {
			return nil
		}
		err := p.stopped(ctx, resume)
		if errors.Is(err, errKilled) {
			return err
		}
		slots[laneOf(ctx)].inOrder(number)
		if err != nil {
			return err
		}
	}
}

// stopped waits until a stopped process may go on.
func (p *process) stopped(ctx context.Context, resume <-chan struct{}) error {
	select {
	case <-resume:
		return nil
	case <-p.killed:
		return errKilled
	case <-base(ctx).Done():
		return base(ctx).Err()
	}
}

// dead is closed when the process is killed; never for the harness's own.
func (p *process) dead() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.killed
}

// Do does one request in the caller's goroutine.
func (p *process) Do(ctx context.Context, r host.Request) (host.Reply, error) {
	lane := 0
	if r.Op == host.OpExtend {
		lane = 1
	}
	ctx = context.WithValue(ctx, requestKey{}, request{ctx, lane, r.ID})
	if err := p.gate(ctx, &p.gates, r.ID); err != nil {
		return host.Reply{}, p.failed(err)
	}
	reply := p.server.Handle(ctx, r)
	answered := time.Now()
	if err := p.gate(ctx, &p.gates, r.ID); err != nil {
		return host.Reply{}, p.failed(err)
	}
	// What it says is left counts from now on, also where it was stopped with the
	// answer in its hand.
	reply.ValidityMS = max(0, reply.ValidityMS-float64(time.Since(answered))/float64(time.Millisecond))
	if err := ctx.Err(); err != nil {
		return host.Reply{}, p.failed(err)
	}
	return reply, nil
}

func (p *process) failed(err error) error { return fmt.Errorf("host %s: %w", p.name, err) }

// Done is closed when the process has ended.
func (p *process) Done() <-chan struct{} { return p.done }

// Err says why.
func (p *process) Err() error { return p.failed(errKilled) }

// Close ends the process.
func (p *process) Close(context.Context) error {
	p.end()
	return nil
}

func (p *process) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.ended = true
	close(p.killed)
	close(p.done)
	return true
}

// isOver tells whether it has ended.
func (p *process) isOver() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// tells passes on what a process says while it runs. Once it has ended its library
// ends, too, and what comes of that no real process would live to say.
func (p *process) tells(events func(host.Event)) func(host.Event) {
	return func(e host.Event) {
		if events != nil && !p.isOver() {
			events(e)
		}
	}
}

// apart lets those who were woken by a deed go first.
func (p *process) apart() { time.Sleep(p.odd.align(2 * span)) }

var errNotRunning = errors.New("the process has ended")

func (p *process) pause() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.ended:
		return "", errNotRunning
	case p.resume != nil:
		return "", errors.New("the process is stopped already")
	}
	p.resume = make(chan struct{})
	return "simulated process state T", nil
}

func (p *process) unpause() (string, error) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return "", errNotRunning
	}
	if p.resume != nil {
		close(p.resume)
		p.resume = nil
	}
	p.mu.Unlock()
	p.apart()
	return "simulated process state R", nil
}

func (p *process) kill() (string, error) {
	if !p.end() {
		return "", errNotRunning
	}
	p.apart()
	return "simulated process killed", nil
}
