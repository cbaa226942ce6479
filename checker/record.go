package checker

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"lockchaos/history"
)

// MalformedError says why a history cannot be judged at all.
type MalformedError struct {
	Seq  int64 // the event; 0 for the header
	What string
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("cannot judge the history: event %d: %s", e.Seq, e.What)
}

// op is one operation. ret is nil where the history ends before the answer.
type op struct {
	id        int64
	call, ret *history.Event
}

func (o *op) result() history.Result {
	if o.ret == nil {
		return history.Unknown
	}
	return o.ret.Result
}

func (o *op) grant() int64 {
	if o.call.Grant == 0 && o.ret != nil {
		return o.ret.Grant
	}
	return o.call.Grant
}

// took is how long the operation lasted, from call to return.
func (o *op) took() time.Duration { return o.ret.T - o.call.T }

// entry is one line of the resource's ledger.
type entry struct {
	ev *history.Event
	op *op
	g  *grant // nil if the grant is not known
	// after is the position after which the entry took effect, before the one
	// before which it did.
	after, before int64
}

// entry is the line of the ledger that an operation has; nil if it has none.
func (c *counter) entry(o *op) *entry {
	if c.byOp == nil {
		c.byOp = make(map[*op]*entry, len(c.entries))
		for _, e := range c.entries {
			c.byOp[e.op] = e
		}
	}
	return c.byOp[o]
}

func (e *entry) accepted() bool { return e.ev.Do == history.Write && e.ev.Result == history.OK }

// record is a history sorted into what the judges ask for.
type record struct {
	h      *history.History
	ops    []*op    // in the order of their calls
	grants []*grant // granted acquires, in the order of their returns
	locks  []*lock  // in the order of their names
	ledger []*entry
	faults []*fault
	exits  []*history.Event

	owners  map[string]covers // by lock: who was promised it
	hosts   map[string]bool
	byOp    map[int64]*op
	byGrant map[int64]*grant
}

// lock is what concerns one lock and the counter behind it.
type lock struct {
	name     string
	grants   []*grant // in the order of their returns
	acquires []*op    // all of them, in the order of their calls
	vague    []*op    // acquires that returned and nobody knows how, in the order of their returns
	promises []span   // sorted by start
	beliefs  []span   // sorted by start
	counter  *counter
}

// assemble sorts the events of h. It fails with a *MalformedError.
func assemble(h *history.History) (*record, error) {
	r := &record{h: h, byOp: map[int64]*op{}, byGrant: map[int64]*grant{}, hosts: map[string]bool{}}
	if h.Header.TTL <= 0 {
		return nil, &MalformedError{0, "the header has no ttl"}
	}
	for i := range h.Events {
		if err := r.add(&h.Events[i], i); err != nil {
			return nil, err
		}
	}
	r.collectGrants()
	r.attach()
	r.boundLedger()
	for _, g := range r.grants {
		g.promise, g.belief = r.promise(g), r.belief(g)
	}
	r.collectLocks()
	return r, nil
}

// ledgered says whether there is a ledger, and all of it.
func (r *record) ledgered() bool { return len(r.ledger) > 0 && r.h.Complete }

func (r *record) add(e *history.Event, i int) error {
	if e.Seq != int64(i)+1 {
		return &MalformedError{e.Seq, fmt.Sprintf("expected the sequence number %d", i+1)}
	}
	if i > 0 && e.T < r.h.Events[i-1].T {
		return &MalformedError{e.Seq, "its time is before that of the event above"}
	}
	switch e.Kind {
	case history.Call:
		return r.addCall(e)
	case history.Return:
		return r.addReturn(e)
	case history.Ledger:
		o := r.byOp[e.Op]
		if o == nil || o.call.Do != e.Do {
			return &MalformedError{e.Seq, "a ledger entry of an operation that was never called"}
		}
		r.ledger = append(r.ledger, &entry{ev: e, op: o})
	case history.Fault:
		return r.addFault(e)
	case history.Exit:
		r.exits = append(r.exits, e)
	}
	return nil
}

func (r *record) addCall(e *history.Event) error {
	if r.byOp[e.Op] != nil {
		return &MalformedError{e.Seq, fmt.Sprintf("operation %d is called twice", e.Op)}
	}
	o := &op{id: e.Op, call: e}
	r.byOp[e.Op] = o
	r.hosts[e.Host] = true
	r.ops = append(r.ops, o)
	return nil
}

func (r *record) addReturn(e *history.Event) error {
	o := r.byOp[e.Op]
	switch {
	case o == nil:
		return &MalformedError{e.Seq, fmt.Sprintf("operation %d returns and was never called", e.Op)}
	case o.ret != nil:
		return &MalformedError{e.Seq, fmt.Sprintf("operation %d returns twice", e.Op)}
	case o.call.Do != e.Do:
		return &MalformedError{e.Seq, fmt.Sprintf("operation %d is called as %s and returns as %s", e.Op, o.call.Do, e.Do)}
	}
	o.ret = e
	return nil
}

// collectGrants makes a grant of every acquire that returned OK. An acquire
// with unknown outcome makes none: nobody believes in it.
func (r *record) collectGrants() {
	for _, o := range r.ops {
		if o.call.Do == history.Acquire && o.result() == history.OK {
			g := newGrant(o)
			r.grants = append(r.grants, g)
			r.byGrant[o.id] = g
		}
	}
	slices.SortFunc(r.grants, func(a, b *grant) int { return int(a.acq.ret.Seq - b.acq.ret.Seq) })
	for i, g := range r.grants {
		g.index = i
	}
}

// attach hands every operation, loss and exit to the grant it belongs to.
func (r *record) attach() {
	for _, o := range r.ops {
		if g := r.byGrant[o.grant()]; g != nil && o != g.acq {
			g.attach(o)
		}
	}
	for _, e := range r.ledger {
		if e.g = r.byGrant[e.ev.Grant]; e.g == nil {
			e.g = r.byGrant[e.op.grant()]
		}
	}
	for i := range r.h.Events {
		if e := &r.h.Events[i]; e.Kind == history.Lost {
			if g := r.loser(e); g != nil && g.lost == nil {
				g.lost = e
			}
		}
	}
	r.attachExits()
}

// loser is the grant that a lost event speaks of: the one it names, or else the
// last that its host got.
func (r *record) loser(e *history.Event) *grant {
	if e.Grant != 0 {
		return r.byGrant[e.Grant]
	}
	var last *grant
	for _, g := range r.grants {
		if g.host == e.Host && g.acq.ret.Seq < e.Seq {
			last = g
		}
	}
	return last
}

// attachExits ends the grants of hosts that ended. Where the harness killed the
// host, they end when it set out to do so: the process may have been dead, and
// its session at the lock service gone, some time before its exit was seen.
func (r *record) attachExits() {
	for _, x := range r.exits {
		at := x
		if k := r.killer(x); k != nil {
			at = k.start
		}
		r.endGrants(x.Host, at, x)
	}
	if r.h.Complete {
		return
	}
	for _, f := range r.faults { // whose end may have been cut off with the history
		if f.name == "kill-host" && f.start != nil {
			for _, host := range f.targets {
				r.endGrants(host, f.start, f.start)
			}
		}
	}
}

// endGrants ends the grants of a host at gone, as exit shows.
func (r *record) endGrants(host string, gone, exit *history.Event) {
	for _, g := range r.grants {
		if g.host == host && g.exit == nil && g.acq.call.Seq < exit.Seq {
			g.gone, g.exit = gone, exit
		}
	}
}

// boundLedger finds out between which positions each entry took effect. The
// order of the ledger is the order of effect, so an entry took effect after the
// call of every operation above it and before the return of every one below.
func (r *record) boundLedger() {
	after := map[string]int64{}
	for _, e := range r.ledger {
		key := r.counterKey(e.op, e.ev)
		after[key] = max(after[key], pos(e.op.call))
		e.after = after[key]
	}
	before := map[string]int64{}
	for _, e := range slices.Backward(r.ledger) {
		key := r.counterKey(e.op, e.ev)
		b, ok := before[key]
		if !ok {
			b = r.last()
		}
		if e.op.ret != nil && e.op.ret.Result != history.Unknown {
			b = min(b, pos(e.op.ret))
		}
		before[key], e.before = b, b
	}
}

// collectLocks partitions by lock.
func (r *record) collectLocks() {
	byName := map[string]*lock{}
	at := func(name string) *lock {
		if byName[name] == nil {
			byName[name] = &lock{name: name, counter: &counter{}}
			r.locks = append(r.locks, byName[name])
		}
		return byName[name]
	}
	for _, o := range r.ops {
		switch o.call.Do {
		case history.Acquire:
			l := at(o.call.Lock)
			l.acquires = append(l.acquires, o)
			if o.ret != nil && o.result() == history.Unknown {
				l.vague = append(l.vague, o)
			}
		case history.Write:
			c := at(r.counterKey(o, nil)).counter
			c.writes = append(c.writes, o)
		}
	}
	for _, g := range r.grants {
		l := at(g.lock)
		l.grants = append(l.grants, g)
		l.promises = append(l.promises, g.promise...)
		l.beliefs = append(l.beliefs, g.belief...)
	}
	for _, e := range r.ledger {
		c := at(r.counterKey(e.op, e.ev)).counter
		c.entries = append(c.entries, e)
	}
	slices.SortFunc(r.locks, func(a, b *lock) int { return cmp.Compare(a.name, b.name) })
	for _, l := range r.locks {
		sortSpans(l.promises)
		sortSpans(l.beliefs)
		slices.SortFunc(l.vague, func(a, b *op) int { return cmp.Compare(a.ret.Seq, b.ret.Seq) })
	}
	r.collectFinals(byName)
	r.owners = map[string]covers{}
	for _, l := range r.locks {
		r.owners[l.name] = newCovers(l.promises)
		l.counter.resolve(r)
	}
}

// collectFinals hands each final value to its counter. One that names no lock
// belongs to the only counter that is used.
func (r *record) collectFinals(byName map[string]*lock) {
	var used []*lock
	for _, l := range r.locks {
		if len(l.counter.writes)+len(l.counter.entries) > 0 || len(r.locks) == 1 {
			used = append(used, l)
		}
	}
	for i := range r.h.Events {
		e := &r.h.Events[i]
		if e.Kind != history.Final {
			continue
		}
		l := byName[e.Lock]
		if l == nil && e.Lock == "" && len(used) == 1 {
			l = used[0]
		}
		if l != nil {
			l.counter.final = e
		}
	}
}

// counterKey names the counter that an operation at the resource is about: the
// one behind the lock of its grant.
func (r *record) counterKey(o *op, e *history.Event) string {
	if g := r.byGrant[o.grant()]; g != nil {
		return g.lock
	}
	if e != nil && e.Lock != "" {
		return e.Lock
	}
	return o.call.Lock
}
