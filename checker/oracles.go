package checker

import (
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/anishathalye/porcupine"

	"lockchaos/history"
)

// The properties that both oracles judge.
const (
	PropertyMutex   = "mutual-exclusion" // promises of one lock are disjoint
	PropertyBeliefs = "beliefs"          // beliefs of one lock are disjoint
	PropertyTokens  = "tokens"           // tokens of one lock go up
	PropertyCounter = "counter"          // critical sections behave as increments, one after another
)

// The answers of an oracle. AnswerIllegal is for readers of an OracleReport.
const (
	answerOK      = "ok"
	AnswerIllegal = "illegal"
	answerUnknown = "unknown"
)

// consultation asks both oracles about one history.
type consultation struct {
	r        *record
	o        Options
	deadline time.Time
}

func consult(r *record, o Options) ([]OracleReport, error) {
	c := &consultation{r: r, o: o, deadline: time.Now().Add(o.PorcupineLimit)}
	var reports []OracleReport
	for _, property := range []string{PropertyMutex, PropertyBeliefs, PropertyTokens, PropertyCounter} {
		rep := c.ask(property)
		if rep.Porcupine != answerUnknown && rep.Porcupine != rep.Sweep {
			return nil, &DisagreementError{rep}
		}
		reports = append(reports, rep)
	}
	return reports, nil
}

// ask puts one property of every lock to both oracles.
func (c *consultation) ask(property string) OracleReport {
	rep := OracleReport{Property: property, Sweep: answerOK, Porcupine: answerOK}
	for _, l := range c.r.locks {
		if !c.sweep(property, l) {
			rep.Sweep = AnswerIllegal
		}
		for ch := range c.chunks(property, l) {
			rep.Chunks++
			rep.Ops += len(ch.ops)
			if rep.Porcupine == AnswerIllegal {
				continue // counted only
			}
			if a := c.check(ch); a != answerOK {
				rep.Porcupine = a
			}
		}
	}
	return rep
}

func (c *consultation) sweep(property string, l *lock) bool {
	switch property {
	case PropertyMutex:
		return disjoint(l.promises)
	case PropertyBeliefs:
		return disjoint(l.beliefs)
	case PropertyTokens:
		return ordered(l.tokens(), false)
	case PropertyCounter:
		return ordered(l.counter.steps, true)
	}
	return true
}

func (c *consultation) chunks(property string, l *lock) iter.Seq[chunk] {
	switch property {
	case PropertyMutex:
		return spanChunks(l.promises, c.o.ChunkOps)
	case PropertyBeliefs:
		return spanChunks(l.beliefs, c.o.ChunkOps)
	case PropertyTokens:
		return stepChunks(l.tokens(), c.o.ChunkOps, false, c.r.last())
	case PropertyCounter:
		return stepChunks(l.counter.steps, c.o.ChunkOps, true, c.r.last())
	}
	return func(func(chunk) bool) {}
}

// check puts one chunk to Porcupine, within the limits. Of a chunk that is too
// large a part is checked where an illegal part condemns the whole.
func (c *consultation) check(ch chunk) string {
	partial := false
	if len(ch.ops) > c.o.MaxChunkOps || ch.vague > c.o.MaxVague {
		if !ch.hereditary {
			return answerUnknown
		}
		ch.ops, partial = ch.ops[:min(len(ch.ops), c.o.MaxChunkOps)&^1], true
	}
	left := time.Until(c.deadline)
	if left <= 0 {
		return answerUnknown
	}
	switch porcupine.CheckOperationsTimeout(ch.model, ch.ops, left) {
	case porcupine.Illegal:
		return AnswerIllegal
	case porcupine.Ok:
		if !partial {
			return answerOK
		}
	}
	return answerUnknown
}

// Visualise writes a page that shows the first chunk of h that Porcupine finds
// illegal for a property, and how far it got in ordering it. It returns false,
// and writes nothing, if there is none.
func Visualise(h *history.History, property string, o Options, w io.Writer) (bool, error) {
	r, err := assemble(h)
	if err != nil {
		return false, err
	}
	o = o.filled()
	c := &consultation{r: r, o: o, deadline: time.Now().Add(o.PorcupineLimit)}
	for _, l := range r.locks {
		for ch := range c.chunks(property, l) {
			if c.check(ch) != AnswerIllegal {
				continue
			}
			if len(ch.ops) > o.MaxChunkOps {
				ch.ops = ch.ops[:o.MaxChunkOps&^1]
			}
			return true, draw(describe(ch.model, r), named(ch.ops, r), time.Until(c.deadline), w)
		}
	}
	return false, nil
}

func draw(m porcupine.Model, ops []porcupine.Operation, limit time.Duration, w io.Writer) error {
	_, info := porcupine.CheckOperationsVerbose(m, ops, max(limit, time.Second))
	if err := porcupine.Visualize(m, info, w); err != nil {
		return fmt.Errorf("draw the illegal part of the history: %w", err)
	}
	return nil
}

// named puts the operations of each host into a row of its own.
func named(ops []porcupine.Operation, r *record) []porcupine.Operation {
	rows := map[string]int{}
	for i := range ops {
		host := ""
		switch in := ops[i].Input.(type) {
		case *span:
			host = r.grants[in.g].host
		case *step:
			host = in.op.call.Host
		}
		if _, ok := rows[host]; !ok {
			rows[host] = len(rows)
		}
		ops[i].ClientId = rows[host]
	}
	return ops
}
