package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/host"
	"lockchaos/workloads"
)

// lockName is the name of the one lock of a run.
const lockName = "counter"

// session is one host at work: it drives each step, records its call and its
// return, and lets the schedule act before and after it.
type session struct {
	name     string
	lock     string // its name in the history
	key      string // its name in the cluster, which the host is told
	host     host.Host
	rec      *history.Recorder
	schedule *faults.Schedule
	resource workloads.Resource
	links    []cluster.Link // to the lock nodes

	ttl      time.Duration
	pace     func(grant int64) // after something that wakes many at once; grant is a watchdog's, and 0 otherwise
	watchdog bool
	careful  bool // it looks at its lease: checks-lease

	mu      sync.Mutex
	dogs    map[int64]context.CancelFunc // by grant
	running sync.WaitGroup               // watchdogs
	failure error                        // the first answer that did not come
}

var _ workloads.Steps = (*session)(nil)

// step is one operation of a host: before it, the call; after it, the return.
// act fills in the return. reached tells whether the "after" point has come.
func (s *session) step(ctx context.Context, call history.Event, act func(*history.Event) error) (history.Event, error) {
	if err := s.schedule.Reach(ctx, s.name, call.Do, true); err != nil {
		return history.Event{}, errors.Join(workloads.ErrStopped, err)
	}
	dog := int64(0)
	if call.Do == history.Extend {
		dog = call.Grant
	}
	if call.Do == history.Acquire || call.Do == history.Check || call.Do == history.Extend {
		s.pace(dog) // it may come after a time that is a round one
	}
	call.Kind, call.Host, call.Lock, call.Op = history.Call, s.name, s.lock, s.rec.NextOp()
	s.rec.Put(&call)
	ret := call
	ret.Kind, ret.Value = history.Return, 0
	err := act(&ret)
	if err != nil { // no answer came: nobody knows
		s.pace(dog) // the end of a run wakes all
		ret.Result, ret.Code, ret.Text = history.Unknown, "no-answer", err.Error()
		s.fail(err)
		err = errors.Join(workloads.ErrStopped, err)
	}
	s.rec.Put(&ret)
	if err == nil && reached(ret) {
		err = s.schedule.Reach(ctx, s.name, ret.Do, false)
	}
	return ret, err
}

func (s *session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil {
		s.failure = err
	}
}

// reached tells whether a return counts as "w1 acquired", "w1 wrote", …: what
// needs the lock only with it; a read or a write also when it was refused, as
// it is over; a release always.
func reached(e history.Event) bool {
	switch e.Do {
	case history.Acquire, history.Extend:
		return e.Result == history.OK
	case history.Read, history.Write, history.Check:
		return e.Result == history.OK || e.Result == history.Refused || e.Result == history.Gone
	}
	return true
}

// ask sends a request to the host and puts its reply into the return.
func (s *session) ask(ctx context.Context, op string, grant int64, ret *history.Event) (host.Reply, error) {
	reply, err := s.host.Do(ctx, host.Request{ID: ret.Op, Op: op, Lock: s.key, Grant: grant})
	if err != nil {
		return reply, err
	}
	ret.Result = history.OK
	if e := reply.Error; e != nil {
		ret.Result, ret.Code, ret.Text = result(ret.Do, e), e.Code, e.Text
	}
	ret.Validity = reply.Validity()
	if ret.Validity > s.ttl {
		return reply, fmt.Errorf("host %s: %w: it says that %s are left of a lease of %s", s.name, host.ErrProtocol, ret.Validity, s.ttl)
	}
	return reply, nil
}

// result is what an error of a host means for an operation.
func result(do history.Do, e *host.Error) history.Result {
	switch {
	case e.Code == host.CodeRefused && do == history.Acquire:
		return history.Refused
	case e.Code == host.CodeLost && do != history.Acquire:
		return history.Gone
	case e.Definite:
		return history.Failed
	}
	return history.Unknown
}

// Acquire tries once.
func (s *session) Acquire(ctx context.Context) (*workloads.Grant, error) {
	backed := cluster.Backed(s.links)
	ret, err := s.step(ctx, history.Event{Do: history.Acquire}, func(ret *history.Event) error {
		reply, err := s.ask(ctx, host.OpAcquire, 0, ret)
		if err != nil || ret.Result != history.OK {
			return err
		}
		if reply.Owner == "" {
			return fmt.Errorf("host %s: %w: a grant without an owner", s.name, host.ErrProtocol)
		}
		if s.careful && ret.Validity == 0 {
			return fmt.Errorf("host %s: %w: a grant without validity_ms, and its discipline is to check its lease", s.name, host.ErrProtocol)
		}
		ret.Owner, ret.Token, ret.Grant = reply.Owner, reply.Token, ret.Op
		ret.Backed = backed()
		s.watch(ctx, ret.Op)
		return nil
	})
	if err != nil || ret.Result != history.OK {
		return nil, err
	}
	return &workloads.Grant{Op: ret.Op, Owner: ret.Owner, Token: ret.Token}, nil
}

// Check asks the host whether it believes.
func (s *session) Check(ctx context.Context, g *workloads.Grant) (bool, error) {
	ret, err := s.step(ctx, event(history.Check, g), func(ret *history.Event) error {
		_, err := s.ask(ctx, host.OpCheck, g.Op, ret)
		return err
	})
	return ret.Result == history.OK, err
}

// Extend prolongs the lease.
func (s *session) Extend(ctx context.Context, g *workloads.Grant) (history.Result, error) {
	ret, err := s.step(ctx, event(history.Extend, g), func(ret *history.Event) error {
		_, err := s.ask(ctx, host.OpExtend, g.Op, ret)
		return err
	})
	return ret.Result, err
}

// Release gives the lock back. The watchdog is called off first, but what it
// has already sent may still race the release, as in a real program.
func (s *session) Release(ctx context.Context, g *workloads.Grant) error {
	_, err := s.step(ctx, event(history.Release, g), func(ret *history.Event) error {
		s.unwatch(g.Op)
		_, err := s.ask(ctx, host.OpRelease, g.Op, ret)
		return err
	})
	return err
}

// Read reads the counter on behalf of the host.
func (s *session) Read(ctx context.Context, g *workloads.Grant) (workloads.Answer, error) {
	return s.use(ctx, event(history.Read, g), g, workloads.Attempt{}, s.resource.Read)
}

// Write stores the counter on behalf of the host.
func (s *session) Write(ctx context.Context, g *workloads.Grant, value, version int64) (workloads.Answer, error) {
	e := event(history.Write, g)
	e.Value = value
	return s.use(ctx, e, g, workloads.Attempt{Value: value, Version: version}, s.resource.Write)
}

func (s *session) use(ctx context.Context, call history.Event, g *workloads.Grant, a workloads.Attempt,
	do func(context.Context, workloads.Attempt) workloads.Answer) (workloads.Answer, error) {
	var answer workloads.Answer
	_, err := s.step(ctx, call, func(ret *history.Event) error {
		a.Op, a.Host, a.Grant, a.Owner, a.Token = ret.Op, s.name, g.Op, g.Owner, g.Token
		answer = do(ctx, a)
		ret.Result, ret.Value, ret.Text = answer.Result, answer.Value, answer.Text
		return nil
	})
	return answer, err
}

func event(do history.Do, g *workloads.Grant) history.Event {
	return history.Event{Do: do, Grant: g.Op, Token: g.Token}
}

// heard records what the host says unasked.
func (s *session) heard(nodes []string) func(host.Event) {
	return func(e host.Event) {
		switch e.Event {
		case host.EventLost:
			s.rec.Add(history.Event{Kind: history.Lost, Host: s.name, Lock: s.lock, Grant: e.Grant, Text: e.Text})
		case host.EventStall:
			s.rec.Add(history.Event{Kind: history.Stall, Host: s.name, Value: int64(e.Took())})
		case host.EventTrace:
			ev := history.Event{Kind: history.Trace, Host: s.name, Op: e.ID, Code: e.Command, Result: voted(e.Vote), Took: e.Took(), Text: e.Text}
			if e.Node >= 0 && e.Node < len(nodes) {
				ev.Node = nodes[e.Node]
			}
			s.rec.Put(&ev)
		}
	}
}

// voted is the result of a node's answer, in the words of a host.
func voted(vote string) history.Result {
	switch vote {
	case "yes":
		return history.OK
	case "no":
		return history.Refused
	case "error":
		return history.Failed
	}
	return ""
}
