package faults

import (
	"context"
	"fmt"
	"strings"

	"lockchaos/cluster"
)

var hold = Kind{
	Name: "hold", About: "delivers requests or replies only at its end, optionally only those of some commands",
	Hosts: true, Nodes: true, Heals: true, Takes: []string{"direction", "commands"},
	check: checkHold, draw: drawDirection,
	make: func(c Controls, s Spec, id string) Fault {
		r := cluster.Rule{Direction: cluster.Direction(s.Direction)}
		for _, name := range s.Commands {
			r.Commands = append(r.Commands, strings.ToUpper(name))
		}
		return &held{newLinks(c, s, id), r}
	},
}

func checkHold(s Spec) error {
	if len(s.Commands) > 0 && s.Direction != string(cluster.Requests) {
		return &KeyError{"commands", "commands are matched in requests, set direction: requests"}
	}
	for i, c := range s.Commands {
		if c == "" || strings.ContainsAny(c, " \t") {
			return &KeyError{fmt.Sprintf("commands[%d]", i), fmt.Sprintf("%q, expected the name of a Redis command", c)}
		}
	}
	return nil
}

type held struct {
	*links
	rule cluster.Rule
}

func (f *held) Start(ctx context.Context) (string, error) {
	if err := f.apply(ctx, f.rule); err != nil {
		return "", err
	}
	return "", nil // proved by what was held
}

// Prove wants at least one message to have been held back.
func (f *held) Prove(context.Context) (string, error) {
	n := f.since()
	if n.HeldBytes == 0 {
		awaited := "message"
		if len(f.rule.Commands) > 0 {
			awaited = strings.Join(f.rule.Commands, " or ")
		}
		return "", fmt.Errorf("%w: no %s came by", errIdle, awaited)
	}
	return fmt.Sprintf("%d bytes held back, %d command(s) matched", n.HeldBytes, n.HeldCommands), nil
}

func (f *held) Heal(ctx context.Context) (string, error) {
	if err := f.lift(ctx); err != nil {
		return "", err
	}
	return f.answers(ctx, "all delivered; PING answered in")
}
