package serve

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"lockchaos/results"
	"lockchaos/runner"
)

// sweep is what a list says of a sweep through seeds.
type sweep struct {
	Seeds         string
	Done, Planned int
	ExitCode      int
	Missing       []string
	Tallies       []sweepTally
}

// sweepTally is one scenario with one guard.
type sweepTally struct {
	Scenario, Guard                             string
	Seeds, Safe, Violated, Inconclusive, Failed int
	Kinds                                       []sweepKind
}

// sweepKind is one kind of finding.
type sweepKind struct {
	Kind  string
	Seeds int
	First int64
}

// readSweep takes a sweep file apart.
func readSweep(b []byte) (*batch, error) {
	var s runner.Sweep
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, err
	}
	if s.Version < 1 || s.Version > runner.SweepVersion {
		return nil, fmt.Errorf("sweep version %d, this program reads up to %d", s.Version, runner.SweepVersion)
	}
	x := &sweep{Seeds: s.Seeds.String(), Done: s.Done, Planned: s.Planned, ExitCode: s.ExitCode}
	if s.Merged != nil {
		x.Missing = s.Merged.Missing
	}
	for _, t := range s.Tallies {
		if t == nil {
			continue
		}
		y := sweepTally{Scenario: t.Scenario, Guard: t.Guard, Seeds: t.Seeds, Safe: t.Safe, Violated: t.Violated, Inconclusive: t.Inconclusive, Failed: t.Failed}
		for _, kind := range slices.Sorted(maps.Keys(t.Kinds)) {
			if k := t.Kinds[kind]; k != nil {
				y.Kinds = append(y.Kinds, sweepKind{kind, k.Seeds, k.First.Seed})
			}
		}
		x.Tallies = append(x.Tallies, y)
	}
	return &batch{Suite: s.Suite, World: s.World, Sweep: x, Shard: shardWords(s.Shard)}, nil
}

// shardWords are "1/3"; "" for no shard.
func shardWords(s *results.Shard) string {
	if s == nil {
		return ""
	}
	return s.String()
}
