package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"lockchaos/results"
	"lockchaos/scenario"
)

// deal picks the runs of the batch's shard, and saves what it is a part of.
func (b Batch) deal(dir string, whole []planned) ([]planned, error) {
	if b.Shard == nil {
		return whole, nil
	}
	plan := results.Plan{
		Shard: *b.Shard, Started: time.Now(), World: b.WorldName, Suite: b.Suite, Seed: b.Seed,
		LeftOut: b.LeftOut(), Machine: b.Machine,
	}
	scenarios := b.Scenarios
	if b.Canary != nil {
		scenarios = append([]*scenario.Scenario{b.Canary}, scenarios...)
	}
	plan.Scenarios = planScenarios(scenarios, b.WorldName)
	for _, p := range whole {
		plan.Runs = append(plan.Runs, results.PlannedRun{Key: p.key, Canary: p.canary})
	}
	return results.Deal(*b.Shard, whole, func(p planned) bool { return p.canary }), plan.Save(dir)
}

// Plan is what the shard of a sweep is a part of.
func (s *Sweep) Plan(list []*scenario.Scenario) *results.Plan {
	plan := &results.Plan{
		Shard: *s.Shard, Started: s.Started, World: s.World, Suite: s.Suite, Seeds: &s.Seeds,
		Scenarios: planScenarios(list, s.World), Machine: s.Machine,
	}
	for _, t := range s.Tallies {
		plan.Runs = append(plan.Runs, results.PlannedRun{Key: results.Key{Scenario: t.Scenario, Guard: t.Guard, Trial: 1}})
	}
	return plan
}

func planScenarios(list []*scenario.Scenario, world string) []results.PlanScenario {
	var all []results.PlanScenario
	for _, s := range list {
		if s.RunsOn(world) {
			hash := sha256.Sum256(s.Source)
			all = append(all, results.PlanScenario{Name: s.Name, Hash: hex.EncodeToString(hash[:])})
		}
	}
	return all
}
