package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"lockchaos/cluster/local"
	"lockchaos/report"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
	"lockchaos/scenarios"
	"lockchaos/suites"
	"lockchaos/workloads"
)

// mostJobs is how many runs there may be at a time: each has processes of its own.
const mostJobs = 1000

type runFlags struct {
	on      string
	trials  int
	jobs    int
	guards  []string
	seed    int64
	seeds   string
	results string
	remote  remoteFlags

	shard string

	trialsGiven bool
	jobsGiven   bool
	part        *results.Shard // that shard reads as; nil for all
	save        bool           // what came out of a sweep
}

func runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [suite | scenario | pattern | file.yaml] ...",
		Short: "Run a suite or scenarios; without an argument, the default suite on real servers",
		Example: "  chaos run\n  chaos run quick\n  chaos run single/pause-after-acquire --trials 5\n" +
			"  chaos run 'redlock/*' --guard none\n  chaos run my-scenario.yaml --results /tmp/runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.idle(cmd.Flags().Changed); err != nil {
				return usage(err)
			}
			if err := f.readShard(cmd.Flags().Changed); err != nil {
				return usage(err)
			}
			f.trialsGiven, f.jobsGiven = cmd.Flags().Changed("trials"), cmd.Flags().Changed("jobs")
			return f.run(cmd.Context(), args, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.on, "on", scenario.Local,
		"the world: local (real servers on this machine), sim (virtual time, needs nothing installed) or remote (real servers behind agents: chaos node)")
	f.remote.add(cmd.Flags())
	cmd.Flags().IntVar(&f.trials, "trials", 1, fmt.Sprintf("how often each run is done, at most %d (default 1, or as the suite says)", scenario.MostTrials))
	cmd.Flags().IntVar(&f.jobs, "jobs", 0, "runs at a time (default: two a processor; one a processor for --seeds)")
	cmd.Flags().StringSliceVar(&f.guards, "guard", nil, "only these guards (default: all of each scenario)")
	cmd.Flags().Int64Var(&f.seed, "seed", runner.DefaultSeed, "seed of the first trial")
	cmd.Flags().StringVar(&f.seeds, "seeds", "", "a range of seeds, as 1-2000: prints what they find by kind, and saves that with --results or --shard (only --on sim)")
	cmd.Flags().StringVar(&f.shard, "shard", "", "only a part of it, as 0/4 for the first of four; chaos merge joins them")
	cmd.Flags().StringVar(&f.results, "results", results.DefaultRoot, "directory that runs are saved under")
	return cmd
}

func (f runFlags) run(ctx context.Context, args []string, out io.Writer) error {
	if err := f.check(); err != nil {
		return usage(err)
	}
	what, err := find(args, f.on)
	if err != nil {
		return usage(err)
	}
	if err := f.enough(what.trials); err != nil {
		return usage(err)
	}
	list := what.scenarios
	if c := what.canary; c != nil && !c.RunsOn(f.on) {
		return usage(fmt.Errorf("suite %s: its canary %s cannot run with --on %s", what.suite, c.Name, f.on))
	}
	for _, s := range list { // what was named is not left out in silence; a pattern takes what fits
		if named := slices.Contains(args, s.Name) || slices.Contains(args, s.File); named && !s.RunsOn(f.on) {
			return usage(fmt.Errorf("%s cannot run with --on %s, it is only for the world %s%s", s.Name, f.on, other(f.on), twin(s)))
		}
	}
	if f.jobs == 0 {
		f.jobs = runtime.NumCPU()
		if f.seeds == "" {
			f.jobs *= 2
		}
	}
	if f.seeds != "" {
		seeds, err := seedRange(f.seeds)
		switch {
		case err != nil:
			return usage(err)
		case f.on != scenario.Simulation:
			return usage(errors.New("--seeds: only in the simulation, with --on sim"))
		case f.part != nil && os.Getenv(inSimulation) != "":
			f.sweepPart(list, seeds, out)
		}
		return f.sweep(ctx, args, what, seeds, out)
	}
	batch := runner.Batch{
		WorldName: f.on, Scenarios: list, Guards: f.guards, Trials: f.trials, Jobs: f.jobs, Seed: f.seed, Root: f.results,
		Suite: what.suite, Canary: what.canary, Shard: f.part,
	}
	if !f.trialsGiven {
		batch.TrialsOf = what.trials
	}
	if f.on == scenario.Simulation {
		simulate(ctx, func(bubble func(func())) int {
			batch.World, batch.Around, batch.Jobs = simWorld{}, bubble, 1
			batch.Machine = results.ThisMachine("simulated")
			batch.Machine.Clock = "simulated"
			return finish(carry(ctx, batch, out))
		})
	}
	machine, err := local.Open(ctx)
	if err != nil {
		return harness(err)
	}
	defer machine.Close()
	prepare := f.onLocal
	if f.on == scenario.Remote {
		prepare = f.onRemote
	}
	without, end, err := prepare(ctx, machine, &batch, args)
	switch {
	case err != nil && ctx.Err() != nil: // what broke in it says nothing
		return batch.Cut(ctx, 0)
	case err != nil:
		return err
	}
	err = carry(ctx, batch, out)
	fmt.Fprint(out, without)
	return ended(err, end())
}

// ended adds to what came of a batch what has not ended in order.
func ended(err, left error) error {
	if left != nil && err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", left)
		return err
	}
	if left != nil {
		return harness(left)
	}
	return err
}

// carry carries a batch through and prints what came out.
func carry(ctx context.Context, batch runner.Batch, out io.Writer) error {
	width, live := terminal(out)
	batch.Progress = report.NewProgress(out, live, width)
	if batch.Shard != nil {
		fmt.Fprintf(out, "shard %s\n", batch.Shard)
	}
	dir, done, err := batch.Run(ctx)
	if errors.Is(err, runner.ErrNothing) {
		return usage(err)
	}
	if err == nil && len(done) == 0 {
		fmt.Fprintf(out, "no run is in this shard\nresults: %s\n", dir)
	}
	if len(done) > 0 {
		fmt.Fprintln(out)
		if werr := report.Terminal(out, done, dir, width); werr != nil {
			err = errors.Join(err, werr)
		}
		err = errors.Join(err, renderAll(out, dir, done))
		if left := batch.LeftOut(); len(left) > 0 {
			fmt.Fprintf(out, "\nLeft out, as they are not for the world %s: %s\n", batch.WorldName, strings.Join(left, ", "))
		}
	}
	if err != nil {
		return harness(err)
	}
	return outcome(done)
}

// outcome turns assessments into the exit code.
func outcome(as []*results.Assessment) error {
	code := results.ExitExpected
	for _, a := range as {
		code = results.Worse(code, a.ExitCode())
	}
	if code == results.ExitExpected {
		return nil
	}
	return &exit{code: code}
}

func (f runFlags) check() error {
	if !slices.Contains([]string{scenario.Local, scenario.Simulation, scenario.Remote}, f.on) {
		return fmt.Errorf("--on %q: expected local, sim or remote", f.on)
	}
	if err := f.remote.check(f.on); err != nil {
		return err
	}
	if f.trials < 1 || f.trials > scenario.MostTrials {
		return fmt.Errorf("--trials %d: expected 1 to %d", f.trials, scenario.MostTrials)
	}
	if f.jobsGiven && (f.jobs < 1 || f.jobs > mostJobs) {
		return fmt.Errorf("--jobs %d: expected 1 to %d", f.jobs, mostJobs)
	}
	var names []string
	for _, g := range workloads.Guards() {
		names = append(names, g.Name)
	}
	for i, g := range f.guards {
		if slices.Index(f.guards, g) != i {
			return fmt.Errorf("--guard: %s stands twice", g)
		}
		if !slices.Contains(names, g) {
			return fmt.Errorf("--guard %q: expected some of %s", g, strings.Join(names, ", "))
		}
	}
	return nil
}

// enough refuses a first seed with too few above it for the trials, of which a suite
// may have its own.
func (f runFlags) enough(trialsOf map[string]int) error {
	most := f.trials
	if !f.trialsGiven {
		for _, n := range trialsOf {
			most = max(most, n)
		}
	}
	if f.seed > math.MaxInt64-int64(most-1) {
		return fmt.Errorf("--seed %d: there are not seeds enough above it for %d trials", f.seed, most)
	}
	return nil
}

// idle refuses flags that would do nothing.
func (f runFlags) idle(given func(flag string) bool) error {
	if given("seeds") {
		for _, flag := range []string{"trials", "seed"} {
			if given(flag) {
				return fmt.Errorf("--%s goes not with --seeds, which does each seed once", flag)
			}
		}
	} else if given("jobs") && f.on == scenario.Simulation {
		return errors.New("--jobs: the simulation does one run at a time, but for --seeds")
	}
	return nil
}

// readShard reads --shard, and whether what comes out of a sweep is to be saved.
func (f *runFlags) readShard(given func(flag string) bool) error {
	f.save = given("results") || given("shard")
	if !given("shard") {
		return nil
	}
	s, err := results.ParseShard(f.shard)
	if err != nil {
		return fmt.Errorf("--shard %w", err)
	}
	if s.Of > results.MostShards && os.Getenv(inSimulation) == "" {
		return fmt.Errorf("--shard %q: at most %d shards", f.shard, results.MostShards)
	}
	f.part = &s
	return nil
}

func other(world string) string {
	if world == scenario.Simulation {
		return scenario.Local
	}
	return scenario.Simulation
}

// guardsOf lists the guards of a scenario that are asked for, in this world.
func (f runFlags) guardsOf(s *scenario.Scenario) []string {
	return runner.Batch{WorldName: f.on, Guards: f.guards}.GuardsOf(s)
}

// found is what the arguments come to. Suite, trials and canary are those of a
// suite.
type found struct {
	scenarios []*scenario.Scenario
	suite     string
	trials    map[string]int
	canary    *scenario.Scenario
}

// find resolves the arguments; none is the default suite of the world.
func find(args []string, world string) (*found, error) {
	catalogue := scenario.NewCatalogue(scenarios.Files)
	switch {
	case len(args) == 0 && world == scenario.Simulation:
		args = []string{suites.Simulation}
	case len(args) == 0:
		args = []string{suites.Default}
	}
	for _, arg := range args {
		suite, err := scenario.FindSuite(arg, suites.Files)
		switch {
		case err != nil:
			return nil, err
		case suite == nil:
			continue
		case len(args) > 1:
			return nil, fmt.Errorf("%s is a suite, which has its own scenarios: it is run by itself", arg)
		}
		sel, err := suite.Select(catalogue)
		if err != nil {
			return nil, err
		}
		return &found{sel.Scenarios, suite.Name, sel.Trials, sel.Canary}, nil
	}
	list, err := findScenarios(catalogue, args)
	return &found{scenarios: list}, err
}

func findScenarios(catalogue scenario.Catalogue, args []string) ([]*scenario.Scenario, error) {
	var list []*scenario.Scenario
	seen := map[string]string{}
	for _, arg := range args {
		found, err := catalogue.Find(arg)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if file, ok := seen[s.Name]; ok {
				if file == s.File {
					continue
				}
				return nil, fmt.Errorf("two scenarios are called %s: %s and %s", s.Name, file, s.File)
			}
			seen[s.Name] = s.File
			list = append(list, s)
		}
	}
	return list, nil
}

// terminal tells how wide the output is, and whether it is a terminal.
func terminal(out io.Writer) (width int, live bool) {
	const unknown = 120
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return unknown, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width < 40 {
		return unknown, true
	}
	return width, true
}
