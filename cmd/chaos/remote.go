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
	"lockchaos/internal/secret"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// remoteFlags say where the nodes of the world remote are.
type remoteFlags struct {
	cluster   string
	nodes     []string
	tokenFile string
	own       bool // the plain servers
}

func (f *remoteFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.cluster, "cluster", "", "with --on remote: the file that names the nodes")
	flags.StringArrayVar(&f.nodes, "node", nil, "with --on remote: a node, as lock1=lock@10.0.0.5:7400; in place of --cluster, once for each")
	flags.BoolVar(&f.own, ownFlag, false, "with --on remote: yes, runs may use the plain servers of the cluster file; without it, chaos says what that means")
	addTokenFile(flags, &f.tokenFile)
}

const ownFlag = "i-own-these-servers"

func addTokenFile(flags *pflag.FlagSet, file *string) {
	flags.StringVar(file, "token-file", "", "file with the token (default: the environment variable "+secret.Variable+")")
}

// given tells whether one of them was given.
func (f remoteFlags) given() bool {
	return f.cluster != "" || len(f.nodes) > 0 || f.tokenFile != "" || f.own
}

// check refuses what does not belong together.
func (f remoteFlags) check(world string) error {
	switch {
	case world != scenario.Remote && f.given():
		return fmt.Errorf("--cluster, --node, --token-file and --%s are for --on %s", ownFlag, scenario.Remote)
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
	if f.own {
		words = append(words, "--"+ownFlag)
	}
	return strings.Join(words, " ")
}

// open finds the nodes. What is wrong with the flags or the file is a usage error.
func (f remoteFlags) open(ctx context.Context, m *local.Machine) (*remote.Fleet, error) {
	token, err := secret.Read(f.tokenFile)
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
	if err := f.consent(members.Plain()); err != nil {
		return nil, usage(err)
	}
	fleet, err := remote.Open(ctx, m, members, token)
	var unfit *remote.UnfitError
	if errors.As(err, &unfit) {
		return nil, usage(err)
	}
	if err != nil {
		return nil, harness(err)
	}
	return fleet, nil
}

// consent asks for the flag, where there are servers that others may depend on.
func (f remoteFlags) consent(plain []string) error {
	switch {
	case f.own && len(plain) == 0:
		return fmt.Errorf("--%s: there are no plain servers, all nodes have agents", ownFlag)
	case f.own || len(plain) == 0:
		return nil
	}
	return fmt.Errorf(`not started by this program, and perhaps in use by others: %s. Each run would
  - write locks, tokens and counters to them under a prefix of its own, lockchaos:{…}:, and delete all of it at its end;
  - load its scripts, which stay in their script caches: no SCRIPT FLUSH is sent;
  - for a clock-jump, shift the TTLs of these keys;
  - look through all keys for these, by SCAN, a thousand at a time, at its end and for a clock-jump;
  - send them as many commands as its hosts can, over connections that are held, cut and reset on this side.
It would touch no other key, and send no FLUSHALL, FLUSHDB, CONFIG, DEBUG or REPLICAOF.
Say --%s if that is all right`, strings.Join(plain, ", "), ownFlag)
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

// withFleet leaves out what the fleet has too few nodes for, and what cannot be done
// to its plain servers. What was named is an error.
func withFleet(f *remote.Fleet, b *runner.Batch, args []string) (without string, err error) {
	few, err := leaveOut(b, args, "as there are too few nodes for them", func(s *scenario.Scenario) error {
		return f.Lacks(specOf(s))
	})
	if err != nil {
		return "", err
	}
	refused, err := leaveOut(b, args, "as what they do cannot be done to plain servers", func(s *scenario.Scenario) error {
		return f.Refuses(s, specOf(s))
	})
	return few + refused, err
}

func specOf(s *scenario.Scenario) cluster.Spec {
	return runner.Run{Scenario: s, Guard: s.Guards[0]}.Spec()
}
