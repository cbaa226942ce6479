package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/history"
)

// What is done of one fault: its start, its proof and its end, and what is recorded of them.

func (f *planned) step(step, proof string) history.Event {
	return history.Event{Kind: history.Fault, Fault: &history.FaultStep{
		ID: f.id, Name: f.spec.Kind, How: f.spec.How, Step: step, Targets: f.targets(), By: f.spec.By.D(), Rate: f.spec.Rate, Proof: proof,
	}}
}

// unproved is the step of a fault that was not seen to work.
func (f *planned) unproved(err error) history.Event {
	step := history.FaultUnproved
	var met *metError
	if f.spec.Optional && (errors.Is(err, errIdle) || errors.Is(err, errUnanswered) || errors.As(err, &met)) {
		step = history.FaultIdle
	}
	return f.step(step, line(err))
}

// explained adds to what went wrong since a moment the other fault that explains it:
// one that keeps or kept a server from answering. Where the silence of a link is no
// error, or there was nothing to do, nothing is to be explained.
func (f *planned) explained(err error, since moment) error {
	if errors.Is(err, errIdle) || f.spec.Optional && errors.Is(err, errUnanswered) {
		return err
	}
	if by := f.spec.actor.explain(since, f.nodes()); by != nobody {
		return &metError{err, by}
	}
	return err
}

// asks says whether it needs an answer of a server.
func (f *planned) asks() bool { return slices.Contains(f.kind.needs, down) }

// nodes are the servers that the fault asks: of a link the one that it leads to.
func (f *planned) nodes() []string {
	if f.kind.Failovers {
		return f.spec.members.nodes
	}
	nodes := slices.Clone(f.targets())
	for i, t := range nodes {
		nodes[i] = t[strings.LastIndexByte(t, '>')+1:]
	}
	return nodes
}

func (f *planned) targets() []string {
	if t, ok := f.fault.(Targeter); ok {
		return t.Targets()
	}
	switch {
	case len(f.spec.Hosts) == 0:
		return f.spec.Nodes
	case len(f.spec.Nodes) == 0:
		return f.spec.Hosts
	}
	var links []string
	for _, h := range f.spec.Hosts {
		for _, n := range f.spec.Nodes {
			if h == n {
				continue
			}
			links = append(links, h+">"+n)
		}
	}
	return links
}

// start does the fault, once, and waits until it is seen to work.
func (s *Schedule) start(f *planned) {
	f.deed <- struct{}{}
	defer func() { <-f.deed }()
	if f.state != waiting {
		return
	}
	if err := f.spec.actor.take(f.kind.holds, f.kind.needs, f.targets()...); err != nil {
		s.refuse(f, err)
		return
	}
	s.log.Add(f.step(history.FaultStart, ""))
	ctx, cancel := context.WithTimeout(s.ctx, deedLimit)
	defer cancel()
	since := f.spec.actor.now()
	if f.asks() {
		go s.impatient(ctx, cancel, f)
	}
	proof, err := f.fault.Start(ctx)
	if ctx.Err() != nil { // the end of a run wakes all
		s.pace("", f.part)
	}
	_, later := f.fault.(Prover)
	var busy *busyError
	switch {
	case errors.As(err, &busy):
		s.refuse(f, err)
		return
	case err != nil:
		s.log.Add(f.unproved(f.explained(err, since)))
	case proof != "":
		s.log.Add(f.step(history.FaultProved, proof))
	case !later:
		s.log.Add(f.step(history.FaultUnproved, errNothing.Error()))
	}
	s.mu.Lock()
	until := f.spec.Until.Point
	until.Nth = 0
	f.base, f.begun = s.counts[until], true
	s.mu.Unlock()
	f.state = active
	close(f.started)
	if _, heals := f.fault.(Healer); !heals {
		f.finish()
	}
}

// refuse ends a fault that would undo another: nothing of it has been done.
func (s *Schedule) refuse(f *planned, err error) {
	step := history.FaultError
	if f.spec.Optional {
		step = history.FaultIdle
	}
	s.log.Add(f.step(step, line(err)))
	f.finish()
}

func (f *planned) finish() {
	f.spec.actor.over()
	f.state = finished
	close(f.over)
}

// heal ends the fault, once. missed: its end did not come, and time is up.
func (s *Schedule) heal(f *planned, missed bool) {
	f.deed <- struct{}{}
	defer func() { <-f.deed }()
	if f.state != active {
		return
	}
	// Healing must be tried even when the run has been given up; but who has pressed
	// Ctrl-C does not wait for its proof.
	limit := deedLimit
	if errors.Is(s.ctx.Err(), context.Canceled) {
		limit = givenUp
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), limit)
	defer cancel()
	since := f.spec.actor.now()
	if p, ok := f.fault.(Prover); ok {
		if proof, err := p.Prove(ctx); err != nil {
			s.log.Add(f.unproved(f.explained(err, since)))
		} else {
			s.log.Add(f.step(history.FaultProved, proof))
		}
	}
	if missed {
		s.log.Add(f.step(history.FaultMissed, fmt.Sprintf("its end %q did not come within %s", f.spec.Until, f.spec.Most)))
	}
	s.log.Add(f.step(history.FaultHeal, ""))
	switch {
	case f.kind.awaits:
		s.untilAnswered(ctx, f)
	case f.asks():
		go s.impatient(ctx, cancel, f)
	}
	proof, err := f.fault.(Healer).Heal(ctx)
	if f.spec.Optional && errors.Is(err, errUnanswered) { // it is over, and another is not
		proof, err = line(err), nil
	}
	if err != nil {
		s.log.Add(f.step(history.FaultError, "heal: "+line(f.explained(err, since))))
	} else {
		s.log.Add(f.step(history.FaultHealed, proof))
	}
	f.finish()
}

// untilAnswered waits while another fault keeps the targets of a fault from answering.
func (s *Schedule) untilAnswered(ctx context.Context, f *planned) {
	for {
		by, changed := f.spec.actor.kept(down, f.nodes())
		if by == nobody {
			return
		}
		select {
		case <-changed:
			s.pace("", f.part)
		case <-ctx.Done():
			return
		}
	}
}

// patience is how long a proof, of an effect or of an end, waits for a server that
// another fault has stopped meanwhile.
const patience = 2 * time.Second

// impatient cancels a deed that waits for longer than that: the end of the other may be
// at a step that waits for this deed.
func (s *Schedule) impatient(ctx context.Context, cancel func(), f *planned) {
	var late <-chan time.Time
	for {
		by, changed := f.spec.actor.kept(down, f.nodes())
		switch {
		case by == nobody:
			late = nil
		case late == nil:
			late = time.After(patience)
		}
		select {
		case <-changed:
		case <-late:
			cancel()
			return
		case <-ctx.Done():
			return
		}
	}
}

// line puts an error on one line.
func line(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
