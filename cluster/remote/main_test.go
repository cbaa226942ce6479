package remote

import (
	"context"
	"os"
	"testing"
	"time"

	"lockchaos/host"
)

// TestMain lets the test binary be the built-in host.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "host" {
		if err := host.Main(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}
