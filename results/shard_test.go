package results

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestParseShard(t *testing.T) {
	for s, want := range map[string]Shard{"0/1": {0, 1}, "0/4": {0, 4}, "3/4": {3, 4}, "123/20000": {123, 20000}} {
		if got, err := ParseShard(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: %v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "1", "/", "1/", "/2", "4/4", "5/4", "-1/4", "0/0", "1/-2", "a/b", "1/2/3", "1.5/2", "$(JOB_COMPLETION_INDEX)/4", "99999999999999999999/2"} {
		if got, err := ParseShard(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", s)) || !strings.Contains(err.Error(), "0 to N-1") {
			t.Errorf("%q: %v, %v", s, got, err)
		}
	}
}

// Each run is in one shard, the shards are even, and what is for all is in each.
func TestDeal(t *testing.T) {
	for _, runs := range []int{0, 1, 2, 7, 40} {
		for _, of := range []int{1, 2, 3, 8, 50} {
			var all []int
			for i := range runs {
				all = append(all, i)
			}
			forAll := func(i int) bool { return i == 2 }
			var got []int
			fewest, most := runs, 0
			for i := range of {
				mine := Deal(Shard{i, of}, all, forAll)
				if !slices.IsSorted(mine) {
					t.Errorf("shard %d/%d of %d: %v is out of order", i, of, runs, mine)
				}
				if slices.Contains(all, 2) != slices.Contains(mine, 2) {
					t.Errorf("shard %d/%d of %d: %v has what is for all: %t", i, of, runs, mine, slices.Contains(mine, 2))
				}
				mine = slices.DeleteFunc(mine, forAll)
				fewest, most = min(fewest, len(mine)), max(most, len(mine))
				got = append(got, mine...)
			}
			slices.Sort(got)
			if want := slices.DeleteFunc(slices.Clone(all), forAll); !slices.Equal(got, want) {
				t.Errorf("%d shards of %d runs have %v", of, runs, got)
			}
			if most-fewest > 1 {
				t.Errorf("%d shards of %d runs have %d to %d", of, runs, fewest, most)
			}
		}
	}
}

// The parts of a shard are the shard, and the seeds that are counted are there.
func TestPart(t *testing.T) {
	seeds := SeedRange{5, 44}
	for _, s := range []Shard{{0, 1}, {0, 3}, {2, 3}, {6, 7}, {45, 50}} {
		var whole, parts []int64
		for i := seeds.First; i <= seeds.Last; i++ {
			if s.Takes(int(i - seeds.First)) {
				whole = append(whole, i)
			}
			for part := range 4 {
				if s.Part(part, 4).Takes(int(i - seeds.First)) {
					parts = append(parts, i)
				}
			}
		}
		if !slices.Equal(whole, parts) || len(whole) != seeds.Count(s) {
			t.Errorf("shard %s is %v, its parts are %v, and %d are counted", s, whole, parts, seeds.Count(s))
		}
	}
}

func plan(shard Shard, runs ...string) *Plan {
	p := &Plan{Shard: shard, World: "sim", Suite: "mine", Seed: 1, Machine: Machine{Commit: "abc"}, Scenarios: []PlanScenario{{"c", "123"}, {"s", "456"}}}
	for i, r := range runs {
		p.Runs = append(p.Runs, PlannedRun{Key{Scenario: r, Guard: "none", Trial: 1}, i == 0})
	}
	return p
}

// What does not belong together is told by its value, and nothing else.
func TestAgainst(t *testing.T) {
	for what, change := range map[string]func(*Plan){
		"":                         func(p *Plan) { p.Shard.Index = 2; p.Machine.CPUs = 9 },
		"shard count: 4, 3":        func(p *Plan) { p.Shard.Of = 4 },
		"world: local, sim":        func(p *Plan) { p.World = "local" },
		"suite: none, mine":        func(p *Plan) { p.Suite = "" },
		"seeds: 1-5, no sweep":     func(p *Plan) { p.Seeds = &SeedRange{1, 5} },
		"seed: 2, 1":               func(p *Plan) { p.Seed = 2 },
		"commit: abc+, abc":        func(p *Plan) { p.Machine.Dirty = true },
		"commit: unknown, abc":     func(p *Plan) { p.Machine.Commit = "" },
		"scenario 2: none, s with": func(p *Plan) { p.Scenarios = p.Scenarios[:1] },
		"scenario 1: c with hash 1234, c with hash 123": func(p *Plan) { p.Scenarios = []PlanScenario{{"c", "1234"}, {"s", "456"}} },
		"planned run 3: none, s2 guard none":            func(p *Plan) { p.Runs = p.Runs[:2] },
		"planned run 4: s3 guard none, none":            func(p *Plan) { p.Runs = plan(Shard{}, "c", "s1", "s2", "s3").Runs },
	} {
		p := plan(Shard{1, 3}, "c", "s1", "s2")
		change(p)
		got, here, there := p.Against(plan(Shard{0, 3}, "c", "s1", "s2"), false)
		if got != "" {
			got += ": " + here + ", " + there
		}
		if !strings.HasPrefix(got, what) || what == "" && got != "" {
			t.Errorf("%q, expected %q", got, what)
		}
		if got, _, _ := p.Against(plan(Shard{0, 3}, "c", "s1", "s2"), true); got == "commit" || got == "" && what != "" && !strings.HasPrefix(what, "commit") {
			t.Errorf("%s, with mixed commits: %q", what, got)
		}
	}
}

func TestOpenPlan(t *testing.T) {
	for says, change := range map[string]func(*Plan){
		"":                               func(*Plan) {},
		"shard 3/3: expected I/N":        func(p *Plan) { p.Shard.Index = 3 },
		"shard 0/0: expected I/N":        func(p *Plan) { p.Shard = Shard{} },
		"shard 1/999999999: expected":    func(p *Plan) { p.Shard.Of = 999999999 },
		"no runs are planned":            func(p *Plan) { p.Runs = nil },
		"seeds 5-1":                      func(p *Plan) { p.Seeds = &SeedRange{5, 1} },
		`run "s2 guard ../../../../x"`:   func(p *Plan) { p.Runs[2].Guard = "../../../../x" },
		`run "s1 guard none": its name`:  func(p *Plan) { p.Runs[2] = p.Runs[1] },
		`run ".. guard .. trial 2": its`: func(p *Plan) { p.Runs[2].Key = Key{Scenario: "..", Guard: "..", Trial: 2} },
	} {
		p := plan(Shard{1, 3}, "c", "s1", "s2")
		change(p)
		dir := t.TempDir()
		if err := p.Save(dir); err != nil {
			t.Fatal(err)
		}
		_, err := OpenPlan(dir)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), dir+"/shard.json: "+says)) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
	for says, v := range map[string]any{
		`format "x"`: map[string]any{"format": "x"}, "version 2": map[string]any{"format": PlanFormat, "version": 2}, "cannot unmarshal": []int{1},
	} {
		dir := t.TempDir()
		if err := Save(dir, ShardFile, v); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenPlan(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
}
