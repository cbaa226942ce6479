package results

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"lockchaos/scenario"
)

func TestKey(t *testing.T) {
	for _, c := range []struct {
		key        Key
		path, text string
	}{
		{Key{"single/baseline", "none", false, 1}, "single.baseline/none/t1", "single/baseline guard none"},
		{Key{"a/b/c", "fence", true, 3}, "a.b.c/fence+control/t3", "a/b/c guard fence control trial 3"},
	} {
		if got := c.key.Path(); got != c.path {
			t.Errorf("path %q, expected %q", got, c.path)
		}
		if got := c.key.String(); got != c.text {
			t.Errorf("text %q, expected %q", got, c.text)
		}
	}
}

func TestWorse(t *testing.T) {
	order := []int{ExitUnexpected, ExitHarness, ExitInconclusive, ExitAvailability, ExitExpected}
	for i, worse := range order {
		for _, better := range order[i:] {
			if Worse(worse, better) != worse || Worse(better, worse) != worse {
				t.Errorf("of %d and %d, %d is the worse", worse, better, worse)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	differ := func(kinds ...scenario.DifferenceKind) []scenario.Difference {
		var all []scenario.Difference
		for _, k := range kinds {
			all = append(all, scenario.Difference{Kind: k})
		}
		return all
	}
	for name, c := range map[string]struct {
		a    Assessment
		want int
	}{
		"as expected":  {Assessment{AsExpected: true}, ExitExpected},
		"safety":       {Assessment{Differences: differ(scenario.Availability, scenario.Safety)}, ExitUnexpected},
		"proof":        {Assessment{Differences: differ(scenario.Availability, scenario.Proof)}, ExitInconclusive},
		"availability": {Assessment{Differences: differ(scenario.Availability)}, ExitAvailability},
		"error":        {Assessment{Error: "x", Differences: differ(scenario.Proof)}, ExitHarness},
		"both":         {Assessment{Error: "x", Differences: differ(scenario.Safety)}, ExitUnexpected},
	} {
		if got := c.a.ExitCode(); got != c.want {
			t.Errorf("%s: exit code %d, expected %d", name, got, c.want)
		}
	}
}

// A file is written whole or not at all: a failed write leaves the old one.
func TestSave(t *testing.T) {
	dir := t.TempDir()
	if err := Save(dir, "x.json", []int{1}); err != nil {
		t.Fatal(err)
	}
	if err := Save(dir, "x.json", make(chan int)); err == nil {
		t.Error("a value that JSON cannot hold was saved")
	}
	var got []int
	if err := Load(dir, "x.json", &got); err != nil || !slices.Equal(got, []int{1}) {
		t.Errorf("loaded %v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Load(dir, "bad.json", &got); err == nil {
		t.Error("broken JSON was loaded")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestRuns(t *testing.T) {
	root := t.TempDir()
	if _, err := Runs(root); err == nil {
		t.Error("a directory without a run is no error")
	}
	batch, err := NewBatch(root, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for trial := 1; trial <= 2; trial++ {
		dir, err := Create(batch, Key{Scenario: "s/x", Guard: "none", Trial: trial})
		if err != nil {
			t.Fatal(err)
		}
		if err := Save(dir, ManifestFile, Manifest{}); err != nil {
			t.Fatal(err)
		}
		want = append(want, dir)
	}
	for _, at := range []string{root, batch} {
		if got, err := Runs(at); err != nil || !slices.Equal(got, want) {
			t.Errorf("runs at %s: %v %v, expected %v", at, got, err, want)
		}
	}
}
