package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"lockchaos/cluster"
)

// group is a master with its replicas, as the faults of replication see it.
type group struct {
	Controls
	cluster.Failovers
}

// groupOf is not ok in a world without failovers.
func groupOf(c Controls) (group, error) {
	f, ok := c.(cluster.Failovers)
	if !ok {
		return group{}, fmt.Errorf("this world has no replicas and no Sentinels")
	}
	return group{c, f}, nil
}

// replication is what a node says of itself.
type replication struct {
	replica bool
	up      bool  // a replica's link to its master
	offset  int64 // of what it has sent, or received
}

func (r replication) String() string {
	switch {
	case !r.replica:
		return fmt.Sprintf("master at offset %d", r.offset)
	case r.up:
		return fmt.Sprintf("replica at offset %d", r.offset)
	}
	return fmt.Sprintf("replica without its master, at offset %d", r.offset)
}

func (g group) replication(ctx context.Context, node string) (replication, error) {
	v, err := g.Command(ctx, node, "INFO", "replication")
	if err != nil {
		return replication{}, err
	}
	info := map[string]string{}
	for line := range strings.Lines(fmt.Sprint(v)) {
		if k, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[k] = value
		}
	}
	r := replication{replica: info["role"] == "slave", up: info["master_link_status"] == "up"}
	key := "master_repl_offset"
	if r.replica {
		key = "slave_repl_offset"
	}
	if r.offset, err = strconv.ParseInt(info[key], 10, 64); err != nil {
		return r, fmt.Errorf("node %s: INFO replication without a %s: %w", node, key, err)
	}
	return r, nil
}

// settle is how often a state of replication is looked at.
const settle = 10 * time.Millisecond

// await looks until there is no error, or ctx ends.
func await(ctx context.Context, look func() error) error {
	t := time.NewTicker(settle)
	defer t.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// followed waits until a node is a replica of the master and has all that the
// master had when it was asked first. A node that is the master itself has it all.
func (g group) followed(ctx context.Context, node string) (string, error) {
	var proof string
	err := await(ctx, func() error {
		master, err := g.Master(ctx)
		if err != nil {
			return err
		}
		m, err := g.replication(ctx, master)
		if err != nil {
			return err
		}
		if master == node {
			proof = "it is the master"
			return nil
		}
		r, err := g.replication(ctx, node)
		if err != nil {
			return err
		}
		if !r.replica || !r.up || r.offset < m.offset {
			return fmt.Errorf("%s does not follow %s: %s, and %s", node, master, r, m)
		}
		proof = fmt.Sprintf("replica of %s at offset %d", master, r.offset)
		return nil
	})
	return proof, err
}
