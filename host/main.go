package host

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// Main is the built-in host as a program, on its standard input and output.
//
// One processor is enough for a client that waits for its nodes, and standard
// input is read through the poller: a blocked read would keep a thread, and
// each request would cost two thread switches.
func Main(ctx context.Context) error {
	runtime.GOMAXPROCS(1)
	in := os.Stdin
	// A terminal is left as it is: the mode would outlive this process.
	if info, err := in.Stat(); err == nil && info.Mode()&os.ModeNamedPipe != 0 {
		if err := syscall.SetNonblock(0, true); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		in = os.NewFile(0, "standard input")
	}
	return Serve(ctx, in, os.Stdout, Dial)
}
