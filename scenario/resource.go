package scenario

import (
	"slices"

	"lockchaos/cluster"
	"lockchaos/faults"
)

// serverFaults are those of nodes that any server can have; others are done by
// commands of Redis, or to its files. Faults of links are for all.
var serverFaults = []string{"pause-node", "crash-node", "restart-node"}

// validateResource refuses faults that a PostgreSQL resource cannot have.
func (s *Scenario) validateResource(path string, f faults.Spec, kind faults.Kind) *problem {
	if s.Resource != ResourcePostgres || !slices.Contains(f.Nodes, cluster.Resource) {
		return nil
	}
	return first(
		must(len(f.Commands) == 0, path+".commands", "commands are those of Redis, and the resource is PostgreSQL: hold everything"),
		must(kind.Link() || slices.Contains(serverFaults, f.Kind), path+".nodes", "%s is for Redis, and the resource is PostgreSQL", f.Kind),
	)
}
