package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"lockchaos/cluster"
	"lockchaos/locks"
	"lockchaos/scenario/located"
)

// Layout is which nodes an external host runs over: "1", "5" or "sentinel".
type Layout string

// LayoutSentinel is one master, two replicas and three Sentinels.
const LayoutSentinel Layout = "sentinel"

var layouts = []string{"1", "5", string(LayoutSentinel)}

// UnmarshalText reads the number or the word.
func (l *Layout) UnmarshalText(b []byte) error {
	*l = Layout(b)
	return nil
}

// UnmarshalYAML takes a number as well as a word.
func (l *Layout) UnmarshalYAML(n ast.Node) error { return located.Text(n, l) }

// MarshalYAML writes a number as one.
func (l Layout) MarshalYAML() (any, error) {
	if n, err := strconv.Atoi(string(l)); err == nil {
		return n, nil
	}
	return string(l), nil
}

// system is what the lock runs over; that of an external host has only that.
func (s *Scenario) system() locks.System {
	name := s.Lock.System
	if name == locks.External {
		if s.Lock.Layout != LayoutSentinel {
			n, _ := strconv.Atoi(string(s.Lock.Layout)) // validation refuses what is no number
			return locks.System{Nodes: n}
		}
		name = string(LayoutSentinel)
	}
	sys, _ := locks.Find(name) // validation refuses what is unknown
	return sys
}

// Fails over: it has replicas, and Sentinels that make one of them the master.
func (s *Scenario) failsOver() bool { return s.system().Sentinels > 0 }

// DataNodes are the lock nodes that keep locks: n1, n2, …, the replicas last.
func (s *Scenario) DataNodes() []string {
	sys := s.system()
	return names(sys.Nodes+sys.Replicas, NodeName)
}

// NodeNames are all lock nodes: those that keep locks, then the Sentinels, or
// the service for tokens.
func (s *Scenario) NodeNames() []string {
	all := append(s.DataNodes(), names(s.system().Sentinels, SentinelName)...)
	if s.mintsOutside() {
		all = append(all, cluster.Tokens)
	}
	return all
}

// mintsOutside tells that the tokens come from a service of their own.
func (s *Scenario) mintsOutside() bool { return s.Lock.Token == locks.TokenExternal }

// HostNames are all hosts.
func (s *Scenario) HostNames() []string { return names(s.Hosts, HostName) }

// Quorum is how many lock nodes must stand behind a grant.
func (s *Scenario) Quorum() int { return s.system().Quorum() }

// NodeSpecs are the lock nodes as a cluster is to bring them up.
func (s *Scenario) NodeSpecs() []cluster.NodeSpec {
	sys := s.system()
	var specs []cluster.NodeSpec
	for i, name := range s.NodeNames() {
		spec := cluster.NodeSpec{Name: name, Persistence: s.Nodes.Persistence, MinReplicas: s.Nodes.MinReplicas}
		switch {
		case name == cluster.Tokens: // it must not forget what it has given
			spec.Persistence = cluster.PersistAlways
		case i >= sys.Nodes+sys.Replicas:
			spec = cluster.NodeSpec{Name: name, Role: cluster.RoleSentinel}
		case i >= sys.Nodes:
			spec.Role, spec.Prefer = cluster.RoleReplica, name == s.Nodes.Prefer
		}
		specs = append(specs, spec)
	}
	return specs
}

// HostName is the name of the i-th host, from 0: w1, w2, …
func HostName(i int) string { return fmt.Sprintf("w%d", i+1) }

// NodeName is the name of the i-th lock node, from 0: n1, n2, …
func NodeName(i int) string { return fmt.Sprintf("n%d", i+1) }

// SentinelName is the name of the i-th Sentinel, from 0: s1, s2, …
func SentinelName(i int) string { return fmt.Sprintf("s%d", i+1) }

func names(n int, name func(int) string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = name(i)
	}
	return list
}

// span tells names that are numbered: "n1 to n3", "n1".
func span(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return list[0] + " to " + list[len(list)-1]
}

// validateNodes needs a lock that is valid.
func (s *Scenario) validateNodes() *problem {
	sys := s.system()
	replicas := names(sys.Replicas, func(i int) string { return NodeName(sys.Nodes + i) })
	return first(
		oneOf("nodes.persistence", s.Nodes.Persistence, persistence),
		must(s.failsOver() || s.Nodes.MinReplicas == 0, "nodes.min_replicas", "only for a lock with replicas"),
		must(s.Nodes.MinReplicas >= 0 && s.Nodes.MinReplicas <= sys.Replicas, "nodes.min_replicas",
			"%d, expected 0 to %d", s.Nodes.MinReplicas, sys.Replicas),
		must(s.failsOver() || s.Nodes.Prefer == "", "nodes.prefer", "only for a lock with replicas"),
		s.preferred(replicas),
	)
}

func (s *Scenario) preferred(replicas []string) *problem {
	if s.Nodes.Prefer == "" {
		return nil
	}
	return oneOf("nodes.prefer", s.Nodes.Prefer, replicas)
}
