// Package runner runs one scenario: cluster up, hosts up, workload and faults,
// history out. It judges nothing.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/host"
	"lockchaos/locks"
	"lockchaos/scenario"
	"lockchaos/workloads"
)

// World brings clusters up.
type World interface {
	Up(ctx context.Context, spec cluster.Spec) (Cluster, error)
}

// Reserver is a world with few nodes: a run waits until it has its own, before its
// time begins.
type Reserver interface {
	// Reserve gives the world that the nodes of a spec are kept in, until free is called.
	Reserve(ctx context.Context, spec cluster.Spec) (own World, free func(), err error)
}

// Cluster is a cluster that faults can be done to.
type Cluster interface {
	cluster.Cluster
	cluster.HostControl
	cluster.NodeControl
	cluster.ClockControl
	cluster.Commander
	cluster.Conditions
}

// Run is one run of a scenario, with one guard.
type Run struct {
	Name     string // for logs and temporary names
	World    string // local, …
	Scenario *scenario.Scenario
	Guard    string
	Seed     int64
	// Dir is the working directory of an external host.
	Dir string
	// Logs is where hosts and servers write theirs.
	Logs string
	// Keep gets the history as it is written, where it is not nil.
	Keep *history.History
}

// Limits of the parts of a run that have none in the scenario.
const (
	upLimit     = 20 * time.Second
	settleLimit = 10 * time.Second
	closeLimit  = 2 * time.Second
)

// ErrHost is wrapped by the error of a run whose host ended by itself or broke
// the protocol.
var ErrHost = errors.New("a host failed")

// Do runs and writes the history to out. The history is complete, and may be
// judged, only where there is no error.
func (r Run) Do(ctx context.Context, w World, out io.Writer) error {
	spec := r.Spec()
	if rs, ok := w.(Reserver); ok {
		own, free, err := rs.Reserve(ctx, spec)
		if err != nil {
			return err
		}
		defer free()
		w = own
	}
	upCtx, cancel := context.WithTimeoutCause(ctx, upLimit, fmt.Errorf("the servers were not up within %s", upLimit))
	defer cancel()
	c, err := w.Up(upCtx, spec)
	if err != nil {
		return fmt.Errorf("bring the servers up: %w", err)
	}
	defer c.Close()
	resource, done, err := r.resource(upCtx, c)
	if err != nil {
		return err
	}
	defer done()
	rec, err := history.NewRecorder(out, r.header())
	if err != nil {
		return err
	}
	if r.Keep != nil {
		rec.Keep(r.Keep)
	}
	live := &live{Run: r, cluster: c, rec: rec, resource: resource}
	return errors.Join(live.run(ctx), rec.Close())
}

// Spec is the cluster that the run needs.
func (r Run) Spec() cluster.Spec {
	s := cluster.Spec{Name: r.Name, Seed: r.Seed, Logs: r.Logs}
	s.Nodes = append(r.Scenario.NodeSpecs(), r.resourceNode())
	for i := range s.Nodes {
		s.Nodes[i].Clock = slices.Contains(r.Scenario.Clocks(), s.Nodes[i].Name)
		s.Nodes[i].Own = slices.Contains(r.Scenario.ActedOn(), s.Nodes[i].Name)
	}
	for _, h := range r.Scenario.HostNames() {
		s.Hosts = append(s.Hosts, cluster.HostSpec{Name: h, Command: r.Scenario.Lock.Command, Dir: r.Dir})
	}
	return s
}

func (r Run) header() history.Header {
	s := r.Scenario
	return history.Header{
		Run: r.Name, Scenario: s.Name, World: r.World, Seed: r.Seed,
		System: s.Lock.System, TTL: s.Lock.TTL.D(), Quorum: s.Quorum(),
		Workload: s.Workload.Kind, Guard: r.Guard, Discipline: s.Workload.Discipline,
		Faults: s.Proofs(), Needs: s.Needs, NeedsEach: s.NeedsEach, Demand: s.Demand,
	}
}

// live is a run that is under way.
type live struct {
	Run
	cluster  Cluster
	rec      *history.Recorder
	resource workloads.Resource
	schedule *faults.Schedule
	sessions []*session
	ends     sync.WaitGroup // watchers of hosts
	closing  chan struct{}
}

func (l *live) run(ctx context.Context) error {
	specs := faults.Fill(l.Scenario.Faults, l.Scenario.HostNames(), l.Scenario.NodeNames())
	schedule, err := faults.NewSchedule(l.rec, l.cluster, specs, l.Scenario.Order)
	if err != nil {
		return err
	}
	l.schedule, l.closing = schedule, make(chan struct{})
	if err := l.startHosts(ctx); err != nil {
		return err
	}
	l.work(ctx)
	err = errors.Join(context.Cause(ctx), l.rec.Err())
	if err == nil {
		err = l.settle(ctx)
	}
	l.closeHosts()
	err = errors.Join(l.failure(), err)
	if err == nil {
		l.rec.Add(history.Event{Kind: history.End})
	}
	return err
}

func (l *live) startHosts(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, upLimit, fmt.Errorf("the hosts were not ready within %s", upLimit))
	defer cancel()
	errs := make([]error, l.Scenario.Hosts)
	var wg sync.WaitGroup
	for i, name := range l.Scenario.HostNames() {
		s := &session{
			name: name, lock: lockName, key: cluster.Key(l.cluster, lockName), rec: l.rec, schedule: l.schedule, resource: l.resource,
			ttl: l.Scenario.Lock.TTL.D(), watchdog: l.Scenario.Lock.Watchdog,
			careful: l.Scenario.Workload.Discipline == history.ChecksLease,
			dogs:    map[int64]context.CancelFunc{}, pace: func(int64) {},
		}
		if p, ok := l.cluster.(cluster.Pacer); ok {
			s.pace = func(grant int64) { p.Pace(name, grant) }
		}
		for _, n := range l.Scenario.DataNodes() {
			s.links = append(s.links, l.cluster.Link(name, n))
		}
		l.sessions = append(l.sessions, s)
		wg.Add(1)
		go func() {
			defer wg.Done()
			var err error
			s.host, err = l.cluster.StartHost(ctx, name, l.init(), s.heard(l.Scenario.NodeNames()))
			if err != nil {
				err = fmt.Errorf("%w: %w", ErrHost, err)
			}
			errs[i] = err
		}()
	}
	wg.Wait()
	all := errors.Join(errs...)
	if all == nil {
		for _, s := range l.sessions {
			l.ends.Add(1)
			go l.watchHost(s)
		}
	}
	return all
}

func (l *live) init() host.Init {
	s := l.Scenario
	options := s.Lock.Map()
	if s.Lock.System == locks.External {
		options = s.Lock.Settings
	}
	return host.Init{
		System: s.Lock.System, TTLMS: float64(s.Lock.TTL.D()) / float64(time.Millisecond),
		Discipline: s.Workload.Discipline, Seed: l.Seed, Options: options,
		KeyPrefix: cluster.Key(l.cluster, ""),
	}
}

// watchHost records the end of a host that ends before it is asked to.
func (l *live) watchHost(s *session) {
	defer l.ends.Done()
	select {
	case <-s.host.Done():
		l.rec.Add(history.Event{Kind: history.Exit, Host: s.name, Text: s.host.Err().Error()})
		s.fail(s.host.Err())
	case <-l.closing:
	}
}

// work runs the workload on every host until it is done, the deadline comes,
// or the history cannot be written.
func (l *live) work(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.Scenario.Deadline.D())
	defer cancel()
	go func() {
		select {
		case <-l.rec.Failed():
			cancel()
		case <-ctx.Done():
		}
	}()
	l.schedule.Run(ctx)
	if l.World != scenario.Simulation { // where nothing but time itself can be late
		go host.Heartbeat(ctx, l.Scenario.Lock.TTL.D(), func(still time.Duration) {
			l.rec.Add(history.Event{Kind: history.Stall, Value: int64(still)})
		})
	}
	var wg sync.WaitGroup
	for _, s := range l.sessions {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s.pace(0)
			if err := l.counter(s).Run(ctx, s); err != nil {
				s.fail(err)
			}
		}()
	}
	wg.Wait()
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	l.schedule.Close()
	for _, s := range l.sessions {
		s.rest()
	}
	if late {
		l.rec.Add(history.Event{Kind: history.Fault, Fault: &history.FaultStep{
			ID: history.Deadline, Name: history.Deadline, Step: history.FaultError,
			Proof: fmt.Sprintf("the workload was not done within %s", l.Scenario.Deadline),
		}})
	}
}

// counter is the workload of one host. It goes on over its rounds until every
// fault is over, and makes one round more after that, so that a run also shows
// what is left when all is well again.
func (l *live) counter(s *session) workloads.Counter {
	w := l.Scenario.Workload
	least := w.Rounds
	wasOver := len(l.Scenario.Faults) == 0
	return workloads.Counter{
		Work: w.Work.D(), Rest: w.Rest.D(), Retry: w.Retry.D(), Writes: w.Writes,
		More: func(done int) bool {
			if !l.schedule.Over() {
				return true
			}
			if !wasOver {
				wasOver = true
				least = max(least, done+1)
			}
			return done < least
		},
	}
}

// failure is what a host did that no fault explains.
func (l *live) failure() error {
	killed := map[string]bool{}
	for _, f := range l.Scenario.Faults {
		if f.Kind == "kill-host" {
			for _, h := range f.Hosts {
				killed[h] = true
			}
		}
	}
	var all error
	for _, s := range l.sessions {
		s.mu.Lock()
		err := s.failure
		s.mu.Unlock()
		expected := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
			killed[s.name] && errors.Is(err, host.ErrEnded)
		if err != nil && !expected {
			all = errors.Join(all, fmt.Errorf("%w: %w", ErrHost, err))
		}
	}
	return all
}

// settle writes down what the resource knows.
func (l *live) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, settleLimit, fmt.Errorf("the resource did not answer within %s", settleLimit))
	defer cancel()
	entries, err := l.resource.Ledger(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		result := history.Refused
		if e.OK {
			result = history.OK
		}
		l.rec.Add(history.Event{
			Kind: history.Ledger, Do: e.Do, Host: e.Host, Lock: lockName, Op: e.Op, Grant: e.Grant,
			Token: e.Token, Result: result, Before: e.Before, Value: e.Value,
		})
	}
	final, err := l.resource.Final(ctx)
	if err != nil {
		return err
	}
	l.rec.Add(history.Event{Kind: history.Final, Lock: lockName, Value: final})
	return nil
}

func (l *live) closeHosts() {
	close(l.closing)
	l.ends.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	var wg sync.WaitGroup
	for _, s := range l.sessions {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_ = s.host.Close(ctx) // the cluster kills what does not end by itself
		}()
	}
	wg.Wait()
}
