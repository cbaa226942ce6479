package main

import (
	"context"
	"errors"
	"slices"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/cluster/remote"
	"lockchaos/cluster/sim"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// onLocal makes a batch one on real servers of this machine.
func (f runFlags) onLocal(ctx context.Context, machine *local.Machine, batch *runner.Batch, args []string) (without string, end func() error, err error) {
	version, err := machine.Version(ctx)
	if err != nil {
		return "", nil, harness(err)
	}
	batch.World, batch.Machine = localWorld{machine}, results.ThisMachine(version)
	batch.Machine.Clock = machine.Clocks()
	if without, err = withPostgres(ctx, machine, batch, args); err != nil {
		return "", nil, harness(err)
	}
	return without, func() error { return nil }, nil
}

// onRemote makes a batch one on nodes behind agents, and on plain servers.
func (f runFlags) onRemote(ctx context.Context, machine *local.Machine, batch *runner.Batch, args []string) (without string, end func() error, err error) {
	fleet, err := f.remote.open(ctx, machine)
	if err != nil {
		return "", nil, err
	}
	batch.World, batch.WorldFlags = remoteWorld{fleet}, f.remote.words()
	batch.Machine = results.ThisMachine(fleet.Told(func(h remote.Health) string { return h.Redis }))
	batch.Machine.Clock = fleet.Told(func(h remote.Health) string { return h.Clocks })
	if slices.ContainsFunc(batch.Scenarios, func(s *scenario.Scenario) bool { return s.Resource == scenario.ResourcePostgres }) {
		batch.Machine.Postgres = fleet.Told(func(h remote.Health) string { return h.Postgres })
		if err := fleet.PreparePostgres(ctx); err != nil {
			return "", nil, harness(errors.Join(err, fleet.Close()))
		}
	}
	if without, err = withFleet(fleet, batch, args); err != nil {
		return "", nil, usage(errors.Join(err, fleet.Close()))
	}
	for _, w := range fleet.Warnings() {
		without += "\nNote: " + w + "\n"
	}
	return without, fleet.Close, nil
}

// simWorld is the simulation.
type simWorld struct{}

func (simWorld) Up(_ context.Context, spec cluster.Spec) (runner.Cluster, error) {
	return sim.Up(spec, sim.DefaultLatency), nil
}

// localWorld gives the machine's clusters the runner's type.
type localWorld struct{ *local.Machine }

func (w localWorld) Up(ctx context.Context, spec cluster.Spec) (runner.Cluster, error) {
	c, err := w.Machine.Up(ctx, spec)
	if err != nil {
		return nil, err // not a nil *Cluster in an interface
	}
	return c, nil
}
