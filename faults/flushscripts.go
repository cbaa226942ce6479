package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

var flushScripts = Kind{
	Name: "flush-scripts", About: "makes a lock server forget the scripts that clients call by their hash", Nodes: true, Data: true,
	Acts:  "the scripts of all its clients",
	needs: answering,
	make:  func(c Controls, s Spec, _ string) Fault { return &flushedScripts{c, s.Nodes} },
}

// probeScript is loaded to see it forgotten: a client may load its own again at once.
const probeScript = "return 'lockchaos'"

type flushedScripts struct {
	c     Controls
	nodes []string
}

func (f *flushedScripts) Start(ctx context.Context) (string, error) {
	return each(f.nodes, func(n string) (string, error) {
		sha, err := f.c.Command(ctx, n, "SCRIPT", "LOAD", probeScript)
		if err != nil {
			return "", err
		}
		cached, err := f.cached(ctx, n)
		if err != nil {
			return "", err
		}
		if _, err := f.c.Command(ctx, n, "SCRIPT", "FLUSH", "SYNC"); err != nil {
			return "", err
		}
		there, err := f.c.Command(ctx, n, "SCRIPT", "EXISTS", sha)
		if err != nil {
			return "", err
		}
		switch {
		case fmt.Sprint(there) != "[0]":
			return "", errors.New("a script that was loaded before is still there")
		case cached <= 1:
			return "", fmt.Errorf("%w: no client had loaded a script", errIdle)
		}
		return fmt.Sprintf("%d scripts forgotten", cached-1), nil // the probe is not counted
	})
}

// cached is how many scripts a node has.
func (f *flushedScripts) cached(ctx context.Context, node string) (int, error) {
	info, err := f.c.Command(ctx, node, "INFO", "memory")
	if err != nil {
		return 0, err
	}
	const field = "number_of_cached_scripts:"
	for line := range strings.Lines(fmt.Sprint(info)) {
		if v, ok := strings.CutPrefix(line, field); ok {
			n := 0
			_, err := fmt.Sscan(v, &n)
			return n, err
		}
	}
	return 0, fmt.Errorf("INFO memory has no %s", field)
}
