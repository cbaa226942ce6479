package local

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// tick is how often a state that cannot be waited for is looked at.
const tick = 2 * time.Millisecond

// poll looks until done says so, fails, or ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error { return pollEvery(ctx, tick, done) }

func pollEvery(ctx context.Context, period time.Duration, done func() (bool, error)) error {
	t := time.NewTicker(period)
	defer t.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause stops the group.
func (p *proc) pause(ctx context.Context) (proof string, err error) {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	return p.stopped(ctx)
}

// stopped waits until each thread of the group is in state T.
func (p *proc) stopped(ctx context.Context) (proof string, err error) {
	var states []string
	err = p.awaitStates(ctx, &states, func(stopped, all int) bool { return stopped == all })
	if err != nil {
		return "", fmt.Errorf("%s: not all threads have stopped after SIGSTOP, their states are %v: %w", p.what, states, err)
	}
	return fmt.Sprintf("process state T (pid %d, %d threads)", p.pid, len(states)), nil
}

// resume lets the group go on.
func (p *proc) resume(ctx context.Context) (proof string, err error) {
	if err := p.signal(syscall.SIGCONT); err != nil {
		return "", err
	}
	return p.going(ctx)
}

// going waits until no thread of the group is in state T.
func (p *proc) going(ctx context.Context) (proof string, err error) {
	var states []string
	err = p.awaitStates(ctx, &states, func(stopped, _ int) bool { return stopped == 0 })
	if err != nil {
		return "", fmt.Errorf("%s: threads are still stopped after SIGCONT, their states are %v: %w", p.what, states, err)
	}
	return fmt.Sprintf("process state %s (pid %d)", states[0], p.pid), nil
}

func (p *proc) awaitStates(ctx context.Context, states *[]string, ok func(stopped, all int) bool) error {
	return poll(ctx, func() (bool, error) {
		if end := p.exit(); end != "" {
			return false, fmt.Errorf("%w (%s)", errEnded, end)
		}
		pids, err := groupOf(p.pid)
		if err == nil {
			*states, err = threadStates(pids)
		}
		if err != nil || len(*states) == 0 {
			return false, err
		}
		stopped := 0
		for _, s := range *states {
			if s == "T" || s == "t" {
				stopped++
			}
		}
		return ok(stopped, len(*states)), nil
	})
}

// crash kills the group and waits until the process is reaped.
func (p *proc) crash(ctx context.Context) (proof string, err error) {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return "", err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		return "", fmt.Errorf("%s: pid %d has not ended after SIGKILL: %w", p.what, p.pid, ctx.Err())
	}
	st, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !st.Signaled() || st.Signal() != syscall.SIGKILL {
		return "", fmt.Errorf("%s: it was not SIGKILL that ended pid %d: %s", p.what, p.pid, p.exit())
	}
	return fmt.Sprintf("%s (pid %d)", p.exit(), p.pid), nil
}

// end kills the group and waits, but not for ever.
func (p *proc) end() error {
	const longest = 5 * time.Second // a machine that is too busy has taken more than one
	p.kill()
	select {
	case <-p.done:
		return nil
	case <-time.After(longest):
		return fmt.Errorf("%s: pid %d has not ended %v after SIGKILL", p.what, p.pid, longest)
	}
}
