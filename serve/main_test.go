package serve_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim"
	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
	"lockchaos/scenarios"
	"lockchaos/serve"
	"lockchaos/serve/play"
)

// asPlayer makes the test binary be the child that simulates.
const asPlayer = "LOCKCHAOS_TEST_AS_PLAYER"

func TestMain(m *testing.M) {
	if os.Getenv(asPlayer) == "" {
		os.Exit(m.Run())
	}
	sim.Main(func(bubble func(func())) int {
		fmt.Fprintln(os.Stderr, play.Loop(os.Stdin, os.Stdout, func() { os.Exit(0) }, bubble, simWorld{}))
		return 1
	})
}

type simWorld struct{}

func (simWorld) Up(_ context.Context, spec cluster.Spec) (runner.Cluster, error) {
	return sim.Up(spec, sim.DefaultLatency), nil
}

// simulator is the real one, with the test binary as its child.
func simulator(t testing.TB) serve.Simulator {
	w := play.NewWorker(func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asPlayer+"=1", "GOMAXPROCS=1")
		return cmd
	}, 30*time.Second)
	t.Cleanup(w.Close)
	return w
}

// server serves a directory of results.
func server(t testing.TB, root string) *httptest.Server {
	s := httptest.NewServer(serve.New(serve.Options{Root: root, Simulator: simulator(t)}))
	t.Cleanup(s.Close)
	return s
}

// saved runs the stale holder in the simulation, without a guard and with a
// fence, saves that under root, and returns the name of the batch.
func saved(t *testing.T, root, suite string) string {
	t.Helper()
	s, err := scenario.NewCatalogue(scenarios.Files).Get("single/pause-after-acquire")
	if err != nil {
		t.Fatal(err)
	}
	batch := runner.Batch{
		World: simWorld{}, WorldName: scenario.Simulation, Around: func(f func()) { sim.Bubble(t, f) }, Suite: suite,
		Scenarios: []*scenario.Scenario{s}, Guards: []string{"none", "fence"}, Trials: 1, Jobs: 1, Seed: runner.DefaultSeed,
		Root: root, Machine: results.ThisMachine("simulated"), Progress: report.NewProgress(nowhere{}, false, 100),
	}
	dir, done, err := batch.Run(t.Context())
	if err != nil || len(done) != 3 {
		t.Fatal(err, len(done))
	}
	return filepath.Base(dir)
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
