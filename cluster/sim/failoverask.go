package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// masterAddr asks the Sentinel that it has, twice; where that fails all of them
// at once, and takes the first who answers.
func (f *failover) masterAddr(ctx context.Context) (string, error) {
	if s := f.current(); s != "" {
		if addr, err := f.ask(ctx, s); err == nil || ctx.Err() != nil {
			return addr, err
		}
	}
	if err := f.lock(ctx); err != nil {
		return "", err
	}
	defer func() { f.turn <- struct{}{} }()
	if s := f.current(); s != "" {
		addr, err := f.ask(ctx, s)
		if err == nil {
			return addr, nil
		}
		f.leave()
		if ctx.Err() != nil {
			return "", err
		}
	}
	return f.askAll(ctx)
}

func (f *failover) current() string {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	return f.sentinel
}

// lock waits until it may choose a Sentinel.
func (f *failover) lock(ctx context.Context) error {
	select {
	case <-f.turn:
		return nil
	default:
	}
	slot := f.process.gates[laneOf(ctx)]
	select {
	case <-f.turn:
		slot.inOrder(numberOf(ctx))
		return nil
	case <-f.process.dead():
		slot.inOrder(numberOf(ctx))
		return errKilled
	}
}

// ask asks one Sentinel, as go-redis does any command.
func (f *failover) ask(ctx context.Context, sentinel string) (string, error) {
	cl := f.clients[sentinel]
	number := cl.link.number()
	var err error
	for try := range cl.retries + 1 {
		if try > 0 {
			if serr := cl.backoff(ctx, try, number); serr != nil {
				return "", serr
			}
		}
		if err = cl.gate(ctx, number); err != nil {
			return "", err
		}
		if err = ctx.Err(); err != nil {
			return "", err
		}
		var m *message
		if m, err = f.dialed(ctx, cl, number); err == nil {
			v, verr := value(m.reply)
			if n := addressed(v); n != "" {
				return n, nil
			}
			return "", errors.Join(errNoMaster, verr)
		}
		if !again(ctx, err) {
			break
		}
	}
	return "", err
}

// dialed sends the question. Where the connection is refused the client dials again.
func (f *failover) dialed(ctx context.Context, cl *client, number int64) (m *message, err error) {
	for i := range dials {
		if i > 0 {
			t := time.NewTimer(cl.link.odd.align(dialPause))
			select {
			case <-t.C:
			case <-ctx.Done():
				t.Stop()
				cl.apart(number)
				return nil, err
			}
			if gerr := cl.gate(ctx, number); gerr != nil {
				return nil, gerr
			}
		}
		m = newMessage(cl.link, []any{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", f.info.Master})
		if err = cl.carry(ctx, m); !errors.Is(err, errRefused) {
			return m, err
		}
	}
	return m, err
}

// askAll asks all Sentinels, and waits for all: go-redis does not break off
// those who are slow. The first who answers becomes the one to ask.
func (f *failover) askAll(ctx context.Context) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var found string
	errs := make([]error, len(f.info.Sentinels))
	for i, s := range f.info.Sentinels {
		wg.Go(func() {
			addr, err := f.ask(ctx, s)
			if errs[i] = err; err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if found == "" {
				found = addr
				f.choose(s)
				cancel()
			}
		})
	}
	wg.Wait()
	if found != "" {
		return found, nil
	}
	for _, err := range errs {
		if errors.Is(err, errKilled) {
			return "", err
		}
	}
	return "", fmt.Errorf("redis: all sentinels specified in configuration are unreachable: %w", errors.Join(errs...))
}

// leave gives up the Sentinel that it asks.
func (f *failover) leave() {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	f.sentinel = ""
	if f.sub != nil {
		f.sub.hangUp()
		f.sub = nil
	}
}

// choose asks a Sentinel from now on, and listens to it.
func (f *failover) choose(sentinel string) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	f.sentinel = sentinel
	f.subscribe(sentinel)
}

// subscribe listens to a Sentinel, again and again where that ends.
func (f *failover) subscribe(sentinel string) {
	l := f.c.link(f.process.name, sentinel)
	st := f.c.open(l)
	f.sub = st
	st.heard = f.switchTo
	st.client.closed = func() {
		after(l.odd.align(resubPause), func() {
			f.c.mu.Lock()
			defer f.c.mu.Unlock()
			if f.sub == st && !f.process.isOver() {
				f.subscribe(sentinel)
			}
		})
	}
	m := newMessage(l, []any{"SUBSCRIBE", switchChannel})
	m.traits = &traits{stream: st, mute: true, then: func(err error) {
		if err != nil {
			f.c.mu.Lock()
			defer f.c.mu.Unlock()
			st.snap()
		}
	}}
	l.request(m)
}
