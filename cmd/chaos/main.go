// Command chaos puts a distributed lock in front of a counter, breaks the
// world around it, and says with evidence whether the lock kept its promise.
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"lockchaos/cluster/local"
	"lockchaos/results"
)

func main() { os.Exit(run(os.Args[1:])) }

// exit carries an exit code through cobra. A nil error says nothing more.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage marks an error as the user's.
func usage(err error) error { return &exit{results.ExitUsage, err} }

// harness marks an error as ours, or the machine's, unless it comes from how the
// user has set us up.
func harness(err error) error {
	var setting *local.SettingError
	if errors.As(err, &setting) {
		return usage(err)
	}
	return &exit{results.ExitHarness, err}
}

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

func run(args []string) int {
	ctx, stop := interruptible()
	defer stop()
	cmd := root()
	cmd.SetArgs(args)
	return finish(cutShort(ctx, cmd.ExecuteContext(ctx)))
}

// cutShort gives an error of ours its cause where a signal has come before it: what
// was asked of a server just then, say, was killed.
func cutShort(ctx context.Context, err error) error {
	var e *exit
	if errors.Is(err, errInterrupted) {
		return err
	}
	if cause := context.Cause(ctx); errors.Is(cause, errInterrupted) && errors.As(err, &e) && e.code == results.ExitHarness {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

// finish says what went wrong and returns the exit code.
func finish(err error) int {
	if err == nil {
		return results.ExitExpected
	}
	if readerGone(err) {
		return exitPipe
	}
	code := results.ExitUsage // what cobra finds is a wrong call
	var e *exit
	if errors.As(err, &e) {
		code = e.code
	}
	if errors.Is(err, errInterrupted) {
		code = results.ExitInterrupted
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(os.Stderr, "chaos:", text)
	}
	return code
}

// exitPipe is what a shell reports of a program that a closed pipe has ended: 128
// and the number of SIGPIPE.
const exitPipe = 128 + int(syscall.SIGPIPE)

// readerGone tells that nobody reads our output any more, as in chaos run | head.
// Nothing went wrong, and nobody is there to be told.
func readerGone(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p) && p.Path == os.Stdout.Name() && errors.Is(p, syscall.EPIPE)
}

// interruptible ends its context at the first signal, so that everything that
// was started is ended in order. A second signal ends the program at once; its
// children die with it.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	// Who reads our output may go away, as in chaos run | head -1: then writes
	// fail, and the program goes on. Not Ignore, which children would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		signal.Reset(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		cancel(errInterrupted)
	}()
	return ctx, func() { cancel(nil) }
}

// silent drops what go-redis would print: a server that is down is what a run
// is about, and the history tells of it.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

// grace is how long a simulated run may go on after a signal.
const grace = time.Second

// endWith ends the program soon after its context. Within a bubble of virtual
// time no context from outside can be seen, and there is nothing to clean up; late
// saves what there is to save.
func endWith(ctx context.Context, late func(error) error) {
	go func() {
		<-ctx.Done()
		time.Sleep(grace)
		os.Exit(finish(late(context.Cause(ctx))))
	}()
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "chaos",
		Short: "A chaos testbench for distributed locks",
		Long: "chaos puts a distributed lock in front of a shared counter, breaks the world around it\n" +
			"in a way that can be repeated, and says with evidence whether the lock kept its promise,\n" +
			"who broke it, and whether a fencing token at the resource would have stopped the damage.\n\n" +
			"Exit codes: 0 all as expected, 1 unexpected safety result, 2 inconclusive, 3 availability\n" +
			"missed, 64 bad usage or scenario, 70 harness or infrastructure error, 130 interrupted.",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Name() != "host" { // whose standard error is a log of the run
				goredis.SetLogger(silent{})
			}
			return said(cmd.Flags())
		},
	}
	cmd.AddCommand(runCommand(), mergeCommand(), checkCommand(), reportCommand(), compareCommand(), serveCommand(), playCommand(), replayCommand(), shrinkCommand(), listCommand(), doctorCommand(), hostCommand(), nodeCommand())
	return cmd
}
