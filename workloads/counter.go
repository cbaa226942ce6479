package workloads

import (
	"context"
	"errors"
	"time"

	"lockchaos/history"
	"lockchaos/internal/concurrent"
)

// Grant is a held lock, as a workload needs it.
type Grant struct {
	Op    int64 // of the acquire
	Owner string
	Token int64
}

// Steps are what a workload does as one host. Each step is recorded, and may
// be held up by the schedule of faults. An error is ErrStopped, or wraps it.
type Steps interface {
	// Acquire tries once; g is nil unless it was granted.
	Acquire(ctx context.Context) (g *Grant, err error)
	Read(ctx context.Context, g *Grant) (Answer, error)
	// Check asks the host whether it still believes that it holds the lock.
	Check(ctx context.Context, g *Grant) (held bool, err error)
	// Write stores value, having read version.
	Write(ctx context.Context, g *Grant, value, version int64) (Answer, error)
	Release(ctx context.Context, g *Grant) error
}

// Counter is the read-modify-write of a counter under the lock.
type Counter struct {
	Work   time.Duration // before each write
	Rest   time.Duration // between two rounds
	Retry  time.Duration // between two tries to acquire
	Writes int           // in a round, as long as they are accepted; at least one
	// More is asked before each round, with the number of rounds done.
	More func(done int) bool
}

// Run makes increments as one host until there are no more to make.
func (c Counter) Run(ctx context.Context, s Steps) error {
	for done := 0; c.More(done); {
		g, err := s.Acquire(ctx)
		if err != nil {
			return stopped(err)
		}
		if g == nil {
			if err := concurrent.Sleep(ctx, c.Retry); err != nil {
				return nil
			}
			continue
		}
		if err := c.increment(ctx, s, g); err != nil {
			return stopped(err)
		}
		done++
		if err := concurrent.Sleep(ctx, c.Rest); err != nil {
			return nil
		}
	}
	return nil
}

// increment is one critical section. A host that finds its lease gone gives up
// the round, and still releases, as deferred releases do.
func (c Counter) increment(ctx context.Context, s Steps, g *Grant) error {
	held, err := s.Check(ctx, g) // a stopped host cannot read
	if err != nil {
		return err
	}
	if !held {
		return s.Release(ctx, g)
	}
	seen, err := s.Read(ctx, g)
	if err != nil {
		return err
	}
	if seen.Result != history.OK {
		return s.Release(ctx, g)
	}
	for range max(c.Writes, 1) {
		if seen, err = c.write(ctx, s, g, seen); err != nil {
			return err
		}
		if seen.Result != history.OK {
			break
		}
	}
	return s.Release(ctx, g)
}

// write stores one more than was seen, and returns what is there by then. The
// result is OK only where it was written.
func (c Counter) write(ctx context.Context, s Steps, g *Grant, seen Answer) (Answer, error) {
	if err := concurrent.Sleep(ctx, c.Work); err != nil {
		return Answer{}, errors.Join(ErrStopped, err)
	}
	held, err := s.Check(ctx, g) // nor write
	if err != nil || !held {
		return Answer{}, err
	}
	return s.Write(ctx, g, seen.Value+1, seen.Version)
}

func stopped(err error) error {
	if errors.Is(err, ErrStopped) {
		return nil
	}
	return err
}

// Kind describes a workload.
type Kind struct {
	Name  string
	About string
}

// All are all workloads.
func All() []Kind {
	return []Kind{
		{"counter", "each host reads a counter, works, and writes it back plus one, under the lock; several times where writes says so"},
	}
}
