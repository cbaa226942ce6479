package main

import (
	"strings"
	"testing"
	"time"

	"lockchaos/results"
)

// asBroken makes the test binary be a simulation that breaks down in this way.
const asBroken = "LOCKCHAOS_TEST_BREAK_DOWN"

// breakDown does not return.
func breakDown(how string) {
	ctx, stop := interruptible()
	defer stop()
	simulate(ctx, func(bubble func(func())) int {
		bubble(func() {
			switch how {
			case "panic":
				panic("in the bubble")
			case "goroutine":
				go func() { panic("beside it") }()
				time.Sleep(time.Second)
			case "deadlock":
				<-make(chan int)
			case "left over":
				go func() { <-make(chan int) }()
			}
		})
		return results.ExitInconclusive // as from a run that ends well
	})
}

// A simulation that crashes is an error of the harness, however it does so, and
// not the inconclusive run that the exit code of a Go program would make of it.
func TestBreakDown(t *testing.T) {
	t.Parallel()
	for how, says := range map[string]string{
		"panic":     "the simulation broke down: panic: in the bubble",
		"goroutine": "the simulation broke down: panic: beside it",
		"deadlock":  "deadlock",
		"left over": "deadlock",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := command(t, "run")
			c.cmd.Env = append(c.cmd.Env, asBroken+"="+how)
			c.expect(t, results.ExitHarness, says, "chaos: the simulation broke down: ", "a bug of the harness")
			if n := strings.Count(c.errOut.String(), "chaos: "); n != 1 {
				t.Errorf("it says so %d times:\n%s", n, c.errOut.String())
			}
		})
	}
	t.Run("not at all", func(t *testing.T) {
		t.Parallel()
		c := command(t, "run")
		c.cmd.Env = append(c.cmd.Env, asBroken+"=no")
		c.expect(t, results.ExitInconclusive)
		if all := c.out.String() + c.errOut.String(); all != "" {
			t.Errorf("it says %q", all)
		}
	})
}
