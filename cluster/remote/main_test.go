package remote

import (
	"context"
	"os"
	"testing"

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
