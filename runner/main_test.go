package runner

import (
	"context"
	"os"
	"testing"

	"lockchaos/host"
)

// TestMain lets the test binary be the built-in host, and a plain client.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "host" {
		if err := host.Main(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 4 && os.Args[1] == "plain" {
		if err := plainProcess(os.Args[2], os.Args[3]); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
