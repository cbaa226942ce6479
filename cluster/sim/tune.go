package sim

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Tune sets the Go runtime of this process up for simulations. It changes how
// fast they are, and nothing else. Main calls it.
func Tune() { tune() }

var tune = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // a run lives on a few megabytes of garbage: a sixth faster
	}
	sleepDeep()
})

// A library starts a goroutine for each command, and what it calls, a Lua
// machine at the end, needs more than the 2 KB of stack that it begins with. To
// grow that twice was a seventh of a simulation's time. At each garbage
// collection the runtime takes for the first size of stacks the average of what
// all goroutines use, so sleepers that use much make it what is needed.
const (
	sleepers   = 128
	sleepStack = 6 << 10 // bytes; the size is the next power of two
)

func sleepDeep() {
	var asleep sync.WaitGroup
	asleep.Add(sleepers)
	never := make(chan struct{})
	for i := range sleepers {
		go sleepOn(i, &asleep, never)
	}
	asleep.Wait()
	runtime.GC()
}

//go:noinline
func sleepOn(i int, asleep *sync.WaitGroup, never chan struct{}) byte {
	var room [sleepStack]byte
	asleep.Done()
	<-never
	return room[i]
}
