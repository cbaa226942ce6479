package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Worker runs tasks one at a time in a child.
type Worker struct {
	command func() *exec.Cmd
	limit   time.Duration
	queue   chan job
	ctx     context.Context
	stop    context.CancelFunc
	ended   chan struct{}
}

// The errors of a task that has no answer.
var (
	ErrBusy   = errors.New("too many simulations wait already, try again")
	ErrSlow   = errors.New("the simulation took too long, and was ended")
	ErrBroken = errors.New("the simulation broke down; this is a bug of the harness, please keep these settings")
	ErrClosed = errors.New("the server ends")
)

// mostWaiting is how many tasks may wait for the one that is under way.
const mostWaiting = 8

type job struct {
	ctx   context.Context
	task  Task
	reply chan result
}

type result struct {
	answer *Answer
	err    error
}

// NewWorker makes a worker whose children are made by command, and run Loop. One
// is started for the first task, and another where one has ended. limit is how
// long a task may take.
func NewWorker(command func() *exec.Cmd, limit time.Duration) *Worker {
	w := &Worker{command: command, limit: limit, queue: make(chan job, mostWaiting), ended: make(chan struct{})}
	w.ctx, w.stop = context.WithCancel(context.Background())
	go w.work()
	return w
}

// Close ends the child, and what is under way.
func (w *Worker) Close() {
	w.stop()
	<-w.ended
}

// Run runs a task, behind those that wait already.
func (w *Worker) Run(ctx context.Context, t Task) (*Answer, error) {
	j := job{ctx, t, make(chan result, 1)}
	select {
	case w.queue <- j:
	default:
		return nil, ErrBusy
	}
	select {
	case r := <-j.reply:
		return r.answer, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-w.ended:
		return nil, ErrClosed
	}
}

// work is the one goroutine that has to do with children. A child gets its
// parent's death signal from the thread that has started it: that of this
// goroutine, which is given to nobody else.
func (w *Worker) work() {
	runtime.LockOSThread() // never unlocked
	defer close(w.ended)
	var c *child
	for {
		var j job
		select {
		case <-w.ctx.Done():
			c.end()
			return
		case j = <-w.queue:
		}
		if j.ctx.Err() != nil {
			continue // nobody waits for it any more
		}
		var err error
		if c == nil {
			c, err = start(w.command())
		}
		if err != nil {
			j.reply <- result{nil, fmt.Errorf("start the simulation: %w", err)}
			continue
		}
		a, err := c.ask(w.ctx, w.limit, j.task)
		if err != nil {
			c.end()
			c = nil
		}
		j.reply <- result{a, err}
	}
}

// child is a process that simulates.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	tasks  *json.Encoder
	answer *json.Decoder
	said   *last
	once   sync.Once
}

func start(cmd *exec.Cmd) (*child, error) {
	c := &child{cmd: cmd, said: &last{}}
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.tasks, c.answer = json.NewEncoder(c.in), json.NewDecoder(out)
	cmd.Stderr = c.said
	// A group of its own: a terminal's Ctrl-C is for the server.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return c, nil
}

// ask hands a task to the child, and waits for the answer. After an error the
// child is of no use any more.
func (c *child) ask(ctx context.Context, limit time.Duration, t Task) (*Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, ErrSlow)
	defer cancel()
	inTime := context.AfterFunc(ctx, func() { _ = c.cmd.Process.Kill() })
	var a Answer
	err := c.tasks.Encode(t)
	if err == nil {
		err = c.answer.Decode(&a)
	}
	switch alive := inTime(); {
	case err == nil && alive:
		return &a, nil
	case errors.Is(context.Cause(ctx), ErrSlow):
		return nil, fmt.Errorf("%w after %s", ErrSlow, limit)
	case ctx.Err() != nil:
		return nil, ErrClosed
	}
	c.end()
	return nil, fmt.Errorf("%w: %s", ErrBroken, c.said.line())
}

// end ends the child and waits for it.
func (c *child) end() {
	if c == nil {
		return
	}
	c.once.Do(func() {
		_ = c.cmd.Process.Kill() // it may have ended by itself
		_ = c.cmd.Wait()         // its error is that it was killed
	})
}

// last keeps the beginning of what a child says on standard error: that of a
// crash report says what happened.
type last struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const mostSaid = 4096

func (l *last) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p[:min(len(p), mostSaid-min(l.text.Len(), mostSaid))])
	return len(p), nil
}

// line is the first line.
func (l *last) line() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(l.text.String()), "\n")
	return line
}
