package runner

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/results"
	"lockchaos/scenario"
)

// made is a seed of which a hash of its number says what was found.
func made(guard string, n int64) Seed {
	r := rand.New(rand.NewPCG(uint64(n), uint64(len(guard))))
	s := Seed{Scenario: "s", System: "single", Guard: guard, Seed: n, Hash: fmt.Sprint(n), Outcome: checker.Safe, Grants: r.IntN(9), Simulated: float64(r.IntN(8))}
	switch r.IntN(6) {
	case 0:
		s.Outcome = checker.Violated
		s.Findings = []SeedFinding{{Kind: "lost-update", Count: 1, Words: fmt.Sprint("lost in ", n)}}
	case 1:
		s.Findings = []SeedFinding{{Kind: "stale-holder", Contained: true, Count: 2, Words: fmt.Sprint("stale in ", n)}, {Kind: "orphan", Count: 1}}
	case 2:
		s.Outcome, s.Reasons = checker.Inconclusive, []string{"too few"}
	case 3:
		s.Outcome, s.Error = "", "no conclusion"
	case 4:
		s.Outcome, s.Unstable = checker.Violated, "another"
		s.Findings = []SeedFinding{{Kind: "lost-update", Count: 1}}
	}
	return s
}

func sweepOf(shard *results.Shard) *Sweep {
	one := &scenario.Scenario{Name: "s", Guards: []string{"none", "fence"}, Expect: map[string]scenario.Expect{"fence": {Outcome: "safe", Never: []string{"orphan"}}}}
	one.Lock.System = "single"
	s := NewSweep([]*scenario.Scenario{one}, func(s *scenario.Scenario) []string { return s.Guards }, results.SeedRange{First: 3, Last: 700}, shard)
	if shard == nil {
		shard = &results.Shard{Of: 1}
	}
	for i := range int(s.Seeds.Last - s.Seeds.First + 1) {
		if shard.Takes(i) {
			s.Add(made("none", s.Seeds.First+int64(i)))
			s.Add(made("fence", s.Seeds.First+int64(i)))
		}
	}
	return s
}

func told(t *testing.T, s *Sweep) string {
	t.Helper()
	b, err := json.MarshalIndent(s.Tallies, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Shards of a sweep, saved and joined in any order, are the sweep itself.
func TestMergeSweeps(t *testing.T) {
	whole := sweepOf(nil)
	why := whole.Judge()
	root := t.TempDir()
	for _, i := range []int{2, 0, 3, 1} {
		saveShard(t, root, sweepOf(&results.Shard{Index: i, Of: 4}))
	}
	all, err := MergeSweeps(setOf(t, root))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := told(t, all), told(t, whole); got != want {
		t.Errorf("joined it is\n%s\nexpected\n%s", got, want)
	}
	again := all.Judge()
	if fmt.Sprint(again) != fmt.Sprint(why) || all.ExitCode != whole.ExitCode || len(why) != 4 {
		t.Errorf("exit code %d, %v; expected %d, %v", all.ExitCode, again, whole.ExitCode, why)
	}
	if all.Done != whole.Done || all.Planned != whole.Planned || whole.Done != 2*698 || all.Simulated != whole.Simulated || len(all.Merged.Missing) > 0 {
		t.Errorf("%d of %d runs done in %f s, expected %d of %d in %f s; missing: %v", all.Done, all.Planned, all.Simulated, whole.Done, whole.Planned, whole.Simulated, all.Merged.Missing)
	}
	k := all.Tally("s", "none").Kinds["lost-update"]
	if len(k.Lowest) != mostLowest || k.Lowest[0] != k.First.Seed || k.Confirmed == 0 || k.Confirmed >= k.Seeds || k.Seeds <= mostLowest {
		t.Errorf("%d seeds, %d of them confirmed, first in %d, the lowest are %v", k.Seeds, k.Confirmed, k.First.Seed, k.Lowest)
	}
}

func saveShard(t *testing.T, root string, s *Sweep) string {
	t.Helper()
	dir, err := results.NewBatch(root, s.Started)
	if err != nil {
		t.Fatal(err)
	}
	s.Judge()
	if err := s.Save(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Plan(nil).Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func setOf(t *testing.T, root string) *results.Set {
	t.Helper()
	found, err := results.FindShards([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	set, err := results.Together(found, false, SweepState)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A sweep of which a part is missing proves nothing, whatever the rest says.
func TestMergeSweepsMissing(t *testing.T) {
	root := t.TempDir()
	half := sweepOf(&results.Shard{Index: 2, Of: 4})
	half.Tallies[0].Seeds -= 100
	half.Done -= 100
	saveShard(t, root, half)
	saveShard(t, root, sweepOf(&results.Shard{Index: 1, Of: 4}))
	all, err := MergeSweeps(setOf(t, root))
	if err != nil {
		t.Fatal(err)
	}
	all.Tallies = nil // nothing is wrong in what is there
	all.Judge()
	said := strings.Join(all.Merged.Missing, "\n")
	if all.ExitCode != results.ExitInconclusive || !strings.Contains(said, "shard 0/4, not there: 350 of 350 runs\nshard 3/4, not there: 348 of 348 runs\nshard 2/4 in ") ||
		!strings.HasSuffix(said, "broken off: 100 of 348 runs") {
		t.Errorf("exit code %d:\n%s", all.ExitCode, said)
	}
}

// A sweep that is not what its plan says is refused.
func TestOpenShard(t *testing.T) {
	for says, change := range map[string]func(*Sweep){
		"shard is 1/5, but 1/4 in ":                             func(s *Sweep) { s.Shard = &results.Shard{Index: 1, Of: 5} },
		"shard is <nil>, but 1/4 in ":                           func(s *Sweep) { s.Shard = nil },
		"world is local, but sim in ":                           func(s *Sweep) { s.World = "local" },
		"seeds is 3-701, but 3-700 in ":                         func(s *Sweep) { s.Seeds.Last++ },
		"planned is 9, but 350 in ":                             func(s *Sweep) { s.Planned = 9 },
		"the number of tallies is 1, but 2":                     func(s *Sweep) { s.Done -= s.Tallies[1].Seeds; s.Tallies = s.Tallies[:1] },
		"tallies[1] is s guard atomic, but s":                   func(s *Sweep) { s.Tallies[1].Guard = "atomic" },
		"the number of seeds of tallies[0] is 176, but 175 in ": func(s *Sweep) { s.Tallies[0].Seeds++; s.Done++ },
		"351 runs are done, but its tallies have 350":           func(s *Sweep) { s.Done++ },
		"tallies[0] is null":                                    func(s *Sweep) { s.Tallies[0] = nil },
		`kind "x" is not what it is called`:                     func(s *Sweep) { s.Tallies[0].Kinds["x"] = &KindTally{Kind: "y"} },
	} {
		dir := saveShard(t, t.TempDir(), sweepOf(&results.Shard{Index: 1, Of: 4}))
		set := setOf(t, dir)
		s, err := OpenSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		change(s)
		if err := s.Save(dir); err != nil {
			t.Fatal(err)
		}
		if _, err = MergeSweeps(set); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v, expected %q", err, says)
		}
	}
}
