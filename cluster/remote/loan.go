package remote

import "lockchaos/cluster/local"

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
