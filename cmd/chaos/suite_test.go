package main

import (
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/results"
)

// An embedded suite runs from a binary that lies anywhere, by its name and by its
// path; what came of it is in the summary.
func TestSuite(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"quick", "suites/quick.yaml"} {
		t.Run(arg, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			c := command(t, "run", arg, "--on", "sim", "--results", root)
			c.expect(t, results.ExitExpected, "canary: single/pause-after-acquire guard none is violated, as it must be",
				"controls, the same without faults: 4 of 4 as expected", "fewest operations around one fault: operations before/during/after f1", "all as expected")
			s := summaryOf(t, root)
			if s.Suite != "quick" || s.World != "sim" || s.Canary == nil || !s.Canary.Found || len(s.Controls) != 4 || len(s.Doubts) > 0 {
				t.Errorf("%+v", s)
			}
			if first := s.Runs[0]; !first.Canary || first.Trust.Canary != checker.Violated {
				t.Errorf("the first run is %s, which rests on %+v", first.Key, first.Trust)
			}
			for _, a := range s.Runs {
				if want := checker.Safe; a.Suite != "quick" || !a.Control && strings.HasSuffix(a.Scenario, "pause-after-acquire") && a.Trust.Control != want {
					t.Errorf("%s of suite %s rests on %+v", a.Key, a.Suite, a.Trust)
				}
			}
			before := verdicts(t, root)
			command(t, "check", root).expect(t, results.ExitExpected, "canary: ", "all as expected")
			if after := verdicts(t, root); before != after {
				t.Errorf("the verdicts differ.\nbefore: %s\nafter: %s", before, after)
			}
		})
	}
}

// suite writes a suite of one line each, and returns its path.
func suite(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	write(t, file, "suite: mine\n"+strings.Join(lines, "\n")+"\n")
	return file
}

func TestWrongSuites(t *testing.T) {
	bad := suite(t, "scenarios:", "  - single/baseline", "  - {scenario: single/nonsense}")
	sim := suite(t, "canary: redlock/hammer", "scenarios: [single/baseline]")
	for name, c := range map[string]struct {
		args []string
		says []string
	}{
		"unknown entry":     {[]string{"run", bad}, []string{bad + ":4: scenarios[1]", "single/nonsense"}},
		"two suites":        {[]string{"run", "quick", "full"}, []string{"quick is a suite", "run by itself"}},
		"suite and more":    {[]string{"run", "single/baseline", "quick"}, []string{"quick is a suite", "run by itself"}},
		"unknown suite":     {[]string{"run", "suites/nonsense.yaml"}, []string{"no file suites/nonsense.yaml"}},
		"canary of a world": {[]string{"run", sim}, []string{"canary redlock/hammer cannot run with --on local"}},
		"guard of none":     {[]string{"run", suite(t, "scenarios: [redlock/baseline]"), "--guard", "fence"}, []string{"no scenario has such a guard"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, c.args...).expect(t, results.ExitUsage, c.says...)
		})
	}
}

// A suite says how often, and the command line has the last word. The canary is
// one of the runs, or one more.
func TestSuiteTrials(t *testing.T) {
	t.Parallel()
	file := suite(t, "scenarios: [{scenario: single/baseline, guards: [none], trials: 3}]")
	for want, args := range map[string][]string{"4 runs on sim": nil, "3 runs on sim": {"--trials", "2"}} {
		command(t, append([]string{"run", file, "--on", "sim", "--results", t.TempDir()}, args...)...).expect(t, results.ExitExpected, want)
	}
	same := suite(t, "scenarios: [{scenario: single/overrun, guards: [none]}]", "canary: single/overrun")
	command(t, "run", same, "--on", "sim", "--results", t.TempDir()).expect(t, results.ExitExpected, "2 runs on sim", "canary: single/overrun guard none is violated")
}

// A canary that was made safe: every run is as expected, and the suite proves nothing.
func TestSafeCanary(t *testing.T) {
	t.Parallel()
	for _, world := range []string{"sim", "local"} {
		root := t.TempDir()
		command(t, "run", suite(t, "scenarios: [single/kill-holder]", "canary: single/baseline"), "--on", world, "--results", root).
			expect(t, results.ExitInconclusive, "NOT TO BE TRUSTED: 4 runs (marked ?)",
				"the canary single/baseline guard none must be violated and is not: it is safe", "as expected, BUT, 4 NOT to be trusted")
		if s := summaryOf(t, root); s.ExitCode != results.ExitInconclusive || s.Canary.Found || len(s.Doubts) != 1 {
			t.Errorf("%+v", s)
		}
		command(t, "check", root).expect(t, results.ExitInconclusive, "the canary single/baseline guard none must be violated")
		dirs, err := results.Runs(root)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs { // also one by one
			command(t, "check", dir).expect(t, results.ExitInconclusive, "NOT TO BE TRUSTED")
		}
	}
}

// slow works longer than its lease, fault or no fault.
const slow = `lock: {system: single, ttl: 300ms}
hosts: 2
workload: {kind: counter, rounds: 2, work: 400ms}
guards: [none]
faults:
  - {fault: delay, latency: 1ms, from: after w1 acquired, for: 100ms}
expect:
  none: {outcome: violated, findings: [stale-holder], may: [stale-write, lost-update, silent-loss]}
`

// A control that fails as the run does: its finding is not the fault's doing.
func TestViolatedControl(t *testing.T) {
	t.Parallel()
	file, root := filepath.Join(t.TempDir(), "slow.yaml"), t.TempDir()
	write(t, file, slow)
	command(t, "run", file, "--on", "sim", "--results", root).expect(t, results.ExitUnexpected,
		"NOT AS EXPECTED: slow guard none control", "NOT TO BE TRUSTED: 1 run (marked ?)",
		"the control of slow, the same without its faults, is not as expected: the outcome is violated, expected safe", "0 of 1 as expected")
	s := summaryOf(t, root)
	if len(s.Controls) != 1 || s.Controls[0].Outcome != checker.Violated || s.Runs[0].Trusted() || !s.Runs[0].AsExpected || !s.Runs[1].Trusted() {
		t.Errorf("%+v", s.Controls)
	}
	command(t, "check", root).expect(t, results.ExitUnexpected, "NOT TO BE TRUSTED")
	run, err := filepath.Glob(filepath.Join(root, "*", "slow", "none"))
	if err != nil || len(run) != 1 {
		t.Fatal(run, err)
	}
	command(t, "check", run[0]).expect(t, results.ExitInconclusive, "NOT TO BE TRUSTED")
}

// A fault that nobody meets proves nothing, though another one has been met.
func TestUnmetFault(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "idle.yaml")
	write(t, file, `lock: {system: single, ttl: 300ms}
hosts: 1
workload: {kind: counter, rounds: 3, work: 1ms, rest: 400ms}
guards: [none]
faults:
  - {fault: delay, latency: 1ms, from: before w1 acquires 2, until: after w1 acquired}
  - {fault: delay, latency: 1ms, from: after w1 released 2, for: 100ms}
expect:
  none: {outcome: safe}
`)
	for _, world := range []string{"sim", "local"} {
		command(t, "run", file, "--on", world, "--results", t.TempDir()).expect(t, results.ExitInconclusive,
			"too few acquires under way during fault f2 (delay): 0", "operations before/during/after f1 (delay): 1, 1 granted / 1, ")
	}
}
