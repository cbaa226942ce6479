package checker

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"lockchaos/history"
)

// Key is the stretch in which one node kept the lock's key for a host, as far
// as the hosts' traces tell. A node's answer is seen when it is back at its
// host, so what is said of the time is an outer bound.
type Key struct {
	Node string `json:"node"`
	Host string `json:"host"`
	Op   int64  `json:"op"` // the acquire
	Stretch
	// Full are the instants at which the whole TTL was left: the set, and each extend.
	Full []time.Duration `json:"full"`
	// Ended: how, see below; empty where the history ends first.
	Ended string `json:"ended,omitempty"`
}

// The ends of a key.
const (
	KeyReleased = "released"
	KeyExpired  = "expired"
	KeyTaken    = "taken"   // another got it before its TTL was over
	KeyUnknown  = "unknown" // a fault struck the node, and nobody saw what it still had
)

// keeper follows the keys of the nodes through the traces.
type keeper struct {
	r       *record
	open    map[string]*Key // by node and lock
	all     []*Key
	sets    map[int64]bool // acquires that set keys by a command of its own
	nodes   map[string]bool
	lastSet map[voteKey]int64 // position of the last set of an acquire at a node
}

type voteKey struct {
	op   int64
	node string
}

// keys lists the nodes, and the keys that touch the window of t.
func (r *record) keys(t *Timeline) ([]string, []Key) {
	k := &keeper{r: r, open: map[string]*Key{}, sets: map[int64]bool{}, nodes: map[string]bool{}, lastSet: map[voteKey]int64{}}
	for i := range r.h.Events {
		if e := &r.h.Events[i]; e.Kind == history.Trace && e.Code == "set" {
			k.sets[e.Op] = true
			k.lastSet[voteKey{e.Op, e.Node}] = pos(e)
		}
	}
	for i := range r.h.Events {
		e := &r.h.Events[i]
		switch {
		case e.Kind == history.Trace && e.Node != "":
			k.nodes[e.Node] = true
			if o := r.byOp[e.Op]; o != nil && e.Result == history.OK {
				k.vote(e, o)
			}
		case e.Kind == history.Fault && e.Fault.Step == history.FaultStart && slices.Contains(forgetful, e.Fault.Name):
			k.strike(e)
		}
	}
	keys := []Key{}
	for _, x := range k.all {
		if x.Ended == "" {
			k.close(x, t.End, "")
		}
		if !t.in(x.Stretch) {
			continue
		}
		if len(keys) == 2*mostDrawn {
			t.Left++
			continue
		}
		x.Full = within(x.Full, t)
		keys = append(keys, *x)
	}
	for _, f := range t.Faults { // they have a lane, also where nobody asked them for anything
		for _, n := range f.Targets {
			if t.in(f.Stretch) && !strings.Contains(n, ">") && !r.hosts[n] && n != LaneResource {
				k.nodes[n] = true
			}
		}
	}
	nodes := make([]string, 0, len(k.nodes))
	for n := range k.nodes {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, byNumber)
	return nodes, keys
}

// vote takes in one yes of a node.
func (k *keeper) vote(e *history.Event, o *op) {
	at := fmt.Sprintf("%s\x00%s", e.Node, o.call.Lock)
	held := k.open[at]
	switch o.call.Do {
	case history.Acquire:
		// A script within an acquire takes the key where nothing else does. Where a
		// command does, a script after it takes it back, unless the acquire was
		// granted by that command: then the script adds something, such as a token.
		took := e.Code == "set" || !k.sets[o.id]
		granted := o.result() == history.OK && pos(e) > k.lastSet[voteKey{o.id, e.Node}]
		switch {
		case took:
			if held != nil && held.Ended == "" {
				k.close(held, e.T, KeyTaken)
			}
			k.take(at, e, o, o.id)
		case held != nil && held.Op == o.id && !granted:
			k.close(held, e.T, KeyReleased)
			delete(k.open, at)
		}
	case history.Extend:
		switch {
		case held != nil && held.Op == o.grant():
			held.Ended, held.Full = "", append(held.Full, e.T)
		case held == nil: // it came here from another node
			k.take(at, e, o, o.grant())
		}
	case history.Release:
		if held != nil && (held.Ended == "" || held.Op == o.grant()) {
			k.close(held, e.T, KeyReleased)
			delete(k.open, at)
		}
	}
}

func (k *keeper) take(at string, e *history.Event, o *op, grant int64) {
	x := &Key{Node: e.Node, Host: o.call.Host, Op: grant, Stretch: Stretch{From: e.T}, Full: []time.Duration{e.T}}
	k.open[at], k.all = x, append(k.all, x)
}

// forgetful are the faults after which a node may have lost a key, or may count
// its time in another way. What it still had shows where the key is used again.
var forgetful = append([]string{"clock-jump", "clock-rate"}, stateLoss...)

func (k *keeper) strike(e *history.Event) {
	if e.Fault.How == "isolate" { // the old master keeps what it has
		return
	}
	targets := k.r.targets(e.Fault.ID)
	for _, x := range k.open {
		if slices.Contains(targets, x.Node) && x.Ended == "" {
			k.close(x, e.T, KeyUnknown)
		}
	}
}

// close ends a key, at the latest when its time is over.
func (k *keeper) close(x *Key, t time.Duration, why string) {
	x.To, x.Ended = t, why
	if end := later(x.Full[len(x.Full)-1], k.r.h.Header.TTL); end <= t && end < math.MaxInt64 {
		x.To, x.Ended = end, KeyExpired
	}
}

// within keeps what a picture of t needs of instants in order: those in the
// window, and the last before it.
func within(full []time.Duration, t *Timeline) []time.Duration {
	from := sort.Search(len(full), func(i int) bool { return full[i] > t.From })
	to := sort.Search(len(full), func(i int) bool { return full[i] > t.To })
	return full[max(from-1, 0):max(to, min(1, len(full)))]
}
