package sim

import (
	"slices"
	"time"
)

// batch is those who were woken at one instant and want to go on in one slot.
type batch struct {
	opened, first int64 // instants, as nanoseconds since 1970
	numbers       []int64
	at            []int64 // when each goes on, by the order of the numbers
}

// inOrder waits for an instant of the slot, of those who call it at one instant the
// one with the lowest number for the first. So it does not matter which of them
// runs first. The numbers of those who may call it at one instant differ.
func (d *draws) inOrder(number int64) {
	b, wait := d.join(number)
	time.Sleep(wait)
	// By now all have joined: time goes on only when nobody can run.
	time.Sleep(d.rank(b, number))
}

func (d *draws) join(number int64) (*batch, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now().UnixNano()
	if d.open == nil || d.open.opened != now {
		d.open = &batch{opened: now, first: now + int64(d.place(1))}
	}
	d.open.numbers = append(d.open.numbers, number)
	return d.open, time.Duration(d.open.first - now)
}

// rank is how long one of a batch has to wait from its first instant on.
func (d *draws) rank(b *batch, number int64) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b.at == nil {
		slices.Sort(b.numbers)
		b.at = []int64{b.first}
		for i := range b.numbers[1:] {
			b.at = append(b.at, b.first+int64(d.place(time.Duration(i+1)*span)))
		}
	}
	return time.Duration(b.at[slices.Index(b.numbers, number)] - b.first)
}
