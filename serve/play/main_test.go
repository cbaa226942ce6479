package play_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"lockchaos/cluster"
	"lockchaos/cluster/sim"
	"lockchaos/runner"
	"lockchaos/serve/play"
)

// asPlayer makes the test binary be the child of a Worker: one that works, or one
// that fails in the way that it names.
const asPlayer = "LOCKCHAOS_TEST_AS_PLAYER"

func TestMain(m *testing.M) {
	switch how := os.Getenv(asPlayer); how {
	case "":
		os.Exit(m.Run())
	case "hangs":
		s := bufio.NewScanner(os.Stdin)
		for s.Scan() { // and never answers
		}
	case "panics":
		bufio.NewScanner(os.Stdin).Scan()
		panic("in the simulation")
	case "breaks off":
		bufio.NewScanner(os.Stdin).Scan()
		fmt.Print(`{"verdict":`)
	default:
		sim.Main(func(bubble func(func())) int {
			fmt.Fprintln(os.Stderr, play.Loop(os.Stdin, os.Stdout, func() { os.Exit(0) }, bubble, simWorld{}))
			return 1
		})
	}
}

type simWorld struct{}

func (simWorld) Up(_ context.Context, spec cluster.Spec) (runner.Cluster, error) {
	return sim.Up(spec, sim.DefaultLatency), nil
}

func player(how string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asPlayer+"="+how, "GOMAXPROCS=1")
	return cmd
}

const works = "works"
