package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/history"
)

// How long a deed of a fault, and an order's wait, may take.
const (
	deedLimit = 15 * time.Second
	waitLimit = 10 * time.Second
	givenUp   = time.Second // of the end of a fault in a run that counts no more
)

// orderly is the first part of a host that orders pace. It is above those that are
// steps of the host: who lets another go on does so first.
const orderly = 1 << 62

// Log takes the events of a schedule.
type Log interface {
	Add(history.Event) history.Event
}

// Schedule starts and ends the faults of one run. Reach and the timers drive it.
type Schedule struct {
	log    Log
	ctx    context.Context
	faults []*planned
	orders []Order

	pace func(host string, part int64) // after something that wakes several

	mu      sync.Mutex
	counts  map[Point]int // Nth is 0 in the keys
	changed chan struct{} // closed and renewed at each count
	began   time.Time
	timers  sync.WaitGroup
	stop    context.CancelFunc
}

// planned is one fault and where it stands.
type planned struct {
	id    string
	part  int64 // of the schedule
	spec  Spec
	fault Fault
	kind  Kind

	// deed is held for one deed at a time. It is no mutex: a deed takes time, and in
	// the simulation time stands still while somebody waits for a mutex.
	deed  chan struct{}
	state state

	// When the start is over, and only then the end may come: how often the Until
	// point had been reached by then.
	begun   bool
	base    int
	started chan struct{}
	over    chan struct{} // done, whatever came of it
}

type state int

const (
	waiting state = iota
	active
	finished
)

// NewSchedule plans the faults. Targets of specs must be filled in: see Fill.
// The clock of "at" triggers starts at Run.
func NewSchedule(log Log, c Controls, specs []Spec, orders []Order) (*Schedule, error) {
	s := &Schedule{log: log, orders: orders, counts: map[Point]int{}, changed: make(chan struct{}), pace: func(string, int64) {}}
	if p, ok := c.(cluster.Pacer); ok {
		s.pace = p.Pace
	}
	all := newActs()
	for i, spec := range specs {
		kind, ok := Find(spec.Kind)
		if !ok {
			return nil, fmt.Errorf("unknown fault %q", spec.Kind)
		}
		if spec.For == 0 {
			spec.For = spec.Down // its end is the start of the server
		}
		id := fmt.Sprintf("f%d", i+1)
		spec.actor = &actor{fmt.Sprintf("%s (%s)", id, spec.Kind), all}
		s.faults = append(s.faults, &planned{
			id: id, spec: spec, fault: kind.make(c, spec, id), kind: kind, deed: make(chan struct{}, 1),
			started: make(chan struct{}), over: make(chan struct{}),
		})
		s.faults[i].part = int64(i)
	}
	return s, nil
}

// Fill puts all hosts and all lock nodes where a fault of links names none, and
// tells each fault who else there is.
func Fill(specs []Spec, hosts, nodes []string) []Spec {
	filled := make([]Spec, len(specs))
	for i, s := range specs {
		s.members = members{hosts, nodes}
		if k, ok := Find(s.Kind); ok && k.Link() {
			if len(s.Hosts) == 0 {
				s.Hosts = hosts
			}
			if len(s.Nodes) == 0 {
				s.Nodes = nodes
			}
		}
		filled[i] = s
	}
	return filled
}

// Run starts the clock. Close ends it.
func (s *Schedule) Run(ctx context.Context) {
	s.ctx, s.stop = context.WithCancel(ctx)
	s.began = time.Now()
	for _, f := range s.faults {
		s.timers.Add(1)
		go func() {
			defer s.timers.Done()
			s.time(f)
		}()
	}
}

// time starts and ends one fault by the clock.
func (s *Schedule) time(f *planned) {
	if f.spec.From.Timed {
		if !s.sleep(f.spec.From.At, f.over) || !s.alone(f) {
			return
		}
		s.start(f)
	}
	select {
	case <-f.started:
	case <-f.over:
		return
	case <-s.ctx.Done():
		return
	}
	limit, missed := f.spec.Most.D(), true
	switch {
	case f.spec.For > 0:
		limit, missed = f.spec.For.D(), false
	case f.spec.Until.Timed:
		if end := f.spec.Until.At - time.Since(s.began); end <= limit {
			limit, missed = end, false
		}
	}
	if s.sleep(limit, f.over) && s.alone(f) {
		s.heal(f, missed)
	}
}

// alone lets a fault go on apart from those whose time comes at the same instant;
// false if the run ends at it.
func (s *Schedule) alone(f *planned) bool {
	s.pace("", f.part)
	return s.ctx.Err() == nil
}

// sleep waits for a time; false if the run or the fault ended first.
func (s *Schedule) sleep(d time.Duration, over <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-over:
		return false
	case <-s.ctx.Done():
		return false
	}
}

// Reach tells the schedule that a host is at a point. It returns when all that
// is triggered there has been done, and when the orders let the host go on.
func (s *Schedule) Reach(ctx context.Context, host string, do history.Do, before bool) error {
	p := Point{Host: host, Do: do, Before: before}
	s.mu.Lock()
	s.counts[p]++
	n := s.counts[p]
	if len(s.orders) > 0 { // only they wait for it
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	for _, f := range s.faults {
		if hits(&f.spec.From, p, n) {
			s.start(f)
		}
		if !at(&f.spec.Until, p) {
			continue
		}
		if since, begun := s.since(f, n); begun && hits(&f.spec.Until, p, since) {
			s.heal(f, false)
		}
	}
	if !before {
		return nil
	}
	return s.wait(ctx, p, n)
}

func hits(t *Trigger, p Point, n int) bool { return at(t, p) && t.Point.Nth == n }

// at tells whether a trigger waits for a point, the n-th time or another.
func at(t *Trigger, p Point) bool {
	q := &t.Point
	return !t.Timed && !t.IsZero() && q.Host == p.Host && q.Do == p.Do && q.Before == p.Before
}

// since counts from the end of the fault's start.
func (s *Schedule) since(f *planned, n int) (nth int, begun bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return n - f.base, f.begun
}

// wait holds a host back until the orders are fulfilled. An order that is not
// within waitLimit is recorded as missed, and the host goes on.
func (s *Schedule) wait(ctx context.Context, p Point, n int) error {
	for i, o := range s.orders {
		step := o.Step
		step.Nth = 0
		if step != p || o.Step.Nth != n {
			continue
		}
		ok, err := s.await(ctx, o)
		if err != nil {
			return err
		}
		s.pace(p.Host, orderly+int64(i))
		if !ok {
			s.log.Add(history.Event{Kind: history.Fault, Host: p.Host, Fault: &history.FaultStep{
				ID: fmt.Sprintf("order%d", i+1), Name: "order", Step: history.FaultMissed,
				Proof: fmt.Sprintf("%q did not come within %s", o.String(), waitLimit),
			}})
		}
	}
	return nil
}

func (s *Schedule) await(ctx context.Context, o Order) (bool, error) {
	if o.After.Timed {
		return s.sleep(o.After.At-time.Since(s.began), nil), ctx.Err()
	}
	limit := time.NewTimer(waitLimit)
	defer limit.Stop()
	p := o.After.Point
	nth := p.Nth
	p.Nth = 0
	for {
		s.mu.Lock()
		n, changed := s.counts[p], s.changed
		s.mu.Unlock()
		if n >= nth {
			return true, nil
		}
		select {
		case <-changed:
		case <-limit.C:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// Over is true when nothing is left to start or to heal.
func (s *Schedule) Over() bool {
	for _, f := range s.faults {
		select {
		case <-f.over:
		default:
			return false
		}
	}
	return true
}

// Close heals what is still active and records what never started.
func (s *Schedule) Close() {
	for _, f := range s.faults {
		s.healBefore(f)
		s.heal(f, false)
	}
	s.stop()
	s.timers.Wait()
	for _, f := range s.faults {
		if f.state == waiting {
			s.log.Add(f.step(history.FaultMissed, fmt.Sprintf("its start %q never came", f.spec.From)))
		}
	}
}

// healBefore ends what keeps the servers from answering that a fault asks at its end,
// or is waiting for: or it would wait for an end that comes after its own.
func (s *Schedule) healBefore(f *planned) {
	select {
	case <-f.over:
		return
	default:
	}
	if !f.asks() {
		return
	}
	for _, o := range s.faults {
		if o != f && o.spec.actor.does(down, f.nodes()) {
			s.heal(o, false)
		}
	}
}
