package scenario

import (
	"fmt"
	"maps"
	"slices"

	"lockchaos/faults"
)

// ActedOn are the nodes of faults that only a server can have that the run has started.
func (s *Scenario) ActedOn() []string {
	var nodes []string
	_ = s.CheckBorrowed(func(node string) string {
		nodes = append(nodes, node)
		return ""
	})
	return nodes
}

// CheckBorrowed says what of a scenario cannot be done to servers that the run has
// not started. borrowed tells of a node what such a server it is, as "a plain server,
// which we did not start"; empty where it is none. It is asked of every node that must
// be none. The error is an *Error.
func (s *Scenario) CheckBorrowed(borrowed func(node string) string) error {
	p := s.refusedFault(borrowed)
	if p == nil {
		p = s.refusedWeight(borrowed)
	}
	if p == nil {
		return nil
	}
	return p.locate(s.Source, s.File)
}

func (s *Scenario) refusedFault(borrowed func(string) string) *problem {
	for i, f := range s.Faults {
		kind, _ := faults.Find(f.Kind) // validated
		nodes := f.Nodes
		if kind.Failovers { // it finds its nodes by itself
			nodes = s.NodeNames()
		}
		if p := refused(fmt.Sprintf("faults[%d].fault", i), kind, nodes, borrowed); p != nil {
			return p
		}
	}
	return nil
}

// refusedWeight looks at what a hammer may draw, of any lock node.
func (s *Scenario) refusedWeight(borrowed func(string) string) *problem {
	if s.Hammer == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Hammer.Weights)) {
		kind, _ := faults.Find(name)
		if s.Hammer.Weights[name] == 0 {
			continue
		}
		if p := refused("hammer.weights."+name, kind, s.NodeNames(), borrowed); p != nil {
			return p
		}
	}
	return nil
}

func refused(path string, kind faults.Kind, nodes []string, borrowed func(string) string) *problem {
	if kind.Acts == "" {
		return nil
	}
	for _, n := range nodes {
		if what := borrowed(n); what != "" {
			return &problem{path, fmt.Sprintf("%s acts on %s, and %s is %s", kind.Name, kind.Acts, n, what)}
		}
	}
	return nil
}
