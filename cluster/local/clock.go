package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// clockFile is what libfaketime reads, in a node's directory.
const clockFile = "clock"

// clock is the clock of a node that runs under libfaketime. It outlives the
// server, as a machine's clock does.
//
// libfaketime reads "OFFSET xRATE" from a file and shows
//
//	start + OFFSET + RATE × (now − start)
//
// where start is when the process began. So the offset of a clock that is to
// go on from what it shows depends on the start, which calibrate finds out.
type clock struct {
	means clockMeans
	file  string

	mu    sync.Mutex // of what follows: it is not held while a server is asked, but by calibrate
	start time.Time  // of the server's process, on the real clock
	base  time.Time  // what it showed …
	from  time.Time  // … at this instant
	rate  float64
	late  time.Duration // by how much at most the last change came after its instant
	sets  int           // how often it was set
}

// setting is what a clock was set to, and may not be any more.
type setting struct {
	rate float64
	sets int
	late time.Duration
}

func (k *clock) setting() setting {
	k.mu.Lock()
	defer k.mu.Unlock()
	return setting{k.rate, k.sets, k.late}
}

func newClock(means clockMeans, file string) *clock {
	now := wall()
	return &clock{means: means, file: file, base: now, from: now, rate: 1}
}

// wall is the time on the machine's own clock alone: what a server sees.
func wall() time.Time { return time.Now().Round(0) }

// at is what the clock shows at an instant.
func (k *clock) at(t time.Time) time.Time {
	return k.base.Add(time.Duration(float64(t.Sub(k.from)) * k.rate))
}

// jump sets the clock forward, or back, and leaves its rate.
func (k *clock) jump(by time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.change(by, k.rate)
}

// set sets the clock forward, or back, and gives it a rate.
func (k *clock) set(by time.Duration, rate float64) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.change(by, rate)
}

// change needs mu. What its file then says
// is right for an instant just ahead, at which the file comes into force: as
// much as it is late, times the change of the rate, the clock leaps.
func (k *clock) change(by time.Duration, rate float64) error {
	const ahead = 500 * time.Microsecond
	at := wall().Add(ahead)
	k.base, k.from, k.rate = k.at(at).Add(by), at, rate
	k.sets++
	if err := k.draft(rate); err != nil {
		return err
	}
	for wall().Before(at) { // a timer could be late by more than that
	}
	err := k.publish()
	k.late = wall().Sub(at)
	return err
}

// offset is that of the formula above.
func (k *clock) offset() time.Duration { return k.at(k.start).Sub(k.start) }

func (k *clock) write(rate float64) error {
	if err := k.draft(rate); err != nil {
		return err
	}
	return k.publish()
}

func (k *clock) draft(rate float64) error {
	text := fmt.Sprintf("%+.9f x%.12g\n", k.offset().Seconds(), rate)
	return os.WriteFile(k.file+".next", []byte(text), 0o600)
}

// publish replaces the file at once: a server that reads it sees the old or the new one.
func (k *clock) publish() error { return os.Rename(k.file+".next", k.file) }

// prepare writes the file for a server that is started now, and returns its environment.
func (k *clock) prepare(env []string) ([]string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.start = wall() // about; a clock of the right rate needs no better
	return k.means.environment(env, k.file), k.write(k.rate)
}

var errNotFaked = errors.New("libfaketime was loaded, and does not set its clock; " +
	clocksVariable + "=" + byShift + " does without it")

// calibrate finds out when the process of the server began: at a rate of 0 the
// clock stands still there. It does so for some tenths of a millisecond, in which
// the server is told to let writes wait.
func (k *clock) calibrate(ctx context.Context, addr string) error {
	t, err := dialTeller(ctx, addr)
	if err != nil {
		return err
	}
	defer t.close()
	k.mu.Lock()
	defer k.mu.Unlock()
	_, _ = t.do("CLIENT", "PAUSE", "1000", "WRITE") // a server before 6.2 does not know it
	offset := k.offset()
	err = k.write(0)
	var first, second reading
	if err == nil {
		first, err = t.read()
	}
	if err == nil {
		second, err = t.read()
	}
	if err == nil && !first.shown.Equal(second.shown) {
		err = errNotFaked
	}
	if err == nil {
		k.start = first.shown.Add(-offset)
	}
	err = errors.Join(err, k.write(k.rate))
	_, _ = t.do("CLIENT", "UNPAUSE")
	return err
}
