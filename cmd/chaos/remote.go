package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/cluster/remote"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// remoteFlags say where the nodes of the world remote are.
type remoteFlags struct {
	cluster   string
	nodes     []string
	tokenFile string
}

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", "with --on remote: the file that names the nodes")
	flags.StringArrayVar(&f.nodes, "node", nil, "with --on remote: a node, as lock1=lock@10.0.0.5:7400; in place of --cluster, once for each")
	addTokenFile(flags, &f.tokenFile)
}

func addTokenFile(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "token-file", "", "file with the token of the agents (default: the environment variable "+remote.TokenVariable+")")
}

// given tells whether one of them was given.
func (f remoteFlags) given() bool { return f.cluster != "" || len(f.nodes) > 0 || f.tokenFile != "" }

// check refuses what does not belong together.
func (f remoteFlags) check(world string) error {
	switch {
	case world != scenario.Remote && f.given():
		return fmt.Errorf("--cluster, --node and --token-file are for --on %s", scenario.Remote)
	case world != scenario.Remote:
		return nil
	case f.cluster == "" && len(f.nodes) == 0:
		return errors.New("--on remote: where are the nodes? Name a file with --cluster, or each node with --node name=role@host:port")
	case f.cluster != "" && len(f.nodes) > 0:
		return errors.New("--cluster and --node: expected one of them")
	}
	return nil
}

// words are the flags as they are repeated: without what leads to the token.
func (f remoteFlags) words() string {
	var words []string
	if f.cluster != "" {
		words = append(words, "--cluster "+runner.Quote(f.cluster))
	}
	for _, n := range f.nodes {
		words = append(words, "--node "+runner.Quote(n))
	}
	return strings.Join(words, " ")
}

// open finds the nodes. What is wrong with the flags or the file is a usage error.
func (f remoteFlags) open(ctx context.Context, m *local.Machine) (*remote.Fleet, error) {
	token, err := remote.ReadToken(f.tokenFile)
	if err != nil {
		return nil, usage(err)
	}
	var members *remote.Members
	if f.cluster != "" {
		members, err = remote.ReadMembers(f.cluster)
	} else {
		members, err = remote.ParseMembers(f.nodes)
	}
	if err != nil {
		return nil, usage(err)
	}
	fleet, err := remote.Open(ctx, m, members, token)
	if err != nil {
		return nil, harness(err)
	}
	return fleet, nil
}

// remoteWorld gives each run nodes of a fleet.
type remoteWorld struct{ *remote.Fleet }

var _ runner.Reserver = remoteWorld{}

// Reserve waits for the nodes of a run.
func (w remoteWorld) Reserve(ctx context.Context, spec cluster.Spec) (runner.World, func(), error) {
	p, err := w.Fleet.Reserve(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	return placedWorld{p}, p.Free, nil
}

// Up is never asked of a world whose nodes are reserved.
func (w remoteWorld) Up(context.Context, cluster.Spec) (runner.Cluster, error) {
	return nil, errors.New("nodes that are far are reserved first")
}

// placedWorld is the nodes of one run.
type placedWorld struct{ *remote.Placement }

func (w placedWorld) Up(ctx context.Context, spec cluster.Spec) (runner.Cluster, error) {
	c, err := w.Placement.Up(ctx, spec)
	if err != nil {
		return nil, err // not a nil *Cluster in an interface
	}
	return c, nil
}

// withFleet leaves out what the fleet has too few nodes for. What was named is an error.
func withFleet(f *remote.Fleet, b *runner.Batch, args []string) (without string, err error) {
	return leaveOut(b, args, "as there are too few nodes for them", func(s *scenario.Scenario) error {
		return f.Lacks(runner.Run{Scenario: s, Guard: s.Guards[0]}.Spec())
	})
}
