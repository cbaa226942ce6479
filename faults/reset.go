package faults

import (
	"context"
	"fmt"
)

var reset = Kind{
	Name: "reset", About: "breaks all open connections of the links with a TCP reset",
	Hosts: true, Nodes: true,
	make: func(c Controls, s Spec, id string) Fault { return &resetLinks{newLinks(c, s, id)} },
}

type resetLinks struct{ *links }

func (f *resetLinks) Start(ctx context.Context) (string, error) {
	f.actor.add(torn, 0, f.names...)
	total := 0
	for i, link := range f.links.links {
		n, err := link.Reset(ctx)
		if err != nil {
			return "", fmt.Errorf("link %s: %w", f.names[i], err)
		}
		total += n
	}
	if total == 0 {
		return "", fmt.Errorf("%w: there was no connection to break", errIdle)
	}
	return fmt.Sprintf("%d connection(s) broken", total), nil
}
