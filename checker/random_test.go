package checker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"lockchaos/history"
)

const (
	randomHistories = 100_000
	randomTTL       = 12 * time.Millisecond
)

// TestRandom judges many small random histories by four ways: the sweep,
// Porcupine in one piece, Porcupine in the smallest chunks there are, and the
// obvious slow oracle of this package's tests. They must agree on all, and the
// findings with them.
func TestRandom(t *testing.T) {
	shards := max(runtime.GOMAXPROCS(0), 2)
	sums := make([]tally, shards)
	var wg sync.WaitGroup
	for s := range shards {
		wg.Go(func() {
			for i := s; i < randomHistories && !t.Failed(); i += shards {
				h := randomHistory(rand.New(rand.NewPCG(1, uint64(i))))
				if err := sums[s].compare(h, 1+i%3); err != nil {
					t.Errorf("history %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
	sum := tally{}
	for _, s := range sums {
		for p := range s {
			sum[p] += s[p]
		}
	}
	for p, name := range properties() {
		share := float64(sum[p]) / randomHistories
		t.Logf("%s: %.0f %% illegal", name, 100*share)
		if share < 0.2 || share > 0.8 {
			t.Errorf("%s: %.2f of the histories are illegal: the test does not try both kinds", name, share)
		}
	}
}

func properties() []string {
	return []string{PropertyMutex, PropertyBeliefs, PropertyTokens, PropertyCounter}
}

// tally counts the illegal histories for each property.
type tally [4]int

func (y *tally) compare(h *history.History, chunk int) error {
	r, err := assemble(h)
	if err != nil {
		return err
	}
	v, err := r.judge(Options{}.filled())
	if err != nil {
		return err
	}
	chunked, err := consult(r, Options{ChunkOps: chunk}.filled())
	if err != nil {
		return err
	}
	for p, slow := range slowOracle(r) {
		a, b := v.Oracles[p], chunked[p]
		if a.Sweep != slow || a.Porcupine != slow || b.Porcupine != slow {
			return fmt.Errorf("%s: slow %s, sweep %s, Porcupine %s, in %d chunks %s", a.Property, slow, a.Sweep, a.Porcupine, b.Chunks, b.Porcupine)
		}
		if slow == AnswerIllegal {
			y[p]++
		}
	}
	return matches(v)
}

// matches says whether the findings tell of just what the oracles condemn.
func matches(v *Verdict) error {
	kinds := kindsOf(v)
	has := func(id string) bool { return slices.Contains(kinds, id) }
	illegal := func(p int) bool { return v.Oracles[p].Sweep == AnswerIllegal }
	switch {
	case illegal(0) != has(DoubleGrant):
		return fmt.Errorf("mutual exclusion %v, findings %v", v.Oracles[0], kinds)
	case illegal(1) && !has(DoubleGrant) && !has(StaleHolder), !illegal(1) && has(StaleHolder):
		return fmt.Errorf("beliefs %v, findings %v", v.Oracles[1], kinds)
	case illegal(2) != has(TokenRegression):
		return fmt.Errorf("tokens %v, findings %v", v.Oracles[2], kinds)
	case illegal(3) && !has(LostUpdate):
		return fmt.Errorf("counter %v, findings %v", v.Oracles[3], kinds)
	}
	return nil
}

// slowOracle looks at every position and every pair.
func slowOracle(r *record) [4]string {
	answer := [4]string{answerOK, answerOK, answerOK, answerOK}
	for _, l := range r.locks {
		// From the call, a TTL; in the simulation also what the host said was left.
		owed := func(o *op) time.Duration {
			said := o.ret.T - o.call.T + o.ret.Validity
			if r.h.Header.World == "sim" && o.ret.Validity > 0 && said > randomTTL {
				return said
			}
			return randomTTL
		}
		if twoAt(r, l, owed) {
			answer[0] = AnswerIllegal
		}
		if twoAt(r, l, r.patience) {
			answer[1] = AnswerIllegal
		}
		for _, a := range l.grants {
			for _, b := range l.grants {
				if a != b && a.token() != 0 && b.token() != 0 &&
					(a.token() == b.token() || a.ret().Seq < b.call().Seq && a.token() > b.token()) {
					answer[2] = AnswerIllegal
				}
			}
		}
		if !inSomeOrder(l.counter.steps, nil) {
			answer[3] = AnswerIllegal
		}
	}
	return answer
}

// twoAt says whether some position belongs to two grants of a lock.
func twoAt(r *record, l *lock, lasts func(*op) time.Duration) bool {
	about := make([][]*history.Event, len(l.grants))
	for i, g := range l.grants {
		about[i] = eventsOf(r, g)
	}
	for p := int64(1); p <= 2*int64(len(r.h.Events)); p++ {
		n := 0
		for i := range l.grants {
			if heldAt(r, about[i], p, lasts) {
				n++
			}
		}
		if n > 1 {
			return true
		}
	}
	return false
}

// eventsOf are the events that bear on the hold of g.
func eventsOf(r *record, g *grant) []*history.Event {
	var about []*history.Event
	for i := range r.h.Events {
		e := &r.h.Events[i]
		killed := e.Kind == history.Fault && e.Fault.Targets[0] == g.host // here each fault is a kill that an exit follows
		if e.Grant == g.id() && e.Kind != history.Ledger || killed {
			about = append(about, e)
		}
	}
	return about
}

func heldAt(r *record, about []*history.Event, p int64, lasts func(*op) time.Duration) bool {
	now := r.h.Events[(p-1)/2].T // of the event at p, or the next after it
	held := false
	for _, e := range about {
		switch past := 2*e.Seq <= p; e.Kind {
		case history.Fault, history.Lost:
			if past {
				return false
			}
		case history.Call:
			if past && e.Do == history.Release {
				return false
			}
		case history.Return:
			o := r.byOp[e.Op]
			if past && e.Result == history.Gone {
				return false
			}
			if past && e.Result == history.OK && (e.Do == history.Acquire || e.Do == history.Extend) {
				held = held || lasts(o) == forever || now < o.call.T+lasts(o)
			}
		}
	}
	return held
}

// inSomeOrder tries all orders in which the steps can have happened.
func inSomeOrder(steps []step, done []int) bool {
	if len(done) == len(steps) {
		return true
	}
	for i, s := range steps {
		if slices.Contains(done, i) || s.key != int64(len(done))+1 {
			continue
		}
		first := true
		for k, o := range steps {
			if k != i && !slices.Contains(done, k) && o.ret < s.call {
				first = false
			}
		}
		if first && inSomeOrder(steps, append(slices.Clone(done), i)) {
			return true
		}
	}
	return false
}
