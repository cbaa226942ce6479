package runner

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/cluster/sim"
	"lockchaos/faults"
	"lockchaos/locks"
	"lockchaos/scenario"
)

// shrinker looks for a finding of a scenario with little patience.
func shrinker(t *testing.T, guard, kind string, seed int64) *Shrinker {
	return &Shrinker{Bubble: func(f func()) { sim.Bubble(t, f) }, World: simWorld{}, Guard: guard,
		Seed: seed, Seeds: 2, Kind: kind, Budget: 12}
}

// alone runs what was written, as one who has nothing but the file, and returns
// what it gives. It must be as the file expects.
func alone(t *testing.T, f Shrunk) []string {
	t.Helper()
	file, err := f.File()
	if err != nil {
		t.Fatalf("%s: %v", f.kind, err)
	}
	s, err := scenario.Parse(file.Source, filepath.Join("elsewhere", "shrunk.yaml"))
	if err != nil {
		t.Fatalf("%s: %v", f.kind, err)
	}
	h, _ := simulate(t, s, f.guard, f.Seed)
	v := verdict(t, s, f.guard, h)
	if diffs := s.Expected(f.guard, false).Against(v); len(diffs) > 0 {
		t.Errorf("%s guard %s, for %s: alone it is not as it expects: %v", s.Name, f.guard, f.kind, diffs)
	}
	var kinds []string
	for _, finding := range v.Findings {
		kinds = append(kinds, finding.Kind())
	}
	return kinds
}

// Whatever is shrunk for whatever finding: the file can be read, gives the finding
// by itself, no safety finding that was not there before, and what it expects.
func TestShrunkFiles(t *testing.T) {
	pairs, smaller := 0, 0
	for _, s := range catalogue(t, scenario.Simulation) {
		if s.Hammer != nil {
			continue
		}
		guard := s.Guards[0]
		first := runSeed(func(f func()) { sim.Bubble(t, f) }, simWorld{}, s, guard, 1)
		if first.Simulated > 3 { // much to run, and nothing of its own to drop
			continue
		}
		for _, finding := range first.Findings {
			pairs++
			k := shrinker(t, guard, finding.Kind, 1)
			if err := k.Shrink(t.Context(), s); err != nil {
				t.Errorf("%s guard %s, for %s: %v", s.Name, guard, finding.Kind, err)
				continue
			}
			f := k.Found()
			if f.Scenario == nil {
				continue
			}
			smaller++
			kinds := alone(t, f)
			if !slices.Contains(kinds, finding.Kind) {
				t.Errorf("%s guard %s: no %s alone, but %v", s.Name, guard, finding.Kind, kinds)
			}
			for _, kind := range kinds {
				id, _, _ := strings.Cut(kind, "/")
				if checker.Safety(id) && !safety(first)[kind] {
					t.Errorf("%s guard %s, for %s: %s is new", s.Name, guard, finding.Kind, kind)
				}
			}
		}
	}
	t.Logf("%d of %d pairs made smaller", smaller, pairs)
	if smaller < 50 {
		t.Errorf("only %d of %d pairs were made smaller", smaller, pairs)
	}
}

// A lost update of a host that was stopped is not shrunk to one of a server that
// lost its keys: that has a double grant, which the run had not. One pause is enough,
// at a time that can be read.
func TestShrinkKeepsTheFault(t *testing.T) {
	all := catalogue(t, scenario.Simulation)
	s := all[slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.Name == "redlock/hammer" })]
	drawn, err := s.Drawn(7)
	if err != nil {
		t.Fatal(err)
	}
	k := shrinker(t, "none", checker.LostUpdate, 7)
	k.Seeds, k.Budget = 10, 1000
	if err := k.Shrink(t.Context(), drawn); err != nil {
		t.Fatal(err)
	}
	f := k.Found()
	if f.Runs >= k.Budget {
		t.Errorf("it took all %d runs", f.Runs)
	}
	kinds := alone(t, f)
	if slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(kind, checker.DoubleGrant) }) {
		t.Errorf("another fault: %v", kinds)
	}
	fs := f.Scenario.Faults
	if len(fs) != 1 || fs[0].Kind != "pause-host" || fs[0].From.At%time.Millisecond != 0 || fs[0].For.D()%time.Millisecond != 0 {
		t.Errorf("expected one pause, in whole milliseconds: %+v", fs)
	}
	if f.Scenario.Name != "redlock/hammer-shrunk" {
		t.Errorf("it is called %s", f.Scenario.Name)
	}
}

// What is the same finding.
func TestSameFinding(t *testing.T) {
	found := func(kinds ...string) (s Seed) {
		for _, kind := range kinds {
			s.Findings = append(s.Findings, SeedFinding{Kind: kind})
		}
		return s
	}
	const split, loss = checker.DoubleGrant + "/" + checker.CauseSplit, checker.DoubleGrant + "/" + checker.CauseStateLoss
	for name, c := range map[string]struct {
		kind  string
		first Seed
		now   Seed
		same  bool
	}{
		"the same":            {checker.LostUpdate, found(checker.LostUpdate), found(checker.LostUpdate), true},
		"fewer":               {checker.LostUpdate, found(checker.LostUpdate, split), found(checker.LostUpdate), true},
		"gone":                {checker.LostUpdate, found(checker.LostUpdate, split), found(split), false},
		"another beside it":   {checker.LostUpdate, found(checker.LostUpdate), found(checker.LostUpdate, split), false},
		"another cause":       {checker.DoubleGrant, found(split), found(loss), false},
		"any cause":           {checker.DoubleGrant, found(split, loss), found(loss), true},
		"no matter of safety": {checker.LostUpdate, found(checker.LostUpdate), found(checker.LostUpdate, checker.Orphan), true},
	} {
		k := &Shrinker{Kind: c.kind, had: safety(c.first)}
		if k.same(c.now) != c.same {
			t.Errorf("%s: expected %v", name, c.same)
		}
	}
}

// A signal leaves what was found until then, which can be asked for at any time.
func TestShrinkBrokenOff(t *testing.T) {
	all := catalogue(t, scenario.Simulation)
	s := all[slices.IndexFunc(all, func(s *scenario.Scenario) bool { return s.Name == "single-bare-del/overrun" })]
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	k := shrinker(t, "none", checker.LostUpdate, 1)
	var meanwhile Shrunk
	k.Tried = func(int, *scenario.Scenario) {
		if meanwhile = k.Found(); meanwhile.Scenario != nil {
			cancel(why)
		}
	}
	if err := k.Shrink(ctx, s); !errors.Is(err, why) {
		t.Fatalf("it ends with %v", err)
	}
	f := k.Found()
	if f.Scenario == nil || f.Scenario != meanwhile.Scenario || f.Runs != meanwhile.Runs {
		t.Errorf("it went on after the signal: %+v, %+v", f, meanwhile)
	}
	alone(t, f)

	again := shrinker(t, "none", checker.LostUpdate, 1)
	if err := again.Shrink(ctx, s); !errors.Is(err, why) || again.Found().Scenario != nil || again.Found().Runs != 0 {
		t.Errorf("broken off before it began: %v, %+v", err, again.Found())
	}
}

// A host that goes takes with it all that names it.
func TestWithoutHost(t *testing.T) {
	s, err := scenario.Parse([]byte(`lock: {system: redlock, ttl: 500ms}
hosts: 3
workload: {kind: counter, rounds: 1}
guards: [none]
order: [w1 acquires after w3 acquired, w3 acquires 2 after w1 acquired, w2 acquires after w1 acquired, w1 reads at 5ms]
faults:
  - {fault: hold, hosts: [w1, w3], from: at 1ms, for: 1ms}
  - {fault: hold, hosts: [w3], from: at 1ms, for: 1ms}
  - {fault: hold, from: at 3ms, for: 1ms}
  - {fault: hold, from: after w3 read, for: 1ms}
  - {fault: hold, from: at 1ms, until: after w3 read}
  - {fault: hold, from: after w2 read, until: after w1 read}
expect: {none: {outcome: any}}
`), "three.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := shrinker(t, "none", "", 1)
	k.ctx = t.Context()
	two, err := k.file(without(*s, "w3"))
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, o := range two.Order {
		left = append(left, o.String())
	}
	for _, f := range two.Faults {
		left = append(left, strings.Join(f.Hosts, "+")+" "+f.From.String())
	}
	want := []string{"w2 acquires after w1 acquired", "w1 reads at 5ms", "w1 at 1ms", " at 3ms", " after w2 read"}
	if !slices.Equal(left, want) {
		t.Errorf("left: %q, expected %q", left, want)
	}
	s.Hosts = 2 // and what names w3 is left
	if _, err := k.file(*s); err == nil || k.keep(*s) || k.runs > 0 {
		t.Errorf("it is tried as no file could be: %v", err)
	}
	if len(s.Order) != 4 || len(s.Faults) != 6 || len(s.Faults[0].Hosts) != 2 {
		t.Error("the scenario itself was changed")
	}
}

// Times are rounded, unless that brings two to one instant or leaves none.
func TestRounded(t *testing.T) {
	us := func(n int) time.Duration { return time.Duration(n) * time.Microsecond }
	at := func(from, long int) faults.Spec {
		f := faults.Spec{From: faults.At(us(from)), For: locks.Duration(us(long))}
		roundStart(&f)
		roundLengths(&f)
		return f
	}
	if f := at(4324_899, 1740); f.From.String() != "at 4.325s" || f.For.String() != "2ms" {
		t.Errorf("rounded to %s, %s", f.From, f.For)
	}
	if f := at(300, 400); f.From.String() != "at 300µs" || f.For.String() != "400µs" {
		t.Errorf("too short to be rounded, and is %s, %s", f.From, f.For)
	}
	for name, c := range map[string]struct {
		list  []faults.Spec
		apart bool
	}{
		"two starts":        {[]faults.Spec{at(1900, 5000), at(2100, 6000)}, false},
		"a start at an end": {[]faults.Spec{at(1000, 2000), at(3000, 6000)}, false},
		"apart":             {[]faults.Spec{at(1000, 2000), at(4000, 6000), {}, {}}, true},
	} {
		if apart(c.list) != c.apart {
			t.Errorf("%s: expected apart %v", name, c.apart)
		}
	}
}
