package scenario

import (
	"errors"
	"fmt"
	"slices"

	"lockchaos/cluster"
	"lockchaos/faults"
)

func (s *Scenario) validateFaults() *problem {
	for i := range s.Faults {
		if p := s.validateFault(fmt.Sprintf("faults[%d]", i), s.Faults[i]); p != nil {
			return p
		}
	}
	return nil
}

func (s *Scenario) validateFault(path string, f faults.Spec) *problem {
	kind, ok := faults.Find(f.Kind)
	if !ok {
		return oneOf(path+".fault", f.Kind, kindNames())
	}
	return first(
		must(!kind.Failovers || s.failsOver(), path+".fault", "%s needs replicas and Sentinels, and %s has none", f.Kind, s.Lock.System),
		validateKeys(path, f, kind),
		oneOf(path+".direction", f.Direction, directions),
		s.validateTimes(path, f, kind),
		s.validateTargets(path, f, kind),
		s.validateResource(path, f, kind),
		s.validateServers(path, f, kind),
	)
}

// validateServers refuses what the server of a node cannot have done to it.
func (s *Scenario) validateServers(path string, f faults.Spec, kind faults.Kind) *problem {
	if p := must(f.Kind != readOnly || !s.failsOver(), path+".fault", "Sentinels undo %s: use failover", f.Kind); p != nil {
		return p
	}
	for i, n := range f.Nodes {
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		sentinel := slices.Contains(names(s.system().Sentinels, SentinelName), n)
		if p := first(
			must(!kind.Data || !sentinel, at, "%s is a Sentinel, and %s is for servers that keep keys", n, f.Kind),
			must(!kind.Clock || n != cluster.Resource, at, "the counter has no lease that a clock could end: name lock nodes"),
		); p != nil {
			return p
		}
	}
	return nil
}

// readOnly makes a server a replica, and Sentinels say who is one.
const readOnly = "read-only"

// validateKeys holds the keys that are given against those that the kind takes.
func validateKeys(path string, f faults.Spec, kind faults.Kind) *problem {
	takes := func(yes, given bool, key string) *problem {
		return must(yes || !given, path+"."+key, "%s takes no %s", f.Kind, key)
	}
	if p := first(
		takes(kind.Hosts, len(f.Hosts) > 0, "hosts"),
		takes(kind.Nodes, len(f.Nodes) > 0, "nodes"),
		must(kind.Link() || kind.FewHosts || !kind.Hosts || len(f.Hosts) > 0, path, "%s needs hosts", f.Kind),
		must(kind.Link() || !kind.Nodes || len(f.Nodes) > 0, path, "%s needs nodes", f.Kind),
	); p != nil {
		return p
	}
	err := kind.Check(f)
	if err == nil {
		return nil
	}
	var key *faults.KeyError
	if errors.As(err, &key) && key.Key != "" {
		path += "." + key.Key
	}
	return &problem{path, err.Error()}
}

func (s *Scenario) validateTimes(path string, f faults.Spec, kind faults.Kind) *problem {
	ends := !f.Until.IsZero() || f.For != 0
	return first(
		must(!f.From.IsZero(), path, "%s needs a from: %s", f.Kind, faults.TriggerHelp),
		s.validateTrigger(path+".from", f.From),
		s.validateTrigger(path+".until", f.Until),
		must(kind.Heals || !ends, path, "%s has no end, it takes neither until nor for", f.Kind),
		must(!kind.Heals || ends, path, "%s needs an end: until, or for", f.Kind),
		must(f.Until.IsZero() || f.For == 0, path+".for", "until and for exclude each other"),
		must(f.For >= 0, path+".for", "%s, expected above 0", f.For),
		must(f.Most > 0, path+".most", "%s, expected above 0", f.Most),
		must(f.For <= f.Most, path+".for", "%s, expected at most %s, or a most above it", f.For, f.Most),
		must(!f.Until.Timed || !f.From.Timed || f.Until.At > f.From.At, path+".until", "the end %q is not after the start %q", f.Until, f.From),
	)
}

func (s *Scenario) validateTrigger(path string, t faults.Trigger) *problem {
	switch {
	case t.IsZero():
		return nil
	case t.Timed:
		return must(t.At < s.Deadline.D(), path, "%q never comes: the deadline is %s", t, s.Deadline)
	}
	return first(s.hostExists(path, t.Point.Host), s.validateComes(path, t))
}

func (s *Scenario) validateTargets(path string, f faults.Spec, kind faults.Kind) *problem {
	for i, h := range f.Hosts {
		at := fmt.Sprintf("%s.hosts[%d]", path, i)
		if kind.Link() && s.failsOver() && slices.Contains(s.NodeNames(), h) { // the near end of a link between nodes
			if p := s.validateFar(path, h, f.Nodes); p != nil {
				return p
			}
			continue
		}
		if p := s.hostExists(at, h); p != nil {
			return p
		}
	}
	for i, n := range f.Nodes {
		if p := s.nodeExists(fmt.Sprintf("%s.nodes[%d]", path, i), n); p != nil {
			return p
		}
	}
	if kind.Failovers { // which keep locks, and one follows the other
		for i, n := range f.Nodes {
			if p := oneOf(fmt.Sprintf("%s.nodes[%d]", path, i), n, s.DataNodes()); p != nil {
				return p
			}
		}
	}
	return first(
		must(!repeats(f.Hosts), path+".hosts", "a host stands twice"),
		must(!repeats(f.Nodes), path+".nodes", "a node stands twice"),
	)
}

// validateFar looks at the nodes that a link from a node is to lead to.
func (s *Scenario) validateFar(path, from string, nodes []string) *problem {
	for i, n := range nodes {
		at := fmt.Sprintf("%s.nodes[%d]", path, i)
		if p := first(
			must(n != cluster.Resource, at, "there is no link from %s to %s", from, n),
			must(n != from || len(nodes) > 1, at, "there is no link from %s to itself", from),
		); p != nil {
			return p
		}
	}
	return nil
}

func repeats(list []string) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) != len(list)
}
