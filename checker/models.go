package checker

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// The models never copy what they judge: inputs are pointers to spans and
// steps, and so are the states.

// locking and unlocking are what a mutex operation does, as its output.
const (
	locking   = true
	unlocking = false
)

// mutexModel is a mutex that knows its owner. Its state is the span that holds
// it, or nil. The two segments of a lease with a gap are two owners.
func mutexModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return (*span)(nil) },
		Step: func(state, input, output any) (bool, any) {
			holder, s := state.(*span), input.(*span)
			if output == locking {
				return holder == nil, s
			}
			return holder == s, (*span)(nil)
		},
	}
}

// mutexOperations makes two operations of each span: to lock, somewhere between
// call and return of what led to it, and to unlock, exactly where it ends. No
// call is before floor.
func mutexOperations(spans []span, floor int64) []porcupine.Operation {
	ops := make([]porcupine.Operation, 0, 2*len(spans))
	for i := range spans {
		s := &spans[i]
		ops = append(ops,
			porcupine.Operation{Input: s, Output: locking, Call: max(s.call, floor), Return: s.start},
			porcupine.Operation{Input: s, Output: unlocking, Call: s.end, Return: s.end})
	}
	return ops
}

// orderModel is a cell that only goes up: by exactly one if exact (a counter),
// else by any amount (fencing tokens). Its state is the last step taken.
func orderModel(init int64, exact bool) porcupine.Model {
	first := &step{key: init}
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			last, next := state.(*step), input.(*step)
			return next.key > last.key && (!exact || next.key == last.key+1), next
		},
	}
}

func orderOperations(steps []step) []porcupine.Operation {
	ops := make([]porcupine.Operation, len(steps))
	for i := range steps {
		ops[i] = porcupine.Operation{Input: &steps[i], Call: steps[i].call, Return: steps[i].ret}
	}
	return ops
}

// describe makes the operations and states of a model readable.
func describe(m porcupine.Model, r *record) porcupine.Model {
	m.DescribeOperation = func(input, output any) string {
		switch in := input.(type) {
		case *span:
			g := r.grants[in.g]
			if output == locking {
				return fmt.Sprintf("%s locks (grant %d)", g.host, g.id())
			}
			return fmt.Sprintf("%s free (grant %d)", g.host, g.id())
		case *step:
			return fmt.Sprintf("%s %s -> %d", in.op.call.Host, in.op.call.Do, in.key)
		}
		return ""
	}
	m.DescribeState = func(state any) string {
		switch s := state.(type) {
		case *span:
			if s == nil {
				return "free"
			}
			return fmt.Sprintf("held by %s (grant %d)", r.grants[s.g].host, r.grants[s.g].id())
		case *step:
			return fmt.Sprint(s.key)
		}
		return ""
	}
	return m
}
