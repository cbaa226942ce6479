package cluster

import (
	"context"
	"errors"
	"time"
)

// ErrIdle is wrapped by the error of a control that found nothing to act on.
var ErrIdle = errors.New("there was nothing to do")

// Conditions are the controls of what a node stores and how fast it answers.
type Conditions interface {
	StorageControl
	MemoryControl
	SpeedControl
}

// StorageControl takes the power from nodes. A SIGKILL alone loses nothing that
// has come to the page cache.
type StorageControl interface {
	// SyncNode returns when what the node has written so far is on disk, and
	// what it writes from now on will not be for most of a second. With
	// PersistNone and PersistAlways there is nothing to wait for.
	SyncNode(ctx context.Context, name string) (proof string, err error)
	// CutPower kills a node and takes from its files what cannot have been synced
	// since SyncNode. StartNode starts it again.
	CutPower(ctx context.Context, name string) (proof string, err error)
}

// MemoryControl makes nodes short of memory.
type MemoryControl interface {
	// EvictKeys bounds the memory of a node, of which the least recently used keys
	// give way, and fills it until the keys that it had are gone.
	EvictKeys(ctx context.Context, name string) (proof string, err error)
	// FreeMemory takes the filling out, and the bound off.
	FreeMemory(ctx context.Context, name string) (proof string, err error)
}

// Pings is of how many PINGs the median is taken that shows a node to be slow. Each
// takes up to twice the latency, and whoever waits for the proof stands still: of a
// long one fewer will do, as no busy machine is as slow by chance.
func Pings(latency time.Duration) int {
	const long = 100 * time.Millisecond
	if latency > long {
		return 3
	}
	return 5
}

// SpeedControl makes nodes slow.
type SpeedControl interface {
	// SlowNode makes each answer of a node take about that much longer.
	SlowNode(ctx context.Context, name string, latency time.Duration) (proof string, err error)
	HurryNode(ctx context.Context, name string) (proof string, err error)
}
