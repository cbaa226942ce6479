package remote

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockchaos/cluster/local"
)

// loan is the use of plain servers for one run. Without any it does nothing.
type loan struct {
	plains *plainServers
	nodes  map[string]*plainServer // by node of the run
	prefix string                  // of all keys of the run; empty where nothing is lent
}

// lend hands out the plain servers that are among the members of a run, by node.
func (p *plainServers) lend(members map[string]Member) *loan {
	l := &loan{plains: p, nodes: map[string]*plainServer{}}
	for node, m := range members {
		for _, s := range p.servers {
			if m.isPlain() && s.name == m.Name {
				l.nodes[node] = s
			}
		}
	}
	if len(l.nodes) > 0 {
		l.prefix = p.nextPrefix()
	}
	return l
}

// answerLimit is how long a plain server may take to answer before a run.
const answerLimit = 2 * time.Second

// answers sees that all servers are there still: a run without one of them would
// take all of its time, and not say why.
func (l *loan) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var all error
	for node, s := range l.nodes {
		if err := s.client.Ping(ctx).Err(); err != nil {
			all = errors.Join(all, fmt.Errorf("node %s: the plain server %s does not answer: %w", node, s, err))
		}
	}
	return all
}

// outside are the nodes as a machine's cluster takes them.
func (l *loan) outside() map[string]local.Server {
	list := map[string]local.Server{}
	for node, s := range l.nodes {
		list[node] = s.outside()
	}
	return list
}

// giveBack deletes what the run has left. It may be called twice.
func (l *loan) giveBack() error {
	var servers []*plainServer
	for _, s := range l.nodes {
		servers = append(servers, s)
	}
	return l.plains.sweep(l.prefix, servers)
}
