package results

import (
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/scenario"
)

// ran is a run of a batch; outcome "error" is one without a verdict.
func ran(key Key, outcome checker.Outcome, as bool) *Assessment {
	a := &Assessment{Key: key, AsExpected: as}
	if outcome == failed {
		a.Error = "no redis"
		return a
	}
	a.Verdict = &checker.Verdict{Outcome: outcome}
	if !as {
		kind := scenario.Safety
		if outcome == checker.Inconclusive {
			kind = scenario.Proof
		}
		a.Differences = []scenario.Difference{{Kind: kind, Text: "the outcome is " + string(outcome) + ", expected another"}}
	}
	return a
}

func found(a *Assessment) *Assessment {
	a.Verdict.Oracles = []checker.OracleReport{{Property: "beliefs", Sweep: "illegal", Porcupine: "illegal"}}
	return a
}

// Each sabotage takes the trust from the runs that it concerns, and from no other,
// and the exit code says so.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name    string
		canary  *Assessment
		control *Assessment
		code    int
		doubted string // runs that are not to be trusted
		says    string
	}{
		{"all is well", found(ran(Key{Scenario: "c"}, checker.Violated, true)), ran(Key{}, checker.Safe, true), ExitExpected, "", ""},
		{"no canary", nil, ran(Key{}, checker.Safe, true), ExitExpected, "", ""},
		{"canary made safe, and expected to be", ran(Key{Scenario: "c"}, checker.Safe, true), ran(Key{}, checker.Safe, true), ExitInconclusive, "c s control other", "must be violated and is not: it is safe"},
		{"canary inconclusive", ran(Key{Scenario: "c"}, checker.Inconclusive, false), ran(Key{}, checker.Safe, true), ExitInconclusive, "c s control other", "it is inconclusive"},
		{"canary failed", ran(Key{Scenario: "c"}, failed, false), ran(Key{}, checker.Safe, true), ExitHarness, "c s control other", "it failed: no redis"},
		{"canary found by one oracle", ran(Key{Scenario: "c"}, checker.Violated, true), ran(Key{}, checker.Safe, true), ExitInconclusive, "c s control other", "nothing that both oracles found"},
		{"control violated", nil, ran(Key{}, checker.Violated, false), ExitUnexpected, "s", "the outcome is violated"},
		{"control inconclusive", nil, ran(Key{}, checker.Inconclusive, false), ExitInconclusive, "s", "the outcome is inconclusive"},
		{"control failed", nil, ran(Key{}, failed, false), ExitHarness, "s", "it failed: no redis"},
		{"control violated as expected", nil, ran(Key{}, checker.Violated, true), ExitExpected, "", ""},
	} {
		c.control.Key = Key{Scenario: "s", Control: true, Trial: 1}
		runs := map[string]*Assessment{
			"s": ran(Key{Scenario: "s"}, checker.Violated, true), "other": ran(Key{Scenario: "other"}, checker.Safe, true), "control": c.control,
		}
		as := []*Assessment{runs["s"], runs["other"], ran(Key{Scenario: "s", Control: true, Trial: 2}, checker.Safe, true), c.control}
		if c.canary != nil {
			c.canary.Canary = true
			runs["c"] = c.canary
			as = append(as, c.canary)
		}
		Settle(as)
		sum := Summarise("x", "sim", nil, as)
		if sum.ExitCode != c.code {
			t.Errorf("%s: exit code %d, want %d", c.name, sum.ExitCode, c.code)
		}
		for name, a := range runs {
			if doubted := strings.Contains(" "+c.doubted+" ", " "+name+" "); a.Trusted() == doubted {
				t.Errorf("%s: %s trusted: %t", c.name, name, a.Trusted())
			}
		}
		if says := strings.Join(sum.Doubts, "\n"); !strings.Contains(says, c.says) || (says == "") != (c.says == "") {
			t.Errorf("%s: it says %q, want %q", c.name, says, c.says)
		}
		if w := sum.Controls; len(w) != 1 || w[0].Trials != 2 || w[0].Scenario != "s" || w[0].Outcome != c.control.outcome() && !c.control.AsExpected {
			t.Errorf("%s: controls %+v", c.name, w)
		}
		if got := runs["s"].Trust.Control; got != c.control.outcome() && !c.control.AsExpected {
			t.Errorf("%s: the run rests on a control that is %s", c.name, got)
		}
		if (sum.Canary != nil) != (c.canary != nil) || sum.Canary != nil && sum.Canary.Found != !strings.Contains(c.doubted, "c ") {
			t.Errorf("%s: canary %+v", c.name, sum.Canary)
		}
	}
}

// A run that is looked at without its batch keeps what it was told, and the runs
// of two batches are told nothing of each other.
func TestSettleAll(t *testing.T) {
	root := t.TempDir()
	at := func(batch string, a *Assessment) *Assessment {
		var err error
		if a.Dir, err = Create(filepath.Join(root, batch), a.Key); err != nil {
			t.Fatal(err)
		}
		return a
	}
	run := func() *Assessment { return ran(Key{Scenario: "s", Guard: "none", Trial: 1}, checker.Safe, true) }
	bad := at("b1", ran(Key{Scenario: "s", Guard: "none", Control: true, Trial: 1}, checker.Violated, false))
	one, two := at("b1", run()), at("b2", run())
	if err := SettleAll([]*Assessment{one, two, bad}); err != nil {
		t.Fatal(err)
	}
	if one.Trusted() || !two.Trusted() {
		t.Errorf("trusted: %t, %t", one.Trusted(), two.Trusted())
	}
	var saved Assessment
	if err := Load(one.Dir, VerdictFile, &saved); err != nil || saved.Trusted() || saved.Trust.Control != checker.Violated {
		t.Errorf("saved: %+v, %v", saved.Trust, err)
	}
	alone := at("b1", run())
	alone.Trust = trust(alone.Dir)
	if err := SettleAll([]*Assessment{alone}); err != nil || alone.Trusted() {
		t.Errorf("alone it is trusted, %v", err)
	}
}
