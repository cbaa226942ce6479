package checker

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"lockchaos/history"
)

// maker makes a random history of a few hosts that each hold a lock once.
type maker struct {
	rnd    *rand.Rand
	events []timed
	ops    int64
	points []point
	minted int64
	ledger bool
}

// timed is an event, or what stands for it until all times are known. Events
// at equal times stay in the order in which they were made.
type timed struct {
	t int
	e *history.Event
}

// point is an instant at which a host reads or writes the counter.
type point struct {
	t         int
	call, ret *history.Event
	read      *history.Event // for a write: the return of the read it goes back to
	never     bool
}

func randomHistory(rnd *rand.Rand) *history.History {
	m := &maker{rnd: rnd, ledger: rnd.IntN(4) > 0}
	h := &history.History{Complete: true, Header: history.Header{
		Format: history.Format, Version: history.Version, World: "sim", TTL: randomTTL, Quorum: 1,
		Guard: history.GuardNone, Discipline: history.Trusting,
	}}
	if rnd.IntN(2) == 0 {
		h.Header.World = "elsewhere"
	}
	if rnd.IntN(2) == 0 {
		h.Header.Discipline = history.ChecksLease
	}
	spread := 4 + rnd.IntN(16)
	t := 0
	for i := range 2 + rnd.IntN(4) {
		m.session(fmt.Sprintf("w%d", i+1), t)
		t += 2 + rnd.IntN(spread)
	}
	m.resource()
	slices.SortStableFunc(m.events, func(a, b timed) int { return cmp.Compare(a.t, b.t) })
	for i, x := range m.events {
		e := *x.e
		e.Seq, e.T = int64(i)+1, time.Duration(x.t)*time.Millisecond
		h.Events = append(h.Events, e)
	}
	return h
}

func (m *maker) chance(percent int) bool { return m.rnd.IntN(100) < percent }

// do makes an operation that begins at t, and returns when it ended.
func (m *maker) do(t int, host string, do history.Do, grant int64, res history.Result) (call, ret *history.Event, end int) {
	m.ops++
	call = &history.Event{Kind: history.Call, Do: do, Host: host, Lock: "lock", Op: m.ops, Grant: grant}
	end = t + m.rnd.IntN(4)
	m.events = append(m.events, timed{t, call})
	if res == history.Unknown && m.chance(50) {
		return call, nil, end
	}
	r := *call
	r.Kind, r.Result = history.Return, res
	m.events = append(m.events, timed{end, &r})
	return call, &r, end
}

func (m *maker) session(host string, t int) {
	res := history.OK
	if m.chance(15) {
		res = history.Unknown
	}
	call, ret, end := m.do(t, host, history.Acquire, 0, res)
	if res != history.OK {
		return
	}
	grant := call.Op
	ret.Grant = grant
	ret.Validity = time.Duration(m.rnd.IntN(int(randomTTL)))
	m.minted += int64(1 + m.rnd.IntN(2))
	ret.Token = m.minted
	if m.chance(25) {
		ret.Token = int64(m.rnd.IntN(6))
	}
	m.watchdog(host, grant, end)
	end = m.section(host, grant, end+m.rnd.IntN(3))
	m.leave(host, grant, end+m.rnd.IntN(3))
}

// watchdog extends beside everything else, sometimes after the release.
func (m *maker) watchdog(host string, grant int64, t int) {
	for range m.rnd.IntN(3) {
		t += m.rnd.IntN(10)
		res := []history.Result{history.OK, history.OK, history.OK, history.Gone, history.Failed, history.Unknown}[m.rnd.IntN(6)]
		_, ret, end := m.do(t, host, history.Extend, grant, res)
		if ret != nil {
			ret.Validity = time.Duration(m.rnd.IntN(int(randomTTL)))
		}
		t = end
	}
}

func (m *maker) section(host string, grant int64, t int) int {
	for range m.rnd.IntN(3) {
		call, read, end := m.do(t, host, history.Read, grant, history.OK)
		m.points = append(m.points, point{t: t + m.rnd.IntN(end-t+1), call: call, ret: read})
		t = end + m.rnd.IntN(2)
		if m.chance(10) {
			_, _, t = m.do(t, host, history.Check, grant, history.Gone)
		}
		res := history.OK
		if m.chance(15) {
			res = history.Unknown
		}
		call, ret, end := m.do(t, host, history.Write, grant, res)
		m.points = append(m.points, point{
			t: t + m.rnd.IntN(end-t+1), call: call, ret: ret, read: read, never: res == history.Unknown && m.chance(50),
		})
		t = end
	}
	return t
}

func (m *maker) leave(host string, grant int64, t int) {
	switch m.rnd.IntN(12) {
	case 0: // never
	case 1:
		m.events = append(m.events, timed{t, &history.Event{Kind: history.Lost, Host: host, Grant: grant}})
	case 2:
		m.events = append(m.events,
			timed{t, &history.Event{Kind: history.Fault, Fault: &history.FaultStep{
				ID: "kill-" + host, Name: "kill-host", Step: history.FaultStart, Targets: []string{host}}}},
			timed{t + 1, &history.Event{Kind: history.Exit, Host: host}})
	case 3:
		m.do(t, host, history.Release, grant, history.Gone)
	case 4:
		m.do(t, host, history.Release, grant, history.Unknown)
	default:
		m.do(t, host, history.Release, grant, history.OK)
	}
}

// resource lets the reads and writes happen in the order of their instants.
func (m *maker) resource() {
	slices.SortStableFunc(m.points, func(a, b point) int { return cmp.Compare(a.t, b.t) })
	var counter int64
	for _, p := range m.points {
		if p.read == nil {
			p.ret.Value = counter
			continue
		}
		v := p.read.Value + 1
		if m.chance(9) {
			v = int64(m.rnd.IntN(5))
		}
		p.call.Value = v
		if p.ret != nil && p.ret.Result == history.OK {
			p.ret.Value = v
		}
		if p.never {
			continue
		}
		if m.ledger && !m.chance(1) {
			m.events = append(m.events, timed{1000, &history.Event{
				Kind: history.Ledger, Do: history.Write, Host: p.call.Host, Op: p.call.Op, Grant: p.call.Grant,
				Before: counter, Value: v, Result: history.OK,
			}})
		}
		counter = v
	}
	if m.chance(80) {
		m.events = append(m.events, timed{1001, &history.Event{Kind: history.Final, Value: counter}})
	}
	m.events = append(m.events, timed{1002, &history.Event{Kind: history.End}})
}
