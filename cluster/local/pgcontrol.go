package local

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// The children of a postmaster, one for each connection and some for background
// work, are at the head of sessions of their own, so that no signal to a group
// reaches them. While the postmaster itself stands still it makes no new ones
// and reaps none, so their pids are theirs.

// pause stops the postmaster, then its children.
func (n *pgNode) pause(ctx context.Context) (string, error) {
	proof, err := n.proc.pause(ctx)
	if err != nil {
		return "", err
	}
	threads, err := n.signalChildren(ctx, syscall.SIGSTOP, func(stopped, all int) bool { return stopped == all })
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, and its children (%d threads)", proof, threads), nil
}

// resume lets the children go on, then the postmaster.
func (n *pgNode) resume(ctx context.Context) (string, error) {
	threads, err := n.signalChildren(ctx, syscall.SIGCONT, func(stopped, _ int) bool { return stopped == 0 })
	if err != nil {
		return "", err
	}
	proof, err := n.proc.resume(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s, and its children (%d threads)", proof, threads), nil
}

// signalChildren sends a signal and waits for the states that it brings about.
func (n *pgNode) signalChildren(ctx context.Context, sig syscall.Signal, ok func(stopped, all int) bool) (threads int, err error) {
	if end := n.proc.exit(); end != "" {
		return 0, fmt.Errorf("%s: %w (%s)", n.proc.what, errEnded, end)
	}
	pids, err := childrenOf(n.proc.pid)
	if err != nil {
		return 0, err
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return 0, fmt.Errorf("%s: cannot send %v to its child %d: %w", n.proc.what, sig, pid, err)
		}
	}
	var states []string
	err = poll(ctx, func() (bool, error) {
		if states, err = threadStates(pids); err != nil {
			return false, err
		}
		stopped, all := 0, 0
		for _, s := range states {
			switch s {
			case "T", "t":
				stopped, all = stopped+1, all+1
			case "Z", "X": // it has ended
			default:
				all++
			}
		}
		return ok(stopped, all), nil
	})
	if err != nil {
		return 0, fmt.Errorf("%s: after %v the states of its children are %v: %w", n.proc.what, sig, states, err)
	}
	return len(states), nil
}

// crash kills the postmaster and its children at one time, as a power cut
// would: a child that lived on could finish what it was doing.
func (n *pgNode) crash(ctx context.Context) (string, error) {
	proof, children, err := n.killAll(ctx)
	if err != nil {
		return "", err
	}
	c, err := dialFrom(ctx, "", n.port.addr())
	if err == nil {
		_ = c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "", fmt.Errorf("node %s: killed, yet %s does not refuse a connect: %v", n.name, n.port.addr(), err)
	}
	return fmt.Sprintf("%s, %d children killed too, connect refused", proof, children), nil
}

// killAll stops the postmaster, kills its children, then itself, and waits
// until all are gone.
func (n *pgNode) killAll(ctx context.Context) (proof string, killed int, err error) {
	if _, err := n.proc.pause(ctx); err != nil {
		return "", 0, err
	}
	pids, err := childrenOf(n.proc.pid)
	if err != nil {
		return "", 0, err
	}
	var children []entry
	boot := bootID()
	for _, pid := range pids {
		st, err := statOf(pid)
		if err != nil {
			continue
		}
		children = append(children, entry{PID: pid, Start: st.start, Boot: boot})
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return "", 0, fmt.Errorf("%s: cannot kill its child %d: %w", n.proc.what, pid, err)
		}
	}
	if proof, err = n.proc.crash(ctx); err != nil {
		return "", 0, err
	}
	for _, e := range children {
		if err := poll(ctx, func() (bool, error) { return !e.alive(boot), nil }); err != nil {
			return "", 0, fmt.Errorf("%s: its child %d has not ended after SIGKILL: %w", n.proc.what, e.PID, err)
		}
	}
	return proof, len(children), nil
}

// restart starts a server that has ended, on its old port and with its data.
func (n *pgNode) restart(ctx context.Context) (string, error) {
	if n.proc.exit() == "" {
		return "", fmt.Errorf("node %s runs already (pid %d): crash it first", n.name, n.proc.pid)
	}
	old := n.proc.pid
	if err := n.start(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("postmaster pid %d → %d, ready on its old data", old, n.proc.pid), nil
}

// close kills the server and gives back what it held.
func (n *pgNode) close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	if n.proc != nil {
		err = n.end()
	}
	if n.port != nil {
		n.port.free()
		n.port = nil
	}
	return err
}

// end kills the server, whatever state it is in, and waits, but not for ever. It
// takes milliseconds, unless the machine is so busy that nobody gets to die; not
// to wait then would leave the shared memory behind.
func (n *pgNode) end() error {
	const longest = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	_, _, err := n.killAll(ctx)
	if errors.Is(err, errEnded) {
		err = nil
	}
	return errors.Join(err, n.proc.end(), releaseShared(n.dir))
}
