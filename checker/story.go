package checker

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockchaos/history"
)

// The sentences of findings. Each names the deciding events with their times.

// at gives the time of an event that a sentence names. What it has named goes
// to the Events of the finding that is added next.
func (j *judge) at(e *history.Event) string {
	j.named = append(j.named, e)
	return ms(e.T)
}

func (j *judge) tellDoubleGrant(g1, g2 *grant, f Finding) string {
	why := ""
	if f.Cause != "" {
		why = " (" + f.Cause + ")"
	}
	s := fmt.Sprintf("%s; %s got it at %s", j.tellOvertaken(g1, g2, f.Cause), g2.host, j.at(g2.ret()))
	if o := lateExtend(g1, g2, f); o != nil {
		return s + fmt.Sprintf("; %s extended at %s%s, so for %s it was promised to both", o.call.Host, j.at(o.ret), why, ms(f.Lasted))
	}
	return s + fmt.Sprintf(" while that was still promised%s, so for %s it was promised to both", why, ms(f.Lasted))
}

// tellOvertaken is tellGrant of g1 until g2 got its lock, with the faults that
// explain the cause, if there are such.
func (j *judge) tellOvertaken(g1, g2 *grant, cause string) string {
	if faults := j.r.culprits(cause, between(g1, g2), g2.returned()); len(faults) > 0 {
		return j.tellStruck(g1, faults...)
	}
	return j.tellStruck(g1) // the lock was promised to both: what kept a host explains nothing
}

// tellGrant tells how g came to its lock, what kept its host until the position p,
// and how long its lease ran.
func (j *judge) tellGrant(g *grant, p int64) string {
	return j.tellStruckBy(g, j.r.delayed(g, g.called(), p))
}

func (j *judge) tellStruckBy(g *grant, f *fault) string {
	if f == nil {
		return j.tellStruck(g)
	}
	return j.tellStruck(g, f)
}

// tellStruck is tellGrant with these faults.
func (j *judge) tellStruck(g *grant, faults ...*fault) string {
	s := fmt.Sprintf("%s got %s at %s", g.host, j.name(g.lock), j.at(g.ret()))
	for _, f := range faults {
		s += j.tellStrike(g.host, f)
	}
	n := len(g.promise)
	switch {
	case n == 0:
		return s + ", with its lease already over"
	case g.promise[n-1].until == nil && g.promise[n-1].end < j.r.last():
		return fmt.Sprintf("%s, its lease ended at %s", s, ms(g.promise[n-1].endT))
	}
	return s
}

func (j *judge) tellStrike(host string, f *fault) string {
	done := map[string]string{"pause-host": "was stopped", "kill-host": "was killed"}[f.name]
	if done != "" && slices.Contains(f.targets, host) {
		return fmt.Sprintf(" and %s at %s", done, j.at(f.start))
	}
	return ", " + j.strike(f)
}

// strike tells what a fault struck, if that is known, and when.
func (j *judge) strike(f *fault) string {
	whom := ""
	if len(f.targets) > 0 {
		whom = " " + strings.Join(f.targets, ", ")
	}
	return fmt.Sprintf("%s struck%s at %s", f.name, whom, j.at(f.struck()))
}

func (j *judge) tellSilentLoss(g1, g2 *grant, cause string, learned *history.Event, lasted time.Duration) string {
	s := fmt.Sprintf("%s; %s got it at %s, and %s ", j.tellOvertaken(g1, g2, cause), g2.host, j.at(g2.ret()), g1.host)
	if learned == nil {
		return s + fmt.Sprintf("never noticed, for %s", ms(lasted))
	}
	return s + fmt.Sprintf("noticed %s later, at %s", ms(lasted), j.at(learned))
}

func (j *judge) tellEarlyLoss(g *grant, confirmed, d *op) string {
	return fmt.Sprintf("%s; its last confirmation came at %s, and its %s at %s was told that the lock is gone, before the lease was over",
		j.tellStruckBy(g, j.r.lost(pos(confirmed.call), pos(d.ret))), j.at(confirmed.ret), d.call.Do, j.at(d.ret))
}

func (j *judge) tellStaleHolder(g1, g2 *grant, to edge, lasted time.Duration) string {
	return fmt.Sprintf("%s; %s got it at %s, and both thought that they hold it until %s, for %s",
		j.tellGrant(g1, g2.returned()), g2.host, j.at(g2.ret()), ms(to.t), ms(lasted))
}

func (j *judge) tellStaleWrite(e effect, g2 *grant) string {
	first := j.tellGrant(e.g, e.after)
	if j.overtaken[e.g.index] { // the lock was promised to both: told as the double grant is
		first = j.tellOvertaken(e.g, g2, j.r.cause(e.g, g2))
	}
	s := fmt.Sprintf("%s; %s got it at %s; ", first, g2.host, j.at(g2.ret()))
	if g2.returned() < e.g.returned() {
		s = fmt.Sprintf("%s, while %s had got it at %s and still held it; ", first, g2.host, j.at(g2.ret()))
	}
	if pos(e.op.call) < g2.returned() { // only the ledger shows when it arrived
		return s + fmt.Sprintf("the write of %d that %s had sent at %s arrived after that and was accepted", e.value, e.g.host, j.at(e.op.call))
	}
	return s + fmt.Sprintf("%s went on at %s and its write of %d was accepted", e.g.host, j.at(e.op.call), e.value)
}

// tellOverwrite tells of the write e that undid what stood above it in the
// ledger. Where one of the two came of a superseded grant, that is the story.
func (j *judge) tellOverwrite(above, e *entry, missing int) string {
	undone := ": it did not add one"
	switch lost := e.ev.Before - e.ev.Value + 1; {
	case lost == 0:
		undone = ": the counter had been changed behind their backs"
	case lost > 0:
		undone = fmt.Sprintf(": %s undone", count(int(lost), "increment"))
		if int(lost) > missing {
			undone += ", some of them made up for by one that came too high"
		}
	}
	undone += inAll(missing)
	if g2 := j.r.superseded(e.effect()); g2 != nil {
		return j.tellStaleWrite(e.effect(), g2) + fmt.Sprintf(", over %d", e.ev.Before) + undone
	}
	s := fmt.Sprintf("%s wrote %d at %s over %d", e.op.call.Host, e.ev.Value, j.at(e.op.call), e.ev.Before)
	if above == nil {
		return s + undone
	}
	if g2 := j.r.superseded(above.effect()); g2 != nil {
		return j.tellStaleWrite(above.effect(), g2) + "; " + s + undone
	}
	return fmt.Sprintf("%s wrote %d at %s; ", above.op.call.Host, above.ev.Value, j.at(above.op.call)) + s + undone
}

func (j *judge) tellRepeat(first *op, again step, missing int) string {
	s := fmt.Sprintf("%s was told at %s that it wrote %d", first.call.Host, j.at(last(first)), again.key)
	return s + fmt.Sprintf(", and so was %s at %s", again.op.call.Host, j.at(last(again.op))) + inAll(missing)
}

func (j *judge) tellUnledgered(w *op) string {
	return fmt.Sprintf("%s was told at %s that its write of %d is done, and it never reached the resource",
		w.call.Host, j.at(w.ret), w.ret.Value)
}

func (j *judge) tellUnexplained(c *counter, missing int) string {
	if v, ok := c.found(); ok && missing > 0 {
		return fmt.Sprintf("%s accepted and the counter is at %d%s", count(len(c.steps)-c.filled, "increment"), v, inAll(missing))
	}
	return fmt.Sprintf("the values of %s do not follow one another in the order of time", count(len(c.steps), "increment"))
}

func inAll(missing int) string {
	if missing <= 0 {
		return ""
	}
	if missing == 1 {
		return "; in all 1 increment is lost"
	}
	return fmt.Sprintf("; in all %d increments are lost", missing)
}

func (j *judge) tellRegression(g1, g2 *grant) string {
	how := "is not greater"
	if g1.token() == g2.token() {
		how = "is the same"
	}
	return fmt.Sprintf("%s with token %d; %s got it at %s with token %d, which %s",
		j.tellToken(g1, g2), g1.token(), g2.host, j.at(g2.ret()), g2.token(), how)
}

func (j *judge) tellToken(g1, g2 *grant) string {
	from, to := min(g1.called(), g2.called()), g2.returned()
	faults := j.r.culprits(CauseStateLoss, from, to) // a lock server forgot its counter
	if f := j.r.delayed(g1, g1.called(), to); len(faults) == 0 && f != nil {
		faults = []*fault{f}
	}
	var strikes []string
	for _, f := range faults {
		strikes = append(strikes, j.strike(f))
	}
	s := fmt.Sprintf("%s got %s at %s", g1.host, j.name(g1.lock), j.at(g1.ret()))
	if len(strikes) > 0 {
		s = strings.Join(strikes, ", ") + ": " + s
	}
	return s
}

func (j *judge) tellForeign(g, v *grant, o *op) string {
	did := "released"
	if o.call.Do == history.Extend {
		did = "prolonged"
	}
	return fmt.Sprintf("%s; %s got it at %s; %s %s it at %s with success: it was the lock of %s",
		j.tellGrant(g, v.returned()), v.host, j.at(v.ret()), g.host, did, j.at(o.ret), v.host)
}

func (j *judge) tellReacquire(g, h *grant, e *op) string {
	return fmt.Sprintf("%s; %s got it at %s; %s extended at %s with success and was never told that another had held the lock",
		j.tellGrant(g, h.returned()), h.host, j.at(h.ret()), g.host, j.at(e.ret))
}

func (j *judge) tellGap(l *lock, f Finding, g gap, why string) string {
	s := fmt.Sprintf("%s (%s); nobody held %s and it was refused %s", why, ms(f.At), j.name(l.name), times(f.Count))
	switch {
	case g.next != nil:
		return s + fmt.Sprintf(", until %s got it at %s, %s later", g.next.host, j.at(g.next.ret()), ms(f.Lasted))
	case f.ID == Wedge:
		return s + fmt.Sprintf(", and for %s nobody got it any more", ms(f.Lasted))
	}
	return s + fmt.Sprintf(", the last time %s later; the run ended before anybody got it", ms(f.Lasted))
}

func tellUnavailable(phase string, got, want history.Ops) string {
	var demands []string
	if want.Attempts > 0 {
		demands = append(demands, count(want.Attempts, "attempt"))
	}
	if want.Grants > 0 {
		demands = append(demands, count(want.Grants, "grant"))
	}
	return fmt.Sprintf("phase %s: %s of %s, the scenario demands %s",
		phase, count(got.Grants, "grant"), count(got.Attempts, "attempt"), strings.Join(demands, " and "))
}

// name names a lock where there are several.
func (j *judge) name(lock string) string {
	if len(j.r.locks) == 1 {
		return "the lock"
	}
	return fmt.Sprintf("lock %q", lock)
}

// ms gives a time in milliseconds, to a tenth, or finer below one.
func ms(t time.Duration) string {
	step := 100 * time.Microsecond
	if t.Abs() < time.Millisecond {
		step = time.Microsecond
	}
	return strconv.FormatFloat(float64(t.Round(step))/float64(time.Millisecond), 'f', -1, 64) + " ms"
}

// last is the last event of an operation.
func last(o *op) *history.Event {
	if o.ret != nil {
		return o.ret
	}
	return o.call
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func itThem(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}

func ids(grants ...*grant) []int64 {
	var all []int64
	for _, g := range grants {
		all = append(all, g.id())
	}
	return all
}

// seqs gives the sequence numbers of events, in order and each once.
func seqs(events ...*history.Event) []int64 {
	var all []int64
	for _, e := range events {
		if e != nil {
			all = append(all, e.Seq)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// merge joins two lists of sequence numbers.
func merge(a, b []int64) []int64 {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func byReturn(ops []*op) []*op {
	var done []*op
	for _, o := range ops {
		if o.ret != nil {
			done = append(done, o)
		}
	}
	slices.SortStableFunc(done, func(a, b *op) int { return cmp.Compare(a.ret.Seq, b.ret.Seq) })
	return done
}
