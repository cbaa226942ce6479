package checker

import (
	"fmt"
	"slices"

	"lockchaos/history"
)

// refusedHolders finds operations that a fence refused although they came of the
// grant to which the lock was promised at that time. That costs no update, but
// the holder cannot work: either the rule of the fence is wrong, or the token is.
func (j *judge) refusedHolders(l *lock) {
	guard := j.r.h.Header.Guard
	if !history.Fenced(guard) {
		return
	}
	var top effect // the last that the fence let in
	for _, e := range j.r.effects(l) {
		if e.ok {
			if j.r.shows(e) {
				top = e
			}
			continue
		}
		if e.g == nil || e.op.result() != history.Refused || j.r.superseded(e) != nil || !holds(e) {
			continue
		}
		f := Finding{
			ID: RefusedHolder, Lock: l.name, Grants: ids(e.g),
			Events: seqs(e.g.ret(), e.op.call, e.op.ret), At: e.op.ret.T,
		}
		if top.g == e.g {
			f.Blame = "guard"
		}
		f.Words = j.tellRefusedHolder(e, top)
		j.add(f)
	}
}

// holds says whether the lock was promised to the grant of e while e took effect.
func holds(e effect) bool {
	return slices.ContainsFunc(e.g.promise, func(s span) bool { return s.covers(e.after, e.before) })
}

func (j *judge) tellRefusedHolder(e, top effect) string {
	s := fmt.Sprintf("%s got %s at %s with token %d and still held it, and its %s at %s was refused",
		e.g.host, j.name(e.g.lock), j.at(e.g.ret()), e.g.token(), e.do, j.at(e.op.call))
	switch {
	case top.g == nil:
		return s
	case top.g == e.g:
		return s + fmt.Sprintf(": its own %s at %s had shown the same token before", top.do, j.at(top.op.call))
	}
	return s + fmt.Sprintf(": the %s of %s at %s had shown the token %d before", top.do, top.g.host, j.at(top.op.call), top.g.token())
}
