package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/host"
)

var _ cluster.HostControl = (*Cluster)(nil)

// Bounds of the end of a host.
const (
	hostGrace = 300 * time.Millisecond // for a host to go by itself
	exitGrace = 250 * time.Millisecond // from the end of its output to the end of the process
)

// hostProc is a host that was started.
type hostProc struct {
	host.Host
	name string
	proc *proc
	log  string // its standard error
	from int64  // where its part of the log begins
	done chan struct{}
}

// StartHost starts a host and hands it init. A host that has ended may be started again.
func (c *Cluster) StartHost(
	ctx context.Context, name string, init host.Init, events func(host.Event),
) (host.Host, error) {
	spec, err := c.hostSpec(name)
	if err != nil {
		return nil, err
	}
	h, err := c.launch(spec, events)
	if err != nil {
		return nil, err
	}
	init.Host, init.Version = name, host.ProtocolVersion
	init.Nodes, init.Sentinel = c.hostNodes(name), c.sentinelInit(name)
	reply, err := h.Do(ctx, host.Request{ID: initID, Op: host.OpInit, Init: &init})
	if err == nil && !reply.OK {
		err = fmt.Errorf("host %s refuses init: %w", name, reply.Error)
	}
	if err != nil {
		return nil, errors.Join(
			fmt.Errorf("%w; its log is %s", err, c.logOf(name)), h.proc.end())
	}
	return h, nil
}

// initID is the id of the request that StartHost sends; callers count from 1 up.
const initID = 1 << 50 // a double holds it exactly, as hosts in JavaScript need

func (c *Cluster) hostSpec(name string) (cluster.HostSpec, error) {
	for _, h := range c.spec.Hosts {
		if h.Name == name {
			return h, nil
		}
	}
	return cluster.HostSpec{}, fmt.Errorf("there is no host %q; %s", name, c.members())
}

// hostNodes are a host's own addresses of the lock nodes, in the order of the spec.
func (c *Cluster) hostNodes(name string) []string {
	var list []string
	for _, n := range c.spec.Nodes {
		if n.Name != cluster.Resource && n.Role != cluster.RoleSentinel {
			list = append(list, c.links[pair{name, n.Name}].Addr())
		}
	}
	return list
}

func (c *Cluster) logOf(name string) string { return filepath.Join(c.logs, name+".log") }

// launch starts the process of a host and makes the harness's end of it.
func (c *Cluster) launch(spec cluster.HostSpec, events func(host.Event)) (*hostProc, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("cannot start host %s: the cluster is closed", spec.Name)
	}
	if old := c.hosts[spec.Name]; old != nil && old.proc.exit() == "" {
		return nil, fmt.Errorf("host %s runs already (pid %d)", spec.Name, old.proc.pid)
	}
	command := spec.Command
	if len(command) == 0 {
		command = c.machine.Command
	}
	log, err := os.OpenFile(c.logOf(spec.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("host %s: cannot open its log: %w", spec.Name, err)
	}
	defer log.Close()
	h, err := c.spawnHost(spec, command, log, events)
	if err != nil {
		return nil, fmt.Errorf("in %q: %w", spec.Dir, err)
	}
	c.hosts[spec.Name] = h
	return h, nil
}

func (c *Cluster) spawnHost(
	spec cluster.HostSpec, command []string, log *os.File, events func(host.Event),
) (*hostProc, error) {
	// Pipes of our own: those of exec.Cmd are closed when the process ends,
	// with the last lines unread.
	inRead, inWrite, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	outRead, outWrite, err := os.Pipe()
	if err != nil {
		_, _ = inRead.Close(), inWrite.Close()
		return nil, err
	}
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, errors.Join(err, inRead.Close(), inWrite.Close(), outRead.Close(), outWrite.Close())
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Env = spec.Dir, environment(c.machine.work.dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inRead, outWrite, log
	p, err := c.machine.spawn.spawn("host "+spec.Name, cmd)
	_, _ = inRead.Close(), outWrite.Close() // the child has its own
	if err != nil {
		_, _ = inWrite.Close(), outRead.Close()
		return nil, err
	}
	h := &hostProc{name: spec.Name, proc: p, log: log.Name(), from: from, done: make(chan struct{})}
	h.Host = c.machine.NewHost(spec.Name, inWrite, outRead, events)
	go func() {
		<-h.Host.Done()
		select { // so that Err can tell how it ended
		case <-p.done:
		case <-time.After(exitGrace):
		}
		_, _ = inWrite.Close(), outRead.Close()
		close(h.done)
	}()
	return h, nil
}

// Do sends a request. Where the host has ended, the error says how.
func (h *hostProc) Do(ctx context.Context, r host.Request) (host.Reply, error) {
	reply, err := h.Host.Do(ctx, r)
	if !errors.Is(err, host.ErrEnded) {
		return reply, err
	}
	select {
	case <-h.done:
	case <-time.After(2 * exitGrace): // it has closed its input only, and lives
	case <-ctx.Done():
	}
	return reply, h.withEnd(err)
}

// Done is closed when the host's output has ended.
func (h *hostProc) Done() <-chan struct{} { return h.done }

// Err says how the host has ended, with the end of its process.
func (h *hostProc) Err() error {
	return h.withEnd(h.Host.Err())
}

// withEnd adds to an error how the process ended, if it did, and what it said
// last. One that was killed had no time to say why.
func (h *hostProc) withEnd(err error) error {
	end := h.proc.exit()
	if end == "" || err == nil {
		return err
	}
	if line := lastLine(h.log, h.from); line != "" && !strings.Contains(end, "killed") {
		end += fmt.Sprintf("; the last line of its log: %q", line)
	}
	return fmt.Errorf("%w (process: %s)", err, end)
}

// Close asks the host to end; when it has not by the end of ctx, it is killed.
func (h *hostProc) Close(ctx context.Context) error {
	err := h.Host.Close(ctx)
	select {
	case <-h.proc.done:
		return err
	case <-ctx.Done():
		return errors.Join(err, h.proc.end())
	}
}

// end closes the host, soon.
func (h *hostProc) end() error {
	ctx, cancel := context.WithTimeout(context.Background(), hostGrace)
	defer cancel()
	if h.proc.exit() == "" && !h.stopped() {
		_ = h.Host.Close(ctx) // it may hang or be broken; it is killed then
		select {
		case <-h.proc.done:
		case <-ctx.Done():
		}
	}
	return h.proc.end()
}

// stopped reports whether the host is paused, so that asking it is no use.
func (h *hostProc) stopped() bool {
	st, err := statOf(h.proc.pid)
	return err == nil && st.state == "T"
}

// PauseHost stops a host with SIGSTOP, and all processes that it has started.
func (c *Cluster) PauseHost(ctx context.Context, name string) (string, error) {
	return c.withHost(name, func(p *proc) (string, error) { return p.pause(ctx) })
}

// ResumeHost lets a host go on with SIGCONT.
func (c *Cluster) ResumeHost(ctx context.Context, name string) (string, error) {
	return c.withHost(name, func(p *proc) (string, error) { return p.resume(ctx) })
}

// KillHost kills a host with SIGKILL, and all processes that it has started.
func (c *Cluster) KillHost(ctx context.Context, name string) (string, error) {
	return c.withHost(name, func(p *proc) (string, error) { return p.crash(ctx) })
}

func (c *Cluster) withHost(name string, f func(*proc) (string, error)) (string, error) {
	c.mu.Lock()
	h := c.hosts[name]
	c.mu.Unlock()
	if h == nil {
		return "", fmt.Errorf("host %q was not started; %s", name, c.members())
	}
	return f(h.proc)
}
