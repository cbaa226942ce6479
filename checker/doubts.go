package checker

import (
	"fmt"

	"lockchaos/history"
)

// doubt adds a reason why the run proves nothing.
func (j *judge) doubt(events []int64, format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	j.reasons = append(j.reasons, words)
	f := Finding{ID: NoConclusion, Events: events, Words: words, At: j.r.end().t}
	if len(events) > 0 {
		f.At = j.r.h.Events[events[0]-1].T
	}
	j.add(f)
}

// disbelieve is a doubt of what the hosts claim: nothing that rests on their
// claims is then evidence, not even of a violation.
func (j *judge) disbelieve(events []int64, format string, args ...any) {
	j.disbelieved = true
	j.doubt(events, format, args...)
}

// doubts asks all the questions after which a run without findings may still
// prove nothing.
func (j *judge) doubts(reports []OracleReport) {
	j.doubtRecord()
	j.doubtActivity()
	j.doubtMeetings()
	j.doubtFaults()
	j.doubtWrites()
	j.doubtClaims()
	j.doubtOwners()
	j.doubtExits()
	for _, rep := range reports {
		if rep.Porcupine == answerUnknown {
			j.doubt(nil, "Porcupine reached its limits on %s: only one oracle has judged it", rep.Property)
		}
	}
}

func (j *judge) doubtRecord() {
	switch h := j.r.h; {
	case h.Truncated:
		j.doubt(nil, "the history is cut off in its last line")
	case !h.Complete:
		j.doubt(nil, "the history has no end: the run was broken off")
	}
}

func (j *judge) doubtActivity() {
	if len(j.r.grants) == 0 {
		j.doubt(nil, "no acquire was granted")
	}
	any := false
	for _, l := range j.r.locks {
		any = any || len(j.r.effects(l)) > 0 && hasWrite(j.r.effects(l))
	}
	if !any {
		j.doubt(nil, "no write was accepted or refused")
	}
	p, n := j.r.phases(), j.r.h.Header.Needs
	for _, x := range []struct {
		name, were string
		got, want  history.Ops
	}{{"before", "answered", p.Before, n.Before}, {"during", "under way", p.During, n.During}, {"after", "answered", p.After, n.After}} {
		if x.got.Attempts < x.want.Attempts {
			j.doubt(nil, "too few acquires in phase %s: %d were %s, the scenario needs %d", x.name, x.got.Attempts, x.were, x.want.Attempts)
		}
		if x.got.Grants < x.want.Grants && !(x.name == "after" && j.wedged()) {
			j.doubt(nil, "too few grants in phase %s: %d, the scenario needs %d", x.name, x.got.Grants, x.want.Grants)
		}
	}
}

// wedged says whether a lock was wedged: that nobody was granted it after the
// faults, and that the work was not done by the deadline, is what that finding says,
// and no reason to doubt the run.
func (j *judge) wedged() bool { return len(j.found[Wedge]) > 0 }

// hasWrite says whether the guard answered at all: it accepts writes, and what
// it refuses may be a read.
func hasWrite(effects []effect) bool {
	for _, e := range effects {
		if e.do == history.Write || !e.ok {
			return true
		}
	}
	return false
}

func (j *judge) doubtFaults() {
	proved := 0
	for _, f := range j.r.faults {
		if f.proved != nil {
			proved++
		}
		if f.id == history.Deadline && j.wedged() {
			continue
		}
		for _, e := range f.bad {
			proof := e.Fault.Proof
			if proof == "" {
				proof = e.Text
			}
			if proof == "" {
				proof = "nothing more is known"
			}
			j.doubt(seqs(e), "fault %s (%s): %s: %s", f.id, f.name, badStep(e.Fault.Step), proof)
		}
	}
	if want := j.r.h.Header.Faults; proved < want {
		j.doubt(nil, "%d of %d faults are proved to have taken effect", proved, want)
	}
}

func badStep(step string) string {
	switch step {
	case history.FaultUnproved:
		return "its effect is not proved"
	case history.FaultMissed:
		return "its moment never came"
	}
	return "it failed"
}

func (j *judge) doubtWrites() {
	for _, l := range j.r.locks {
		c := l.counter
		if len(c.unresolved) > 0 && c.final == nil {
			w := c.unresolved[0]
			j.doubt(seqs(w.call, w.ret), "%s of unknown outcome, and neither a ledger nor a final value to resolve %s: the first is operation %d of %s",
				count(len(c.unresolved), "write"), itThem(len(c.unresolved)), w.id, w.call.Host)
		}
	}
}

// doubtClaims looks for grants that cannot be: the host says it has one, and
// its links say that it did not talk to as many nodes as must vote for it.
func (j *judge) doubtClaims() {
	measured := j.r.h.Header.World == "local" || j.r.h.Header.World == "remote"
	for i := range j.r.h.Events {
		measured = measured || j.r.h.Events[i].Backed > 0
	}
	if !measured {
		return
	}
	var first *grant
	n := 0
	for _, g := range j.r.grants {
		if g.ret().Backed < j.r.h.Header.Quorum {
			if n++; first == nil {
				first = g
			}
		}
	}
	if n > 0 {
		j.disbelieve(seqs(first.ret()), "unbacked grant: %s with fewer than %d nodes talked to: the first is of %s at %s, with %d",
			count(n, "grant"), j.r.h.Header.Quorum, first.host, ms(first.got()), first.ret().Backed)
	}
}

func (j *judge) doubtOwners() {
	first := map[string]*grant{}
	for _, g := range j.r.grants {
		owner := g.ret().Owner
		if owner == "" {
			continue
		}
		key := g.lock + "\x00" + owner
		if o, ok := first[key]; ok {
			j.disbelieve(seqs(o.ret(), g.ret()), "the owner value %q was used by two grants, of %s at %s and of %s at %s: what the hosts claim is not believable",
				owner, o.host, ms(o.got()), g.host, ms(g.got()))
			return
		}
		first[key] = g
	}
}

// doubtExits looks for hosts that ended by themselves. A host that the harness
// closed ends with the result OK.
func (j *judge) doubtExits() {
	for _, x := range j.r.exits {
		if x.Result != history.OK && j.r.killer(x) == nil {
			j.doubt(seqs(x), "%s ended at %s and no fault explains it", x.Host, ms(x.T))
		}
	}
}
