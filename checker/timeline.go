package checker

import (
	"cmp"
	"slices"
	"time"

	"lockchaos/history"
)

// Timeline is what a picture of a run needs, handed out by who judged it, so
// that nobody who draws derives anything anew. It is bounded: of a long run it
// holds the window around what is told, and says so.
type Timeline struct {
	Version int           `json:"version"`
	TTL     time.Duration `json:"ttl"`
	End     time.Duration `json:"end"` // of the run
	// From and To are the window. Whole: it is the whole run. Why says what it is around.
	From  time.Duration `json:"from"`
	To    time.Duration `json:"to"`
	Whole bool          `json:"whole"`
	Why   string        `json:"why"`
	// Finding is the index of the finding in the verdict that the moments tell; -1: none.
	Finding int `json:"finding"`
	// Left counts what lies in the window and is left out, as there is too much of it.
	Left int `json:"left,omitempty"`

	Hosts   []string `json:"hosts"`
	Nodes   []string `json:"nodes"`
	Grants  []Held   `json:"grants"`
	Asked   []Asked  `json:"asked"`
	Effects []Effect `json:"effects"`
	Keys    []Key    `json:"keys"`
	Faults  []Strike `json:"faults"` // of the whole run
	// Clocks are the stretches in which the clock of a node was wrong, or not as it
	// had been: a clock that is right from the start to the end has none.
	Clocks []Clock     `json:"clocks,omitempty"`
	Exits  []Departure `json:"exits,omitempty"`
	// Moments are the deciding ones, in order of time. Their numbers are those of the story.
	Moments []Moment `json:"moments"`

	Closest *Closest  `json:"closest,omitempty"`
	Latency []Latency `json:"latency"` // of the whole run
}

// TimelineVersion is the version of the timeline's format.
const TimelineVersion = 1

// Stretch is an interval of time.
type Stretch struct {
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// Held is a grant: when it was promised, and when its host believed in it.
type Held struct {
	Grant   int64     `json:"grant"`
	Host    string    `json:"host"`
	Lock    string    `json:"lock,omitempty"`
	Token   int64     `json:"token,omitempty"`
	Promise []Stretch `json:"promise"`
	Belief  []Stretch `json:"belief"`
	// RanOut: the promise ended as its time was over, and not with a word.
	RanOut bool `json:"ran_out,omitempty"`
}

// Asked is an operation of a host at the lock service.
type Asked struct {
	Op int64 `json:"op"`
	Stretch
	Host   string         `json:"host"`
	Do     history.Do     `json:"do"`
	Result history.Result `json:"result"`
}

// Effect is an operation at the resource, in the order of effect. It took effect
// no later than To, and has no end where nobody knows of one.
type Effect struct {
	Op int64 `json:"op"`
	Stretch
	Host   string     `json:"host"`
	Do     history.Do `json:"do"`
	Token  int64      `json:"token,omitempty"`
	Value  int64      `json:"value"`
	Before int64      `json:"before,omitempty"` // of a write, where the ledger knows it
	OK     bool       `json:"ok"`
	// Stale: it came of a grant after which another was given.
	Stale bool `json:"stale,omitempty"`
}

// Strike is one fault of the run.
type Strike struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Targets []string `json:"targets"`
	Stretch
	Proof []string `json:"proof,omitempty"`
	// Proved: it was seen to work. One that was not proves nothing.
	Proved bool `json:"proved"`
}

// Departure is the end of a host.
type Departure struct {
	Host string        `json:"host"`
	At   time.Duration `json:"at"`
}

// Closest tells where the beliefs of two grants came closest to each other.
type Closest struct {
	Gap    time.Duration `json:"gap"`
	At     time.Duration `json:"at"`
	First  string        `json:"first"` // hosts
	Second string        `json:"second"`
}

// The bounds of a timeline.
const (
	mostDrawn = 400 // operations and grants of each kind in a window
	mostTold  = 14  // moments
	wholeOps  = 90  // a run of no more operations is drawn whole
)

// Examine is Judge, and hands out what a picture of the run needs.
func Examine(h *history.History) (*Verdict, *Timeline, error) {
	r, err := assemble(h)
	if err != nil {
		return nil, nil, err
	}
	v, err := r.judge(Options{}.filled())
	if err != nil {
		return nil, nil, err
	}
	return v, r.timeline(v), nil
}

func (r *record) timeline(v *Verdict) *Timeline {
	t := &Timeline{
		Version: TimelineVersion, TTL: r.h.Header.TTL, End: r.end().t, Finding: v.Told(),
		Hosts: r.hostNames(), Closest: r.closest(), Latency: r.latencies(),
		Grants: []Held{}, Asked: []Asked{}, Effects: []Effect{}, Moments: []Moment{}, Faults: []Strike{},
	}
	for _, f := range r.faults {
		if f.start != nil && len(t.Faults) < mostDrawn {
			t.Faults = append(t.Faults, r.strike(f))
		}
	}
	if t.Finding >= 0 {
		t.Moments = r.moments(&v.Findings[t.Finding])
	}
	r.window(t, v)
	r.fill(t)
	t.Nodes, t.Keys = r.keys(t)
	t.Clocks = r.clocks(t)
	return t
}

// window chooses what is drawn.
func (r *record) window(t *Timeline, v *Verdict) {
	t.From, t.To = r.begin(), t.End
	if len(t.Moments) > 0 { // a fault may have struck before anybody did anything
		t.From = min(t.From, t.Moments[0].T)
	}
	whole := t.To - t.From
	from, to := t.From, t.From+r.h.Header.TTL
	switch {
	case len(t.Moments) > 0:
		from, to = t.Moments[0].T, t.Moments[len(t.Moments)-1].T
		f := v.Findings[t.Finding]
		to = max(to, min(f.At+f.Lasted, to+r.h.Header.TTL)) // an overlap, as far as it can be shown
		t.Why = "around what decides: " + f.Kind()
	case t.Closest != nil:
		from, to = t.Closest.At, t.Closest.At
		t.Why = "around the place where two beliefs came closest"
	case len(t.Faults) > 0:
		from, to = t.Faults[0].From, t.Faults[0].From
		t.Why = "around the first fault"
	default:
		t.Why = "the beginning"
	}
	pad := max((to-from)/12, min(r.h.Header.TTL/20, 20*time.Millisecond))
	if len(t.Moments) == 0 {
		pad = r.h.Header.TTL
	}
	from, to = max(from-pad, t.From), min(to+pad, t.To)
	if len(t.Moments) == 0 && len(r.ops) <= wholeOps || 10*(to-from) >= 9*whole {
		t.Whole, t.Why = true, "the whole run"
		return
	}
	t.From, t.To = from, to
}

// begin is when the first operation was called.
func (r *record) begin() time.Duration {
	if len(r.ops) == 0 {
		return 0
	}
	return r.ops[0].call.T
}

// fill puts in what touches the window; what the moments tell of comes first.
func (r *record) fill(t *Timeline) {
	told := map[int64]bool{}
	for _, m := range t.Moments {
		told[m.Op] = true
	}
	room := func(n int, op int64) bool {
		if n < mostDrawn || told[op] {
			return true
		}
		t.Left++
		return false
	}
	for _, g := range r.grants {
		if h := r.held(g); touches(h, t) && room(len(t.Grants), g.id()) {
			t.Grants = append(t.Grants, h)
		}
	}
	for _, o := range r.ops {
		switch o.call.Do {
		case history.Acquire, history.Extend, history.Release:
			if a := r.asked(o); t.in(a.Stretch) && room(len(t.Asked), o.id) {
				t.Asked = append(t.Asked, a)
			}
		}
	}
	for _, l := range r.locks {
		for _, e := range r.effects(l) {
			if f := r.effect(l, e); t.in(f.Stretch) && room(len(t.Effects), f.Op) {
				t.Effects = append(t.Effects, f)
			}
		}
	}
	for _, x := range r.exits {
		if x.T <= t.To {
			t.Exits = append(t.Exits, Departure{x.Host, x.T})
		}
	}
}

func (t *Timeline) in(s Stretch) bool { return s.From <= t.To && s.To >= t.From }

func touches(h Held, t *Timeline) bool {
	for _, s := range append(h.Promise[:len(h.Promise):len(h.Promise)], h.Belief...) {
		if t.in(s) {
			return true
		}
	}
	return false
}

func (r *record) held(g *grant) Held {
	n := len(g.promise)
	return Held{
		Grant: g.id(), Host: g.host, Lock: g.lock, Token: g.token(), Promise: stretches(g.promise), Belief: stretches(g.belief),
		RanOut: n > 0 && g.promise[n-1].until == nil && g.promise[n-1].end < r.last(),
	}
}

func stretches(spans []span) []Stretch {
	all := []Stretch{}
	for _, s := range spans {
		all = append(all, Stretch{s.startT, s.endT})
	}
	return all
}

func (r *record) asked(o *op) Asked {
	return Asked{o.id, Stretch{o.call.T, r.back(o)}, o.call.Host, o.call.Do, o.result()}
}

// back is when an operation returned; the end of the run if it did not.
func (r *record) back(o *op) time.Duration {
	if o.ret == nil {
		return r.end().t
	}
	return o.ret.T
}

func (r *record) effect(l *lock, e effect) Effect {
	f := Effect{Op: e.op.id, Stretch: Stretch{e.op.call.T, r.back(e.op)}, Host: e.op.call.Host, Do: e.do, Value: e.value, OK: e.ok}
	if e.g != nil {
		f.Token = e.g.token()
	}
	f.Stale = r.superseded(e) != nil
	if x := l.counter.entry(e.op); x != nil {
		f.To, f.Before = r.time(x.before), x.ev.Before
	}
	return f
}

// time is when a position is.
func (r *record) time(p int64) time.Duration {
	if i := p / 2; i >= 1 && i <= int64(len(r.h.Events)) {
		return r.h.Events[i-1].T
	}
	return r.end().t
}

func (r *record) strike(f *fault) Strike {
	s := Strike{ID: f.id, Name: f.name, Targets: f.targets, Stretch: Stretch{f.start.T, r.time(f.until(r))}, Proved: f.proved != nil && len(f.bad) == 0}
	for _, e := range f.steps {
		if e.Fault.Proof != "" {
			s.Proof = append(s.Proof, e.Fault.Step+": "+e.Fault.Proof)
		}
	}
	return s
}

func (r *record) hostNames() []string {
	names := make([]string, 0, len(r.hosts))
	for name := range r.hosts {
		names = append(names, name)
	}
	slices.SortFunc(names, byNumber)
	return names
}

// byNumber puts w2 before w10.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }
