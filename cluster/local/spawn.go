package local

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// errEnded is wrapped by the error of a call for a process that has ended.
var errEnded = errors.New("the process has ended")

// spawner starts children that die with the harness.
//
// Linux sends the parent-death signal when the thread that forked ends, not
// when the process does. Go ends threads as it likes, so all children are
// started from one goroutine that is locked to its thread. close ends it, and
// with it any child that is still there.
type spawner struct {
	jobs   chan spawnJob
	once   sync.Once
	closed chan struct{}
	note   func(p *proc) error // called for each child: the journal
}

type spawnJob struct {
	cmd   *exec.Cmd
	what  string
	reply chan spawned
}

type spawned struct {
	proc *proc
	err  error
}

func newSpawner(note func(*proc) error) *spawner {
	s := &spawner{jobs: make(chan spawnJob), closed: make(chan struct{}), note: note}
	go s.run()
	return s
}

func (s *spawner) run() {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for {
		select {
		case j := <-s.jobs:
			p, err := s.fork(j)
			j.reply <- spawned{p, err}
		case <-s.closed:
			return
		}
	}
}

func (s *spawner) fork(j spawnJob) (*proc, error) {
	if j.cmd.SysProcAttr == nil { // it may name a user to run as
		j.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	j.cmd.SysProcAttr.Setpgid, j.cmd.SysProcAttr.Pdeathsig = true, syscall.SIGKILL
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s (%s): %w", j.what, j.cmd.Path, err)
	}
	p := &proc{what: j.what, pid: j.cmd.Process.Pid, cmd: j.cmd, done: make(chan struct{})}
	// Nobody else reaps it, so it is there, be it as a zombie.
	st, err := statOf(p.pid)
	p.start = st.start
	if err == nil {
		err = s.note(p)
	}
	go p.reap()
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("cannot note that %s was started: %w", j.what, err)
	}
	return p, nil
}

// spawn starts a child at the head of a process group of its own.
func (s *spawner) spawn(what string, cmd *exec.Cmd) (*proc, error) {
	j := spawnJob{cmd: cmd, what: what, reply: make(chan spawned, 1)}
	select {
	case s.jobs <- j:
		r := <-j.reply
		return r.proc, r.err
	case <-s.closed:
		return nil, fmt.Errorf("cannot start %s: the machine is closed", what)
	}
}

func (s *spawner) close() { s.once.Do(func() { close(s.closed) }) }

// proc is a child. When it ends, what is left of its group is killed.
type proc struct {
	what  string
	pid   int // of the group, too
	start uint64
	cmd   *exec.Cmd

	mu   sync.Mutex // held while the pid is reaped: no signal may go to another's
	over bool
	done chan struct{}
}

func (p *proc) reap() {
	for { // wait without reaping: until then, the pid and the group are ours
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // mostly nobody is left
	_ = p.cmd.Wait()                          // its error is in ProcessState
	p.over = true
	p.mu.Unlock()
	close(p.done)
}

// exit says how the process ended, as "signal: killed"; empty while it runs.
func (p *proc) exit() string {
	select {
	case <-p.done:
	default:
		return ""
	}
	if p.cmd.ProcessState == nil {
		return "unknown end"
	}
	return p.cmd.ProcessState.String()
}

// signal sends a signal to the whole group.
func (p *proc) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return fmt.Errorf("%s: %w", p.what, errEnded)
	}
	if err := syscall.Kill(-p.pid, sig); err != nil {
		return fmt.Errorf("%s: cannot send %v to process group %d: %w", p.what, sig, p.pid, err)
	}
	return nil
}

// kill sends SIGKILL, which reaches stopped processes too. It does not wait.
func (p *proc) kill() { _ = p.signal(syscall.SIGKILL) } // an error means that it has ended

// environment is what children get: the harness's own, and a mark by which a
// sweep knows them.
func environment(mark string) []string { return append(os.Environ(), markName+"="+mark) }

// markName names the environment variable with the work directory.
const markName = "LOCKCHAOS_WORKDIR"
