package checker

import (
	"iter"
	"math"

	"github.com/anishathalye/porcupine"
)

// chunk is a part of a history that can be checked by itself.
type chunk struct {
	model porcupine.Model
	ops   []porcupine.Operation
	// hereditary: if any part of the operations is illegal, all are.
	hereditary bool
	vague      int // operations whose end nobody saw
}

// spanChunks cuts spans, sorted by start, into chunks of at least size
// operations, where the lock is free: every span so far ends at or before M,
// and the next begins at or after M.
//
// The call of a later acquire may lie before M; it is moved up to M, and that
// loses nothing. The lock was promised until M, so a later owner can have got
// it only after M, or else before the span that ends at M even began; but
// then the later owner would have held it all through that span, since its own
// span ends after M, and that is what no legal order allows.
func spanChunks(spans []span, size int) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		from, floor, end := 0, int64(0), int64(0)
		for i := range spans {
			if 2*(i-from) >= size && end <= spans[i].start {
				if !yield(chunk{model: mutexModel(), ops: mutexOperations(spans[from:i], floor), hereditary: true}) {
					return
				}
				from, floor = i, end
			}
			end = max(end, spans[i].end)
		}
		if from < len(spans) {
			yield(chunk{model: mutexModel(), ops: mutexOperations(spans[from:], floor), hereditary: true})
		}
	}
}

// stepChunks cuts steps, sorted by return, into chunks of at least size where
// all that is above the cut must come before all that is below: because all
// above had returned before any below was called, or because every key above is
// smaller than every key below. In both cases nothing needs to be moved: a step
// below can only return after the cut, so real time puts none of them before
// one above, and the greatest key above is all that those below need to know.
// A counter needs not even that: above the cut there were as many increments.
func stepChunks(steps []step, size int, exact bool, last int64) iter.Seq[chunk] {
	firstCall, firstKey := suffixMinima(steps)
	return func(yield func(chunk) bool) {
		from, init := 0, int64(0)
		lastRet, lastKey := int64(0), int64(math.MinInt64)
		if !exact {
			init = math.MinInt64
		}
		cut := func(to int) chunk {
			c := chunk{model: orderModel(init, exact), ops: orderOperations(steps[from:to]), hereditary: !exact}
			for i := from; i < to; i++ {
				if steps[i].ret >= last {
					c.vague++
				}
			}
			return c
		}
		for i := range steps {
			if i-from >= size && i > from && (lastRet < firstCall[i] || lastKey < firstKey[i]) {
				if !yield(cut(i)) {
					return
				}
				from, init = i, lastKey
				if exact {
					init = int64(i)
				}
			}
			lastRet, lastKey = max(lastRet, steps[i].ret), max(lastKey, steps[i].key)
		}
		if from < len(steps) {
			yield(cut(len(steps)))
		}
	}
}

// suffixMinima gives for each index the least call and the least key from there on.
func suffixMinima(steps []step) (call, key []int64) {
	call, key = make([]int64, len(steps)), make([]int64, len(steps))
	c, k := int64(math.MaxInt64), int64(math.MaxInt64)
	for i := len(steps) - 1; i >= 0; i-- {
		c, k = min(c, steps[i].call), min(k, steps[i].key)
		call[i], key[i] = c, k
	}
	return call, key
}
