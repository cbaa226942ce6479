package checker

import (
	"slices"
	"time"
)

// maxPairs is how many overlapping pairs of one lock are looked into, as a
// multiple of the findings that are told. What is beyond is counted.
const maxPairs = 20

// doubleGrants finds the pairs of grants whose promises overlap, and with each
// grant that was overtaken, that nobody told its host.
func (j *judge) doubleGrants(l *lock) {
	pairs, more := overlapping(l.promises, maxPairs*j.o.MaxFindings)
	last := DoubleGrant
	for _, p := range pairs {
		g1, g2 := j.r.grants[p.a], j.r.grants[p.b]
		from, to, _ := overlap(g1.promise, g2.promise)
		f := Finding{
			ID: DoubleGrant, Cause: j.r.cause(g1, g2), Lock: l.name, Grants: ids(g1, g2),
			Events: seqs(g1.ret(), g2.ret()), At: from.t, Lasted: to.t - from.t,
		}
		if cause := j.foreignCause(g1, g2, from.pos, f.Cause); cause != "" {
			f.Cause, f.Blame = cause, "library"
		}
		f.Words = j.tellDoubleGrant(g1, g2, f)
		last = f.Kind()
		j.add(f)
		// Where a late extend of g1 made the overlap, g1 lost nothing in it.
		if from.pos == g2.returned() && !j.overtaken[p.a] {
			j.overtaken[p.a] = true
			j.silentLoss(l, g1, g2, f.Cause)
		}
	}
	j.count(last, more)
}

// foreignCause is the cause of a double grant that begins at the position p where
// a host that did not look whose lock it was has brought it about. One that may
// have is named where no fault explains it.
func (j *judge) foreignCause(g1, g2 *grant, p int64, known string) string {
	released, hit := j.released[g1.index]
	brushed, may := j.brushed[g1.index]
	switch {
	case hit && released < g2.returned():
		return CauseForeignRelease
	case j.onForeignExtend(g1, p) || j.onForeignExtend(g2, p):
		return CauseForeignExtend
	case may && brushed < g2.returned() && known == "":
		return CauseForeignRelease
	}
	return ""
}

// onForeignExtend says whether what g was promised at the position p rests on an
// extend that hit the lock of another: its own was gone by then, whatever it has
// extended since.
func (j *judge) onForeignExtend(g *grant, p int64) bool {
	return slices.ContainsFunc(g.extends, func(o *op) bool { return j.prolonged[o] && pos(o.ret) <= p })
}

// lateExtend is the extend that made the overlap of a double grant, if one did: then
// it begins where that returned.
func lateExtend(g1, g2 *grant, f Finding) *op {
	for _, o := range slices.Concat(g1.extends, g2.extends) {
		if o.ret != nil && o.ret.T == f.At && f.At > g2.got() {
			return o
		}
	}
	return nil
}

// count notes overlaps that were counted and not looked into, with the kind of the
// last that was: nobody asked for their own cause. There are some only where there
// are findings to add them to.
func (j *judge) count(kind string, more int) {
	if len(j.found[kind]) > 0 {
		j.more[kind] += more
	}
}

// silentLoss says how long g1 went without word after g2 had its lock, for that cause.
func (j *judge) silentLoss(l *lock, g1, g2 *grant, cause string) {
	learned := g1.learned(g2.returned())
	f := Finding{
		ID: SilentLoss, Lock: l.name, Grants: ids(g1, g2), Events: seqs(g1.ret(), g2.ret(), learned), At: g2.got(),
	}
	until := j.r.end().t
	switch {
	case learned != nil:
		until = learned.T
	case len(g1.releases) > 0:
		until = g1.releases[0].call.T
	case g1.gone != nil:
		until = g1.gone.T
	}
	f.Lasted = max(until-g2.got(), 0)
	f.Words = j.tellSilentLoss(g1, g2, cause, learned, f.Lasted)
	j.add(f)
}

// staleHolders finds the pairs of grants of which two hosts thought that they
// hold the lock, though the lock service had promised it to one at a time.
func (j *judge) staleHolders(l *lock) {
	pairs, more := overlapping(l.beliefs, maxPairs*j.o.MaxFindings)
	for _, p := range pairs {
		g1, g2 := j.r.grants[p.a], j.r.grants[p.b]
		if _, _, both := overlap(g1.promise, g2.promise); both {
			continue
		}
		from, to, _ := overlap(g1.belief, g2.belief)
		f := Finding{
			ID: StaleHolder, Lock: l.name, Grants: ids(g1, g2),
			Events: seqs(g1.ret(), g2.ret(), to.ev), At: from.t, Lasted: to.t - from.t,
		}
		f.Words = j.tellStaleHolder(g1, g2, to, f.Lasted)
		j.add(f)
	}
	j.count(StaleHolder, more)
}

// closest is where two beliefs of one lock came closest to each other; nil
// with fewer than two.
func (r *record) closest() *Closest {
	var least *Closest
	for _, l := range r.locks {
		var longest *span
		for i := range l.beliefs {
			s := &l.beliefs[i]
			if longest != nil && longest.g != s.g {
				gap := s.startT - min(longest.endT, s.endT)
				if longest.end <= s.start {
					gap = s.startT - longest.endT
				}
				if least == nil || gap < least.Gap {
					least = &Closest{gap, s.startT, r.grants[longest.g].host, r.grants[s.g].host}
				}
			}
			if longest == nil || s.end > longest.end {
				longest = s
			}
		}
	}
	return least
}

// margin is how close that was.
func (r *record) margin() *time.Duration {
	c := r.closest()
	if c == nil {
		return nil
	}
	return &c.Gap
}
