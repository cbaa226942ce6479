package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"lockchaos/cluster"
)

var readOnly = Kind{
	Name: "read-only", About: "makes a lock server refuse writes with READONLY, as a master does that was demoted",
	Nodes: true, Data: true, Heals: true,
	Acts: "its role",
	// A replica heeds no bound of its memory, and takes no filling.
	holds: []aspect{writable, memory}, needs: answering, awaits: true,
	make: func(c Controls, s Spec, _ string) Fault { return &demoted{c, s.Nodes} },
}

// A replica keeps its keys until a master sends others. At this address none
// listens, so none ever will.
const deadHost, deadPort = "127.0.0.1", 1

// probeKey is what the proofs write to; the key is never there.
const probeKey = "lockchaos:probe"

type demoted struct {
	c     Controls
	nodes []string
}

func (f *demoted) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		if _, err := f.c.Command(ctx, n, "REPLICAOF", deadHost, deadPort); err != nil {
			return "", err
		}
		_, err := f.c.Command(ctx, n, "DEL", cluster.Key(f.c, probeKey))
		switch {
		case err == nil:
			return "", errors.New("it still takes writes")
		case !strings.Contains(err.Error(), "READONLY"):
			return "", fmt.Errorf("a write is refused, but not with READONLY: %w", err)
		}
		return "a write is refused with READONLY", nil
	})
}

func (f *demoted) Heal(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		if _, err := f.c.Command(ctx, n, "REPLICAOF", "NO", "ONE"); err != nil {
			return "", err
		}
		if _, err := f.c.Command(ctx, n, "DEL", cluster.Key(f.c, probeKey)); err != nil {
			return "", fmt.Errorf("it takes no writes yet: %w", err)
		}
		return "a write is accepted", nil
	})
}
