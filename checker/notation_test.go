package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockchaos/history"
)

// A case is written down in a few lines, times in milliseconds:
//
//	== name
//	want violated: double-grant silent-loss
//	ttl=300 guard=fence        fields of the header; the defaults are in parseCase
//	10-12 w1 acquire a ok token=33
//	                           call at 10, return at 12; a labels the operation (optional)
//	20-21 w1 write ok v=1      grant: the last acquire that w1 had called before; or grant=a
//	30- w1 release             no return
//	14 fault f1 pause-host start w1
//	14 fault f1 clock-jump start n1 by=200
//	40 lost w1 | 40 exit w1
//	90 ledger a ok 0->1        an entry of operation a, or of a refused one: 90 ledger a refused 1->1
//	99 final 1
//	11 trace n1 a set ok       what n1 answered for operation a
//	50 stall 290               the harness had stood still for so long
//	50 stall 290 w1            the process of w1 had, whoever stopped it
//	warmup                     one harmless round of w0 between 1 and 3 ms that writes 1
//	noend, cut                 no last line; the last line cut off
//
// Events stand in the order of their times, and of the lines at equal times.
type testCase struct {
	name    string
	outcome Outcome
	ids     []string // kinds of findings, each once, in order
	h       *history.History
}

const warmup = `1-1.1 w0 acquire ok owner=w0
1.2-1.3 w0 read ok v=0
1.4-1.5 w0 check ok
1.6-1.7 w0 write ok v=1
1.8-1.9 w0 release ok`

func parseCases(t *testing.T, text string) []testCase {
	t.Helper()
	var cases []testCase
	for block := range strings.SplitSeq(text, "== ") {
		if strings.TrimSpace(block) != "" && !strings.HasPrefix(block, "#") {
			cases = append(cases, parseCase(t, block))
		}
	}
	return cases
}

type notation struct {
	t      *testing.T
	h      *history.History
	ops    int64
	labels map[string]*history.Event // calls
	rounds []round
	ledger []ledgerLine
}

// round is a call that still needs its grant.
type round struct {
	call, ret *history.Event
	grant     string
}

type ledgerLine struct {
	e     *history.Event
	label string
}

func parseCase(t *testing.T, block string) testCase {
	t.Helper()
	name, body, _ := strings.Cut(block, "\n")
	c := testCase{name: strings.TrimSpace(name)}
	n := &notation{t: t, labels: map[string]*history.Event{}, h: &history.History{Complete: true, Header: history.Header{
		Format: history.Format, Version: history.Version, Scenario: c.name, World: "sim", System: "single",
		TTL: 300 * time.Millisecond, Quorum: 1, Workload: "counter", Guard: history.GuardNone, Discipline: history.Trusting,
	}}}
	body = strings.ReplaceAll(body, "warmup\n", warmup+"\n")
	var events []*history.Event
	for line := range strings.Lines(body) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "want":
			c.outcome, c.ids = Outcome(strings.TrimSuffix(f[1], ":")), f[2:]
		case f[0] == "noend":
			n.h.Complete = false
		case f[0] == "cut":
			n.h.Complete, n.h.Truncated = false, true
		case strings.Contains(f[0], "="):
			n.header(f)
		default:
			events = append(events, n.line(f)...)
		}
	}
	n.finish(events)
	c.h = n.h
	return c
}

func (n *notation) header(fields []string) {
	h := &n.h.Header
	for _, f := range fields {
		k, v, _ := strings.Cut(f, "=")
		switch k {
		case "ttl":
			h.TTL = n.ms(v)
		case "guard":
			h.Guard = v
		case "discipline":
			h.Discipline = v
		case "system":
			h.System = v
		case "world":
			h.World = v
		case "quorum":
			h.Quorum = n.int(v)
		case "faults":
			h.Faults = n.int(v)
		case "needs":
			h.Needs = n.phases(v)
		case "needseach":
			h.NeedsEach = n.phases(v)
		case "demand":
			h.Demand = n.phases(v)
		default:
			n.t.Fatalf("unknown header field %q", k)
		}
	}
}

// phases reads attempts/grants of the three phases: 1/1,2/1,0/0.
func (n *notation) phases(s string) history.Phases {
	var p history.Phases
	if _, err := fmt.Sscanf(s, "%d/%d,%d/%d,%d/%d", &p.Before.Attempts, &p.Before.Grants, &p.During.Attempts,
		&p.During.Grants, &p.After.Attempts, &p.After.Grants); err != nil {
		n.t.Fatal(err)
	}
	return p
}

func (n *notation) line(f []string) []*history.Event {
	from, to, isOp := strings.Cut(f[0], "-")
	e := &history.Event{T: n.ms(from)}
	if isOp {
		return n.op(e, to, f[1:])
	}
	switch f[1] {
	case "fault":
		e.Kind, e.Fault = history.Fault, &history.FaultStep{ID: f[2], Name: f[3], Step: f[4], Proof: "as told"}
		for _, w := range f[5:] {
			switch key, value, _ := strings.Cut(w, "="); key {
			case "by":
				e.Fault.By = n.ms(value)
			case "how":
				e.Fault.How = value
			case "rate":
				rate, err := strconv.ParseFloat(value, 64)
				if err != nil {
					n.t.Fatal(err)
				}
				e.Fault.Rate = rate
			default:
				e.Fault.Targets = append(e.Fault.Targets, w)
			}
		}
	case "lost", "exit":
		e.Kind, e.Host = history.Kind(f[1]), f[2]
		if len(f) > 3 {
			e.Result = history.Result(f[3])
		}
	case "trace":
		e.Kind, e.Node, e.Code, e.Result = history.Trace, f[2], f[4], history.Result(f[5])
		n.ledger = append(n.ledger, ledgerLine{e, f[3]})
	case "stall":
		e.Kind, e.Value = history.Stall, int64(n.ms(f[2]))
		if len(f) > 3 {
			e.Host = f[3]
		}
	case "final":
		e.Kind, e.Value = history.Final, int64(n.int(f[2]))
	case "ledger":
		before, after, _ := strings.Cut(f[4], "->")
		e.Kind, e.Result = history.Ledger, history.Result(f[3])
		e.Before, e.Value = int64(n.int(before)), int64(n.int(after))
		n.ledger = append(n.ledger, ledgerLine{e, f[2]})
	default:
		n.t.Fatalf("cannot read %q", f)
	}
	return []*history.Event{e}
}

func (n *notation) op(e *history.Event, to string, f []string) []*history.Event {
	e.Kind, e.Host, e.Do, e.Lock = history.Call, f[0], history.Do(f[1]), "lock"
	ret := *e
	ret.Kind = history.Return
	grant := ""
	for _, x := range f[2:] {
		k, v, set := strings.Cut(x, "=")
		switch {
		case set && k == "v":
			ret.Value = int64(n.int(v))
			if e.Do == history.Write {
				e.Value = ret.Value
			}
		case set && k == "token":
			ret.Token = int64(n.int(v))
		case set && k == "owner":
			ret.Owner = v
		case set && k == "validity":
			ret.Validity = n.ms(v)
		case set && k == "backed":
			ret.Backed = n.int(v)
		case set && k == "lock":
			e.Lock, ret.Lock = v, v
		case set && k == "grant":
			grant = v
		case slices.Contains([]string{"ok", "refused", "lost", "failed", "unknown"}, x):
			ret.Result = history.Result(x)
		default:
			n.labels[x] = e
		}
	}
	if to == "" {
		n.rounds = append(n.rounds, round{e, nil, grant})
		return []*history.Event{e}
	}
	ret.T = n.ms(to)
	n.rounds = append(n.rounds, round{e, &ret, grant})
	return []*history.Event{e, &ret}
}

// finish orders the events, and gives out sequence numbers, operations and grants.
func (n *notation) finish(events []*history.Event) {
	slices.SortStableFunc(events, func(a, b *history.Event) int { return cmp.Compare(a.T, b.T) })
	if n.h.Complete {
		end := &history.Event{Kind: history.End}
		if len(events) > 0 {
			end.T = events[len(events)-1].T
		}
		events = append(events, end)
	}
	last := map[string]int64{}
	grants := map[*history.Event]int64{}
	for i, e := range events {
		e.Seq = int64(i) + 1
		if e.Kind != history.Call {
			continue
		}
		n.ops++
		e.Op = n.ops
		if e.Do == history.Acquire {
			last[e.Host] = e.Op
		}
		grants[e] = last[e.Host]
	}
	for _, r := range n.rounds {
		g := grants[r.call]
		if r.grant != "" {
			g = n.labels[r.grant].Op
		}
		if r.call.Do != history.Acquire {
			r.call.Grant = g
		}
		if r.ret != nil {
			r.ret.Op, r.ret.Grant = r.call.Op, g
		}
	}
	for _, l := range n.ledger {
		call := n.labels[l.label]
		if call == nil {
			n.t.Fatalf("no operation %q", l.label)
		}
		l.e.Op, l.e.Host = call.Op, call.Host
		if l.e.Kind == history.Ledger {
			l.e.Do, l.e.Grant = call.Do, call.Grant
		}
	}
	for _, e := range events {
		n.h.Events = append(n.h.Events, *e)
	}
}

func (n *notation) ms(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		n.t.Fatal(err)
	}
	return time.Duration(f * float64(time.Millisecond))
}

func (n *notation) int(s string) int {
	i, err := strconv.Atoi(s)
	if err != nil {
		n.t.Fatal(err)
	}
	return i
}
