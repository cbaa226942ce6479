package scenario

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/faults"
	"lockchaos/locks"
)

func (s *Scenario) validateFaults() *problem {
	for i := range s.Faults {
		if p := s.validateFault(fmt.Sprintf("faults[%d]", i), s.Faults[i]); p != nil {
			return p
		}
	}
	return nil
}

// mostLatency is what a fault can still prove in the time that it has.
const mostLatency = locks.Duration(5 * time.Second)

func (s *Scenario) validateFault(path string, f faults.Spec) *problem {
	kind, ok := faults.Find(f.Kind)
	if !ok {
		return oneOf(path+".fault", f.Kind, kindNames())
	}
	return first(
		validateKeys(path, f, kind),
		oneOf(path+".direction", f.Direction, directions),
		must(len(f.Commands) == 0 || f.Direction == "requests", path+".commands", "commands are matched in requests, set direction: requests"),
		must(!kind.Latency || f.Latency > 0, path, "%s needs a latency", f.Kind),
		must(f.Latency <= mostLatency, path+".latency", "%s, expected at most %s", f.Latency, mostLatency),
		must(f.Jitter >= 0 && (f.Jitter == 0 || f.Jitter < f.Latency), path+".jitter", "%s, expected 0 or more, and below the latency", f.Jitter),
		s.validateTimes(path, f, kind),
		s.validateTargets(path, f),
	)
}

// validateKeys holds the keys that are given against those that the kind takes.
func validateKeys(path string, f faults.Spec, kind faults.Kind) *problem {
	takes := func(yes, given bool, key string) *problem {
		return must(yes || !given, path+"."+key, "%s takes no %s", f.Kind, key)
	}
	return first(
		takes(kind.Hosts, len(f.Hosts) > 0, "hosts"),
		takes(kind.Nodes, len(f.Nodes) > 0, "nodes"),
		must(kind.Link() || !kind.Hosts || len(f.Hosts) > 0, path, "%s needs hosts", f.Kind),
		must(kind.Link() || !kind.Nodes || len(f.Nodes) > 0, path, "%s needs nodes", f.Kind),
		takes(kind.Direction, f.Direction != "both", "direction"),
		takes(kind.Commands, len(f.Commands) > 0, "commands"),
		takes(kind.Latency, f.Latency != 0, "latency"),
		takes(kind.Latency, f.Jitter != 0, "jitter"),
	)
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
	if t.IsZero() || t.Timed {
		return nil
	}
	return s.hostExists(path, t.Point.Host)
}

func (s *Scenario) validateTargets(path string, f faults.Spec) *problem {
	for i, h := range f.Hosts {
		if p := s.hostExists(fmt.Sprintf("%s.hosts[%d]", path, i), h); p != nil {
			return p
		}
	}
	for i, n := range f.Nodes {
		if p := s.nodeExists(fmt.Sprintf("%s.nodes[%d]", path, i), n); p != nil {
			return p
		}
	}
	for i, c := range f.Commands {
		if c == "" || strings.ContainsAny(c, " \t") {
			return &problem{fmt.Sprintf("%s.commands[%d]", path, i), fmt.Sprintf("%q, expected the name of a Redis command", c)}
		}
	}
	return first(
		must(!repeats(f.Hosts), path+".hosts", "a host stands twice"),
		must(!repeats(f.Nodes), path+".nodes", "a node stands twice"),
	)
}

func repeats(list []string) bool {
	sorted := slices.Sorted(slices.Values(list))
	return len(slices.Compact(sorted)) != len(list)
}
