package faults

import (
	"context"
	"fmt"
	"slices"
	"time"

	"lockchaos/cluster"
)

// The ways to a failover.
const (
	howKill    = "kill"    // the master is killed
	howCommand = "command" // an operator orders it: SENTINEL FAILOVER
	howIsolate = "isolate" // the master is cut off, alone or with some hosts
)

var failover = Kind{
	Name:  "failover",
	About: "makes a replica the master (how: kill, command, isolate); at its end the old master is back as a replica",
	Hosts: true, FewHosts: true, Heals: true, Failovers: true, Takes: []string{"how"},
	check: checkFailover,
	Acts:  "its role",
	make:  func(c Controls, s Spec, id string) Fault { return &failedOver{c: c, spec: s, id: id} },
}

func checkFailover(s Spec) error {
	ways := []string{howKill, howCommand, howIsolate}
	switch {
	case !slices.Contains(ways, s.How):
		return &KeyError{"how", fmt.Sprintf("%q, expected one of kill, command, isolate", s.How)}
	case len(s.Hosts) > 0 && s.How != howIsolate:
		return &KeyError{"hosts", fmt.Sprintf("hosts are those that stay with an isolated master, how: %s has none", s.How)}
	}
	return nil
}

type failedOver struct {
	c    Controls
	spec Spec
	id   string

	old  string
	cut  *links // that isolate cuts
	back string // the proof that the old master is back among the others
}

func (f *failedOver) Start(ctx context.Context) (string, error) {
	g, err := groupOf(f.c)
	if err != nil {
		return "", err
	}
	old, err := g.Master(ctx)
	if err != nil {
		return "", err
	}
	if err := f.spec.actor.take(f.holds(), nil, old); err != nil {
		return "", err
	}
	if f.spec.How != howKill {
		defer f.spec.actor.drop(process)
	}
	f.old = old
	how, err := f.cause(ctx)
	if err != nil {
		return "", err
	}
	proof, err := f.await(ctx, g)
	if err != nil || proof == "" {
		return "", err
	}
	return how + "; " + proof, nil
}

// holds are what the fault takes of the old master. Whatever the way, nobody else may
// stop it until there is a new one: that would be a failover, too.
func (f *failedOver) holds() []aspect {
	if f.spec.How == howKill {
		return append([]aspect{mastership}, anew...)
	}
	return []aspect{mastership, process}
}

// orderLimit is after which time an operator gives the order again: a Sentinel
// drops it where no replica seems good at that moment.
const orderLimit = 5 * time.Second

func (f *failedOver) await(ctx context.Context, g group) (string, error) {
	for f.spec.How == howCommand {
		once, cancel := context.WithTimeout(ctx, orderLimit)
		proof, err := g.AwaitFailover(once, f.old)
		cancel()
		if err == nil || ctx.Err() != nil {
			return proof, err
		}
		if _, err := f.cause(ctx); err != nil {
			return "", err
		}
	}
	return g.AwaitFailover(ctx, f.old)
}

// Targets is the master that was there at the start. The hosts of the Spec stay
// with it, and are not what is struck.
func (f *failedOver) Targets() []string {
	if f.old == "" {
		return nil
	}
	return []string{f.old}
}

func (f *failedOver) cause(ctx context.Context) (string, error) {
	switch f.spec.How {
	case howKill:
		proof, err := f.c.CrashNode(ctx, f.old)
		if err == nil && proof == "" {
			err = errNothing
		}
		return fmt.Sprintf("%s: %s", f.old, proof), err
	case howCommand:
		sentinel := f.sentinel()
		err := await(ctx, func() error { // it refuses while the failover before is not over
			_, err := f.c.Command(ctx, sentinel, "SENTINEL", "FAILOVER", cluster.Service)
			return err
		})
		return sentinel + " did SENTINEL FAILOVER", err
	}
	f.cut = newWays(f.c, f.spec, f.id, f.sides())
	if err := f.cut.apply(ctx, cluster.Rule{Drop: true, Direction: cluster.Both}); err != nil {
		return "", err
	}
	proof, err := f.cut.silent(ctx)
	f.cut.mark() // what was under way at the cut has arrived by now
	return fmt.Sprintf("%s is cut off: %s", f.old, proof), err
}

// sentinel is the first of the Sentinels, which do not keep locks.
func (f *failedOver) sentinel() string {
	for _, n := range f.spec.members.nodes {
		if n[0] == 's' {
			return n
		}
	}
	return ""
}

// sides are the links between the old master with its hosts, and the rest.
func (f *failedOver) sides() [][2]string {
	with := append([]string{f.old}, f.spec.Hosts...)
	var ways [][2]string
	for _, from := range append(slices.Clone(f.spec.members.hosts), f.spec.members.nodes...) {
		for _, to := range f.spec.members.nodes {
			if slices.Contains(with, from) != slices.Contains(with, to) {
				ways = append(ways, [2]string{from, to})
			}
		}
	}
	return ways
}

func (f *failedOver) Heal(ctx context.Context) (string, error) {
	g, err := groupOf(f.c)
	if err != nil {
		return "", err
	}
	if f.old == "" {
		return "there was no master", nil
	}
	if f.back == "" {
		if f.back, err = f.undo(ctx); err != nil {
			return "", err
		}
	}
	proof, err := g.followed(ctx, f.old)
	proof, err = f.spec.actor.excuse(f.old, proof, err)
	return fmt.Sprintf("%s: %s; %s", f.old, f.back, proof), err
}

// undo brings the old master back to the others.
func (f *failedOver) undo(ctx context.Context) (string, error) {
	switch {
	case f.spec.How == howKill:
		up, err := f.c.StartNode(ctx, f.old)
		if err == nil && up == "" {
			err = errNothing
		}
		return up, err
	case f.cut != nil:
		n := f.cut.since()
		if err := f.cut.lift(ctx); err != nil {
			return "", err
		}
		if crossed := n.RequestBytes + n.ReplyBytes; crossed > 0 {
			return "", fmt.Errorf("%d bytes crossed the cut links", crossed)
		}
		return fmt.Sprintf("%d bytes were lost on cut links, none crossed", n.DroppedBytes), nil
	}
	return "nothing to undo", nil
}
