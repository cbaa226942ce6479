package results

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/history"
	"lockchaos/scenario"
)

const repeated = `lock: {system: single, ttl: 300ms}
hosts: 2
workload: {kind: counter, rounds: 3, work: 5ms}
guards: [none, fence]
faults:
  - {fault: pause-host, hosts: [w1], from: after w1 read, for: 1s}
expect: {none: {outcome: violated}, fence: {outcome: safe}}
`

// savedAs writes a run directory with the manifest of a run, and the header of its history.
func savedAs(t *testing.T, m Manifest, yaml string) string {
	t.Helper()
	dir := t.TempDir()
	h, err := json.Marshal(history.Header{Format: history.Format, Version: history.Version,
		Scenario: "mine", World: "sim", Seed: 7, System: "single", Guard: "fence",
		TTL: 300 * time.Millisecond, Quorum: 1, Workload: "counter", Discipline: history.Trusting})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Save(dir, ManifestFile, m), SaveBytes(dir, ScenarioFile, []byte(yaml)),
		SaveBytes(dir, HistoryFile, append(h, '\n'))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func repeatable(t *testing.T, control bool) Manifest {
	t.Helper()
	s, err := scenario.Parse([]byte(repeated), "mine.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if control {
		s = s.WithoutFaults()
	}
	options, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return Manifest{Version: ManifestVersion, Key: Key{Scenario: "mine", Guard: "fence", Control: control, Trial: 1},
		World: "sim", Seed: 7, System: "single", Options: options}
}

// A run can be done again where all that is saved of it is of one run; its scenario
// is called as it was, though the file it now lies in is called otherwise.
func TestRepeatable(t *testing.T) {
	for _, control := range []bool{false, true} {
		m, s, err := Repeatable(savedAs(t, repeatable(t, control), repeated))
		if err != nil {
			t.Fatal(err)
		}
		if m.Seed != 7 || s.Name != "mine" || (len(s.Faults) == 0) != control {
			t.Errorf("control %v: seed %d of %s with %d faults", control, m.Seed, s.Name, len(s.Faults))
		}
	}
	canary := repeatable(t, false) // with one guard of its scenario's
	if canary.replace(`"guards": ["none", "fence"]`, `"guards": ["fence"]`); !strings.Contains(string(canary.Options), `["fence"]`) {
		t.Fatalf("the options are written otherwise: %s", canary.Options)
	}
	if _, _, err := Repeatable(savedAs(t, canary, repeated)); err != nil {
		t.Errorf("a canary: %v", err)
	}
	dir := savedAs(t, repeatable(t, false), repeated)
	if err := os.Remove(filepath.Join(dir, HistoryFile)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Repeatable(dir); err != nil {
		t.Errorf("without a history: %v", err)
	}
}

// What was changed by hand, or is of another run, is refused with its name and value.
func TestNotRepeatable(t *testing.T) {
	for says, change := range map[string]func(m *Manifest){
		`the world is "moon", expected one of local, remote, sim`: func(m *Manifest) { m.World = "moon" },
		`the world is "", expected one of`:                        func(m *Manifest) { m.World = "" },
		`the world is "local", and in history.jsonl it is "sim"`:  func(m *Manifest) { m.World = "local" },
		`the trial is 0`:     func(m *Manifest) { m.Trial = 0 },
		`manifest version 2`: func(m *Manifest) { m.Version = 2 },
		`manifest version 0`: func(m *Manifest) { m.Version = 0 },
		`the guard is "moat", and its scenario has none, fence`:      func(m *Manifest) { m.Guard = "moat" },
		`the guard is "none", and in history.jsonl it is "fence"`:    func(m *Manifest) { m.Guard = "none" },
		`the seed is 8, and in history.jsonl it is 7`:                func(m *Manifest) { m.Seed = 8 },
		`the system is "redlock", and its scenario has single`:       func(m *Manifest) { m.System = "redlock" },
		`the scenario is "yours", and in history.jsonl it is "mine"`: func(m *Manifest) { m.Scenario = "yours"; m.rename("yours") },
		`options.faults is [`: func(m *Manifest) { m.Control = true },
		`options.workload.rounds is 4, and by scenario.yaml it is 3`:          func(m *Manifest) { m.replace(`"rounds": 3`, `"rounds": 4`) },
		`options.hosts is absent, and by scenario.yaml it is 2`:               func(m *Manifest) { m.replace(`"hosts": 2, `, ``) },
		`options.deadline is absent, and by scenario.yaml it is "30s"`:        func(m *Manifest) { m.Options = nil },
		`options.faults[0].for is "2s", and by scenario.yaml it is "1s": one`: func(m *Manifest) { m.replace(`"for": "1s"`, `"for": "2s"`) },
	} {
		m := repeatable(t, false)
		change(&m)
		dir := savedAs(t, m, repeated)
		var file *FileError
		_, _, err := Repeatable(dir)
		if !errors.As(err, &file) || file.Path != filepath.Join(dir, ManifestFile) || !strings.Contains(err.Error(), says) {
			t.Errorf("expected %q, not %v", says, err)
		}
	}
	named := "name: other\n" + repeated
	if _, _, err := Repeatable(savedAs(t, repeatable(t, false), named)); err == nil || !strings.Contains(err.Error(), `the scenario is "mine", and scenario.yaml is "other"`) {
		t.Errorf("another name: %v", err)
	}
	onReal := repeated + "worlds: [local]\n"
	if _, _, err := Repeatable(savedAs(t, repeatable(t, false), onReal)); err == nil || !strings.Contains(err.Error(), `the world is "sim", and its scenario is not for that`) {
		t.Errorf("another world: %v", err)
	}
	without := repeatable(t, true)
	if _, _, err := Repeatable(savedAs(t, without, repeated+"control: none\n")); err == nil || !strings.Contains(err.Error(), "it is a control, and its scenario has none") {
		t.Errorf("a control that cannot be: %v", err)
	}
}

// replace changes the options as an editor would.
func (m *Manifest) replace(from, to string) {
	m.Options = json.RawMessage(strings.Replace(string(m.Options), from, to, 1))
}

func (m *Manifest) rename(to string) { m.replace(`"name": "mine"`, `"name": "`+to+`"`) }

// A program of another version is told of.
func TestUnlike(t *testing.T) {
	was := Machine{Commit: "abc", Go: "go1.25", Redis: "7.0", Modules: map[string]string{modules[0]: "v4.1", modules[1]: "v9"}}
	now := Machine{Commit: "", Go: "go1.26", Redis: "7.2", Modules: map[string]string{modules[0]: "v4.2", modules[1]: "v9"}}
	got := strings.Join(was.Unlike(now), "; ")
	if got != "commit abc, now unknown; Go go1.25, now go1.26; "+modules[0]+" v4.1, now v4.2" {
		t.Errorf("it says %s", got)
	}
	if same := was.Unlike(was); len(same) > 0 {
		t.Errorf("unlike itself: %v", same)
	}
}
