package sim

import (
	"runtime"
	"runtime/metrics"
	"testing"
)

// New goroutines begin with a stack that a command needs, at once and after
// every collection.
func TestTune(t *testing.T) {
	Tune()
	size := []metrics.Sample{{Name: "/gc/stack/starting-size:bytes"}}
	for range 3 {
		metrics.Read(size)
		if got := size[0].Value.Uint64(); got < sleepStack || got > 4*sleepStack {
			t.Errorf("new goroutines begin with %d bytes, expected %d and a little more", got, sleepStack)
		}
		runtime.GC()
	}
}
