package local

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"lockchaos/cluster"
)

// TestMain lets the test binary also play other parts: see parts_test.go.
func TestMain(m *testing.M) {
	if part, ok := parts[os.Getenv(partVariable)]; ok {
		part()
		os.Exit(0)
	}
	code := m.Run()
	if postgresOpened != nil {
		if err := postgresOpened.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// deadline is far beyond what anything here takes.
func deadline(tb testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	tb.Cleanup(cancel)
	return ctx
}

func open(tb testing.TB) *Machine {
	tb.Helper()
	m, err := openIn(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error("close:", err)
		}
	})
	return m
}

func up(tb testing.TB, spec cluster.Spec) *Cluster {
	tb.Helper()
	m := open(tb)
	m.Command = []string{os.Args[0]}
	c, err := m.Up(deadline(tb), spec)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// until polls for a condition.
func until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	err := poll(deadline(tb), func() (bool, error) { return ok(), nil })
	if err != nil {
		tb.Fatalf("waiting until %s: %v", what, err)
	}
}
