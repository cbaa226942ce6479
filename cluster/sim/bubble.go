package sim

import (
	"flag"
	"os"
	"testing"
	"testing/synctest"
)

// Main makes an ordinary program a place for bubbles of virtual time. It calls
// f with a function that runs another in a bubble of its own, and ends the
// program with the exit code that f returns. It does not return.
//
// A bubble needs a *testing.T, and only a test function is handed one:
// testing.RunTests by itself would silently run nothing.
func Main(f func(bubble func(func())) (exitCode int)) {
	testing.Init()
	// The command line is not that of a test: without this, testing would read it.
	if err := flag.CommandLine.Parse(nil); err != nil {
		panic(err) // there was nothing to parse
	}
	Tune()
	all := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "simulation", F: func(t *testing.T) {
		os.Exit(f(func(g func()) { Bubble(t, g) }))
	}}}, nil, nil)
}

// Bubble runs g in a bubble of virtual time, which ends when everything that g
// has started has ended.
func Bubble(t *testing.T, g func()) {
	synctest.Test(t, func(*testing.T) { g() })
}
