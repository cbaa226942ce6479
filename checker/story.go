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

func (j *judge) tellDoubleGrant(g1, g2 *grant, f Finding) string {
	why := ""
	if f.Cause != "" {
		why = " (" + f.Cause + ")"
	}
	return fmt.Sprintf("%s; %s got it at %s while that was still promised%s, so for %s it was promised to both",
		j.tellGrant(g1, g2.returned()), g2.host, ms(f.At), why, ms(f.Lasted))
}

// tellGrant tells how g came to its lock, what struck it until the position p,
// and how long its lease ran.
func (j *judge) tellGrant(g *grant, p int64) string {
	s := fmt.Sprintf("%s got %s at %s", g.host, j.name(g.lock), ms(g.got()))
	if f := j.r.bystander(g.host, g.called(), p); f != nil {
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
		return fmt.Sprintf(" and %s at %s", done, ms(f.began()))
	}
	return fmt.Sprintf(", %s struck %s at %s", f.name, strings.Join(f.targets, ", "), ms(f.began()))
}

func (j *judge) tellSilentLoss(g1, g2 *grant, learned *history.Event, lasted time.Duration) string {
	s := fmt.Sprintf("%s; %s got it at %s, and %s ", j.tellGrant(g1, g2.returned()), g2.host, ms(g2.got()), g1.host)
	if learned == nil {
		return s + fmt.Sprintf("never noticed, for %s", ms(lasted))
	}
	return s + fmt.Sprintf("noticed %s later, at %s", ms(lasted), ms(learned.T))
}

func (j *judge) tellEarlyLoss(g *grant, confirmed, d *op) string {
	return fmt.Sprintf("%s; its last confirmation came at %s, and its %s at %s was told that the lock is gone, before the lease was over",
		j.tellGrant(g, pos(d.ret)), ms(confirmed.ret.T), d.call.Do, ms(d.ret.T))
}

func (j *judge) tellStaleHolder(g1, g2 *grant, to edge, lasted time.Duration) string {
	return fmt.Sprintf("%s; %s got it at %s, and both thought that they hold it until %s, for %s",
		j.tellGrant(g1, g2.returned()), g2.host, ms(g2.got()), ms(to.t), ms(lasted))
}

func (j *judge) tellStaleWrite(e effect, g2 *grant) string {
	s := fmt.Sprintf("%s; %s got it at %s; ", j.tellGrant(e.g, e.after), g2.host, ms(g2.got()))
	if pos(e.op.call) < g2.returned() { // only the ledger shows when it arrived
		return s + fmt.Sprintf("the write of %d that %s had sent at %s arrived after that and was accepted", e.value, e.g.host, ms(e.op.call.T))
	}
	return s + fmt.Sprintf("%s went on at %s and its write of %d was accepted", e.g.host, ms(e.op.call.T), e.value)
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
	}
	undone += inAll(missing)
	if g2 := j.r.superseded(e.effect()); g2 != nil {
		return j.tellStaleWrite(e.effect(), g2) + fmt.Sprintf(", over %d", e.ev.Before) + undone
	}
	s := fmt.Sprintf("%s wrote %d at %s over %d", e.op.call.Host, e.ev.Value, ms(e.op.call.T), e.ev.Before)
	if above == nil {
		return s + undone
	}
	if g2 := j.r.superseded(above.effect()); g2 != nil {
		return j.tellStaleWrite(above.effect(), g2) + "; " + s + undone
	}
	return fmt.Sprintf("%s wrote %d at %s; ", above.op.call.Host, above.ev.Value, ms(above.op.call.T)) + s + undone
}

func (j *judge) tellRepeat(first *op, again step, missing int) string {
	s := fmt.Sprintf("%s was told at %s that it wrote %d", first.call.Host, lastT(first), again.key)
	return s + fmt.Sprintf(", and so was %s at %s", again.op.call.Host, lastT(again.op)) + inAll(missing)
}

func (j *judge) tellUnledgered(w *op) string {
	return fmt.Sprintf("%s was told at %s that its write of %d is done, and it never reached the resource",
		w.call.Host, ms(w.ret.T), w.ret.Value)
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
		j.tellToken(g1, g2), g1.token(), g2.host, ms(g2.got()), g2.token(), how)
}

func (j *judge) tellToken(g1, g2 *grant) string {
	s := fmt.Sprintf("%s got %s at %s", g1.host, j.name(g1.lock), ms(g1.got()))
	if f := j.r.bystander(g1.host, g1.called(), g2.returned()); f != nil {
		s = fmt.Sprintf("%s struck %s at %s: %s", f.name, strings.Join(f.targets, ", "), ms(f.began()), s)
	}
	return s
}

func (j *judge) tellForeign(g, v *grant, o *op) string {
	did := "released"
	if o.call.Do == history.Extend {
		did = "prolonged"
	}
	return fmt.Sprintf("%s; %s got it at %s; %s %s it at %s with success: it was the lock of %s",
		j.tellGrant(g, v.returned()), v.host, ms(v.got()), g.host, did, ms(o.ret.T), v.host)
}

func (j *judge) tellReacquire(g, h *grant, e *op) string {
	return fmt.Sprintf("%s; %s got it at %s; %s extended at %s with success and was never told that another had held the lock",
		j.tellGrant(g, h.returned()), h.host, ms(h.got()), g.host, ms(e.ret.T))
}

func (j *judge) tellGap(l *lock, f Finding, g gap, why string) string {
	s := fmt.Sprintf("%s (%s); nobody held %s and it was refused %s", why, ms(f.At), j.name(l.name), times(f.Count))
	switch {
	case g.next != nil:
		return s + fmt.Sprintf(", until %s got it at %s, %s later", g.next.host, ms(g.next.got()), ms(f.Lasted))
	case f.ID == Wedge:
		return s + fmt.Sprintf(", and for %s nobody got it any more", ms(f.Lasted))
	}
	return s + fmt.Sprintf(", the last time %s later; the run ended before anybody got it", ms(f.Lasted))
}

func tellUnavailable(phase string, got, want history.Ops) string {
	return fmt.Sprintf("phase %s: %s of %s, the scenario demands %d of %d",
		phase, count(got.Grants, "grant"), count(got.Attempts, "attempt"), want.Grants, want.Attempts)
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

func lastT(o *op) string {
	if o.ret != nil {
		return ms(o.ret.T)
	}
	return ms(o.call.T)
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
