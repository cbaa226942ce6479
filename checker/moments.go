package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/history"
)

// LaneResource is the lane of the moments at the resource.
const LaneResource = "resource"

// Moment is one deciding moment of the story that a timeline tells.
type Moment struct {
	N int `json:"n"` // from 1
	// Seq is the event that marks it; 0 where none does, as at the end of a lease.
	Seq  int64         `json:"seq,omitempty"`
	T    time.Duration `json:"t"`
	Lane string        `json:"lane"` // a host, a node, or LaneResource
	Op   int64         `json:"op,omitempty"`
	// Words tell it without its time.
	Words string `json:"words"`

	pos int64
}

// telling are the findings in the order in which one of them is told: the
// damage first, its cause after it.
var telling = []string{
	LostUpdate, StaleWrite, DoubleGrant, TokenRegression, ForeignRelease,
	ForeignExtend, SilentReacquire, SilentLoss, StaleHolder,
}

// Story is the deciding finding that tells best what happened, or nil.
func (v *Verdict) Story() *Finding {
	if i := v.told(false); i >= 0 {
		return &v.Findings[i]
	}
	return nil
}

// Told is the index of the finding that tells best what happened: one that
// decides, or else what a guard held, or else what is left; -1 where there is none.
func (v *Verdict) Told() int {
	for _, contained := range []bool{false, true} {
		if i := v.told(contained); i >= 0 {
			return i
		}
	}
	return slices.IndexFunc(v.Findings, func(f Finding) bool { return len(f.Events) > 0 })
}

func (v *Verdict) told(contained bool) int {
	for _, id := range telling {
		if i := slices.IndexFunc(v.Findings, func(f Finding) bool { return f.ID == id && f.Contained == contained }); i >= 0 {
			return i
		}
	}
	return -1
}

// storyteller gathers the moments of one finding.
type storyteller struct {
	r       *record
	moments []Moment
}

// moments lists the deciding moments of a finding: its events, and what belongs
// to the picture of them, though no sentence names it: the end of the lease, the
// wake-up, the read that a lost write goes back to, the refusal by the guard.
func (r *record) moments(f *Finding) []Moment {
	s := &storyteller{r: r}
	for _, seq := range f.Events {
		s.event(&r.h.Events[seq-1], f.ID)
	}
	for i, id := range f.Grants {
		g := r.byGrant[id]
		if g == nil {
			continue
		}
		s.leaseEnd(g, f)
		if i == 0 && f.Contained {
			s.refusal(g)
		}
		s.wakeUp(g, f)
	}
	return s.settle()
}

func (s *storyteller) add(p int64, seq int64, t time.Duration, lane string, op int64, format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !slices.ContainsFunc(s.moments, func(m Moment) bool { return m.Words == words && m.Lane == lane && m.Op == op }) {
		s.moments = append(s.moments, Moment{Seq: seq, T: t, Lane: lane, Op: op, Words: words, pos: p})
	}
}

func (s *storyteller) settle() []Moment {
	slices.SortStableFunc(s.moments, func(a, b Moment) int { return cmp.Compare(a.pos, b.pos) })
	s.moments = s.moments[:min(len(s.moments), mostTold)]
	for i := range s.moments {
		s.moments[i].N = i + 1
	}
	return s.moments
}

// event adds the moment that an event marks; one of a whole run, as its final
// value, marks none.
func (s *storyteller) event(e *history.Event, id string) {
	switch e.Kind {
	case history.Fault:
		s.fault(e)
	case history.Lost:
		s.add(pos(e), e.Seq, e.T, e.Host, e.Op, "%s says that its lock is gone", e.Host)
	case history.Exit:
		s.add(pos(e), e.Seq, e.T, e.Host, e.Op, "%s has ended", e.Host)
	case history.Ledger:
		s.effect(s.r.byOp[e.Op], id)
	case history.Call, history.Return:
		s.operation(e, id)
	}
}

func (s *storyteller) fault(e *history.Event) {
	lane, whom := "", ""
	if targets := s.r.targets(e.Fault.ID); len(targets) > 0 {
		lane, _, _ = strings.Cut(targets[0], ">")
		whom = " " + strings.Join(targets, ", ")
	}
	what := e.Fault.Name + " strikes" + whom
	switch {
	case e.Fault.Name == "pause-host" && e.Fault.Step == history.FaultStart:
		what = lane + " is stopped"
	case e.Fault.Step != history.FaultStart:
		what = fmt.Sprintf("%s%s: %s", e.Fault.Name, strings.Replace(whom, " ", " of ", 1), e.Fault.Step)
	}
	s.add(pos(e), e.Seq, e.T, lane, 0, "%s", what)
}

func (s *storyteller) operation(e *history.Event, id string) {
	o, called := s.r.byOp[e.Op], e.Kind == history.Call
	switch o.call.Do {
	case history.Read, history.Write:
		if called {
			s.add(pos(e), e.Seq, e.T, e.Host, e.Op, "%s goes on and sends its %s", e.Host, s.write(o))
			return
		}
		s.effect(o, id)
	case history.Acquire:
		words := "is refused the lock"
		switch {
		case called:
			words = "asks for the lock"
		case o.result() == history.OK && e.Token > 0:
			words = fmt.Sprintf("gets the lock, token %d", e.Token)
		case o.result() == history.OK:
			words = "gets the lock"
		case o.result() != history.Refused:
			words = fmt.Sprintf("does not know whether it got the lock (%s)", o.result())
		}
		s.add(pos(e), e.Seq, e.T, e.Host, e.Op, "%s %s", e.Host, words)
	default:
		words := fmt.Sprintf("%s calls %s", e.Host, o.call.Do)
		if !called {
			words = fmt.Sprintf("the %s of %s is answered: %s", o.call.Do, e.Host, answer(o.result()))
		}
		s.add(pos(e), e.Seq, e.T, e.Host, e.Op, "%s", words)
	}
}

func answer(r history.Result) string {
	switch r {
	case history.OK:
		return "done"
	case history.Gone:
		return "the lock is gone"
	}
	return string(r)
}

func (s *storyteller) write(o *op) string {
	words := string(o.call.Do)
	if o.call.Do == history.Write {
		words += fmt.Sprintf(" of %d", o.call.Value)
	}
	if o.call.Token > 0 {
		words += fmt.Sprintf(" with token %d", o.call.Token)
	}
	return words
}

// effect adds what the resource did with an operation.
func (s *storyteller) effect(o *op, id string) {
	l := s.r.lockOf(o)
	if l == nil {
		return
	}
	p, seq, answer := s.r.last(), int64(0), string(o.result())
	if o.ret != nil {
		p, seq = pos(o.ret), o.ret.Seq
	}
	if x := l.counter.entry(o); x != nil {
		p, seq, answer = x.before, x.ev.Seq, "refused"
		if x.ev.Result == history.OK {
			answer = fmt.Sprintf("accepted, over %d", x.ev.Before)
		}
	}
	if id == LostUpdate && o.call.Do == history.Write {
		s.readOf(o)
	}
	s.add(p, seq, s.r.time(p), LaneResource, o.id, "%s of %s: %s", s.write(o), o.call.Host, answer)
}

// readOf adds the read that a write goes back to.
func (s *storyteller) readOf(w *op) {
	g := s.r.byGrant[w.grant()]
	if g == nil {
		return
	}
	for _, o := range slices.Backward(g.reads) {
		if o.result() == history.OK && o.ret.Seq < w.call.Seq {
			s.add(pos(o.ret), o.ret.Seq, o.ret.T, o.call.Host, o.id, "%s has read %d", o.call.Host, o.ret.Value)
			return
		}
	}
}

// leaseEnd adds the end of a lease that ran out while the story went on.
func (s *storyteller) leaseEnd(g *grant, f *Finding) {
	n := len(g.promise)
	if n > 0 && g.promise[n-1].until == nil && g.promise[n-1].endT < s.r.h.Events[f.Events[len(f.Events)-1]-1].T && g.promise[n-1].end < s.r.last() {
		s.add(g.promise[n-1].end, 0, g.promise[n-1].endT, g.host, 0, "the lease of %s is over", g.host)
	}
}

// refusal adds the first operation of a superseded grant that the guard refused.
func (s *storyteller) refusal(g *grant) {
	l := s.r.lockOf(g.acq)
	if l == nil {
		return
	}
	for _, e := range s.r.effects(l) {
		if e.g == g && !e.ok && s.r.superseded(e) != nil {
			s.operation(e.op.call, "")
			s.effect(e.op, "")
			return
		}
	}
}

// wakeUp adds the end of a pause of which the finding tells.
func (s *storyteller) wakeUp(g *grant, f *Finding) {
	for _, x := range s.r.faults {
		if x.name == "pause-host" && slices.Contains(x.targets, g.host) && x.start != nil && x.heal != nil &&
			slices.Contains(f.Events, x.start.Seq) {
			s.add(pos(x.heal), x.heal.Seq, x.heal.T, g.host, 0, "%s wakes up", g.host)
		}
	}
}

// lockOf is the lock that an operation is about.
func (r *record) lockOf(o *op) *lock {
	key := r.counterKey(o, nil)
	for _, l := range r.locks {
		if l.name == key {
			return l
		}
	}
	return nil
}
