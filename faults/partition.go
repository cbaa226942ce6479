package faults

import (
	"context"
	"fmt"

	"lockchaos/cluster"
)

var partition = Kind{
	Name: "partition", About: "lets no byte cross the links; what was sent meanwhile is lost",
	Hosts: true, Nodes: true, Heals: true, Takes: []string{"direction"}, draw: drawDirection,
	make: func(c Controls, s Spec, id string) Fault {
		return &partitioned{newLinks(c, s, id), cluster.Direction(s.Direction)}
	},
}

type partitioned struct {
	*links
	dir cluster.Direction
}

func (f *partitioned) Start(ctx context.Context) (string, error) {
	if err := f.apply(ctx, cluster.Rule{Drop: true, Direction: f.dir}); err != nil {
		return "", err
	}
	proof, err := f.silent(ctx)
	f.mark() // what was under way at the cut has arrived by now
	return proof, err
}

// Heal looks once more before it lifts: no byte may have crossed a cut way.
func (f *partitioned) Heal(ctx context.Context) (string, error) {
	n := f.since()
	var crossed int64
	if f.dir != cluster.Replies {
		crossed += n.RequestBytes
	}
	if f.dir != cluster.Requests {
		crossed += n.ReplyBytes
	}
	if err := f.lift(ctx); err != nil {
		return "", err
	}
	if crossed > 0 {
		return "", fmt.Errorf("%d bytes crossed the cut links", crossed)
	}
	return f.answers(ctx, fmt.Sprintf("%d bytes were lost, none crossed; PING answered again in", n.DroppedBytes))
}
