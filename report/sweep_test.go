package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/internal/golden"
	"lockchaos/results"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// swept is a sweep with something of every kind, put together of shards.
func swept() *runner.Sweep {
	s := &runner.Sweep{
		Format: runner.SweepFormat, Version: runner.SweepVersion,
		World: scenario.Simulation, Seeds: results.SeedRange{First: 1, Last: 20}, Started: time.Unix(1e9, 0).UTC(), Took: 0.5, Planned: 40,
		Machine: results.Machine{Commit: "abc", Go: "go1.26", OS: "x", Kernel: "y", CPUs: 2, Redis: "simulated", Modules: map[string]string{}},
		Tallies: []*runner.Tally{
			{Scenario: "redlock/hammer", System: "redlock", Guard: "none", Expect: scenario.Expect{Outcome: "any", Never: []string{"wedge"}}},
			{Scenario: "redlock/hammer", System: "redlock", Guard: "version", Expect: scenario.Expect{Outcome: "safe"}},
		},
		Merged: &results.Merged{Of: 3, From: []string{"b0", "b1"}, Aside: []string{"b1old"}, Commits: []string{"abc", "abd+"},
			Missing: []string{"shard 2/3, not there: 12 of 12 runs", "shard 1/3 in b1, broken off: 2 of 14 runs"}},
	}
	repeat := "./chaos run redlock/hammer --on sim --guard none --seed 4"
	lost := runner.SeedFinding{Kind: "lost-update", Count: 2, Words: "1 increment is lost, \x1b[31mand a letter is red"}
	for _, seed := range []runner.Seed{
		{Seed: 2, Outcome: checker.Safe, Simulated: 10},
		{Seed: 5, Outcome: checker.Violated, Findings: []runner.SeedFinding{lost}, Simulated: 10, Repeat: repeat + "2", Hash: "h5"},
		{Seed: 4, Outcome: checker.Violated, Findings: []runner.SeedFinding{lost, {Kind: "orphan", Contained: true, Count: 1, Words: "it was held by nobody"}}, Simulated: 10, Repeat: repeat, Hash: "h4", Unstable: "other"},
		{Seed: 7, Outcome: checker.Inconclusive, Reasons: []string{"too few", "and too late"}, Simulated: 3, Repeat: repeat, Hash: "h7"},
		{Seed: 8, Error: "the oracles do not agree", Simulated: 3, Repeat: repeat, Hash: "h8"},
	} {
		seed.Scenario, seed.System, seed.Guard = "redlock/hammer", "redlock", "none"
		s.Add(seed)
	}
	s.Judge()
	return s
}

func TestSweep(t *testing.T) {
	var b bytes.Buffer
	if err := Sweep(&b, swept()); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/sweep.txt", b.String())
}

// Of two sweeps it is told what changed, and that a part of one is missing.
func TestCompareSweeps(t *testing.T) {
	other := swept()
	other.Tallies[1].Seeds, other.Tallies[1].Safe = 30, 30
	other.Tallies[0].Violated, other.Tallies[0].Safe, other.Tallies[0].Kinds = 0, 28, nil
	var b bytes.Buffer
	if err := NewComparison(SweepDigest(swept()), SweepDigest(other)).Terminal(&b); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/sweep-compare.txt", b.String())
}

// What is saved keeps to the published schema, which does not take anything.
func TestSweepSchema(t *testing.T) {
	s := swept()
	s.Shard, s.Suite = &results.Shard{Index: 1, Of: 3}, "mine"
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	sweeps := schema(t, "sweep.schema.json")
	if err := sweeps.Validate(value(t, b)); err != nil {
		t.Errorf("%v", err)
	}
	for was, now := range map[string]string{
		`"format":"lockchaos-sweep"`: `"format":"x"`, `"done":5`: `"done":-1`, `"of":3`: `"of":0`, `"kind":"lost-update"`: `"kind":7`,
		`"contained":true`: `"kontained":true`, `"lowest":[4,5]`: `"lowest":[4,"5"]`, `"hash":"h8"`: `"hush":"h8"`, `"outcome":"violated"`: `"outcome":"unlucky"`,
	} {
		if !bytes.Contains(b, []byte(was)) {
			t.Fatalf("the sweep has no %s:\n%s", was, b)
		}
		if sweeps.Validate(value(t, bytes.ReplaceAll(b, []byte(was), []byte(now)))) == nil {
			t.Errorf("the schema takes %s", now)
		}
	}
}

// A merge without all shards does not look green to whatever reads JUnit or a headline.
func TestMissing(t *testing.T) {
	runs := some()
	words := (&results.Merged{Of: 3, Missing: []string{"shard 2/3, not there: 12 of 12 runs"}}).Words()
	for _, s := range runs {
		s.Trust = &results.Trust{Missing: words, Doubts: []string{words}}
	}
	for name, f := range formats() {
		var with, without bytes.Buffer
		if err := f(&with, NewDigest(runs)); err != nil {
			t.Fatal(err)
		}
		if err := f(&without, NewDigest(some())); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(with.Bytes(), []byte("1 of 3 shards missing or incomplete")) || bytes.Contains(without.Bytes(), []byte("shards")) {
			t.Errorf("%s: it does not say what is missing, or says it where nothing is:\n%s", name, with.String())
		}
	}
	var b bytes.Buffer
	if err := JUnit(&b, NewDigest(runs)); err != nil || !bytes.Contains(b.Bytes(), []byte(`<testsuite name="shards" tests="1" failures="0" errors="1"`)) {
		t.Errorf("%v: nothing fails in\n%s", err, b.String())
	}
}
