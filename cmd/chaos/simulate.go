package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"lockchaos/cluster/sim"
	"lockchaos/report"
)

// inSimulation is set in the environment of the process that simulates.
const inSimulation = "LOCKCHAOS_SIMULATION"

// crashFD is where that process writes what the Go runtime says of its crash.
const crashFD = 3

// simulate calls f in a process that can have bubbles of virtual time, and ends
// the program with the exit code that f returns. It does not return.
//
// That process is a child: a panic in any goroutine of a bubble, or a bubble in
// which nobody can go on, ends it at once with exit code 2, which is that of a run
// without a conclusion. Its parent turns this into an error of the harness.
func simulate(ctx context.Context, f func(bubble func(func())) (exitCode int)) {
	simulateUntil(ctx, nothingToSave, f)
}

// nothingToSave is all that most have to do late.
func nothingToSave(err error) error { return err }

// simulateUntil is simulate with something to save where a signal comes, and f does
// not end soon after it: late is called with the signal, and gives what is said of it.
func simulateUntil(ctx context.Context, late func(error) error, f func(bubble func(func())) (exitCode int)) {
	if os.Getenv(inSimulation) == "" {
		os.Exit(finish(supervise(ctx)))
	}
	watchCrash()
	endWith(ctx, late)
	sim.Main(f)
}

// supervise does this very call in a child, and says whether it crashed.
func supervise(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return harness(err)
	}
	crashed, w, err := os.Pipe()
	if err != nil {
		return harness(err)
	}
	defer crashed.Close()
	runtime.LockOSThread() // a child gets its parent's death signal from the thread that started it
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Env = append(os.Environ(), inSimulation+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{w} // crashFD
	// A group of its own: a terminal's Ctrl-C comes to it once, from us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return harness(errors.Join(err, w.Close()))
	}
	w.Close() // the child has its own
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })()
	last, rerr := io.ReadAll(crashed)
	err = cmd.Wait()
	var ended *exec.ExitError
	switch {
	case len(last) > 0:
		return harness(fmt.Errorf("the simulation broke down: %s; this is a bug of the harness, please keep its command and what stands above", firstLine(last)))
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return &exit{code: ended.ExitCode()} // it has said why
	case err != nil || rerr != nil:
		return harness(fmt.Errorf("the simulation ended: %w", errors.Join(err, rerr)))
	}
	return nil
}

// firstLine is what a crash report begins with.
func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return report.Clean(strings.TrimSpace(string(line)))
}

// watchCrash makes the Go runtime write to the parent, too, what it says of a crash.
func watchCrash() {
	f := os.NewFile(crashFD, "crash")
	defer f.Close() // the runtime keeps its own
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		os.Exit(finish(harness(fmt.Errorf("watch for a crash: %w", err))))
	}
}
