package results

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lockchaos/checker"
)

var names = []string{"c", "s1", "s2", "s3", "s4"} // c is the canary

// shard saves a shard of three in which all was as it must be. change may alter a
// run before it is saved, and says false for one that is broken off.
func shard(t *testing.T, root string, index int, change func(*Assessment) bool) string {
	t.Helper()
	p := plan(Shard{index, 3}, names...)
	dir, err := os.MkdirTemp(root, "shard-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Save(dir); err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Mine() {
		a := ran(r.Key, checker.Safe, true)
		if r.Canary {
			a = found(ran(r.Key, checker.Violated, true))
		}
		a.World, a.Suite, a.Canary = "sim", "mine", r.Canary
		whole := change == nil || change(a)
		if a.Dir, err = Create(dir, r.Key); err != nil {
			t.Fatal(err)
		}
		m := Manifest{Version: 1, Key: r.Key, World: a.World, Suite: a.Suite, Error: a.Error}
		if err := Save(a.Dir, ManifestFile, m); err != nil {
			t.Fatal(err)
		}
		if err := SaveBytes(a.Dir, HistoryFile, []byte(r.Key.String())); err != nil {
			t.Fatal(err)
		}
		if whole {
			if err := a.SaveVerdict(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// merge merges what lies below root. After an error nothing may be left of it.
func merge(t *testing.T, root string) (dir string, sum *Summary, err error) {
	t.Helper()
	out := t.TempDir()
	defer func() {
		if left := tree(t, out); err != nil && len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}()
	found, err := FindShards([]string{root})
	if err != nil {
		return "", nil, err
	}
	set, err := Together(found, false, RunsState)
	if err != nil {
		return "", nil, err
	}
	return set.Merge(out)
}

// tree is every file below root with what it holds.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		all[p] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestMerge(t *testing.T) {
	broken := func(name string) func(*Assessment) bool {
		return func(a *Assessment) bool { return a.Scenario != name }
	}
	unseen := func(a *Assessment) bool {
		if a.Canary {
			a.Verdict.Outcome, a.Verdict.Oracles = checker.Safe, nil
		}
		return true
	}
	surprised := func(a *Assessment) bool {
		if a.Scenario == "s2" {
			*a = *ran(a.Key, checker.Violated, false)
			a.World, a.Suite = "sim", "mine"
		}
		return true
	}
	for name, c := range map[string]struct {
		make    func(root string)
		code    int
		runs    string // scenarios, in order
		missing string // what is said of it
		doubt   string
		aside   int
	}{
		"all": {func(r string) { shard(t, r, 2, nil); shard(t, r, 0, nil); shard(t, r, 1, nil) }, ExitExpected, "c s1 s2 s3 s4", "", "", 0},
		"one is missing": {func(r string) { shard(t, r, 2, nil); shard(t, r, 0, nil) }, ExitInconclusive, "c s1 s3 s4",
			"1 of 3 shards missing or incomplete, so this proves nothing for the rest: shard 1/3, not there: 2 of 2 runs", "1 of 3 shards missing", 0},
		"one is broken off": {func(r string) { shard(t, r, 2, nil); shard(t, r, 0, broken("s4")); shard(t, r, 1, nil) }, ExitInconclusive, "c s1 s2 s3",
			"broken off: 1 of 3 runs: s4 guard none", "1 of 3 shards", 0},
		"a canary is missing": {func(r string) { shard(t, r, 2, nil); shard(t, r, 0, broken("c")); shard(t, r, 1, nil) }, ExitInconclusive, "c s1 s2 s3 s4",
			"broken off: 1 of 3 runs: c guard none", "1 of 3 shards", 0},
		"a canary was not found": {func(r string) { shard(t, r, 2, nil); shard(t, r, 0, nil); shard(t, r, 1, unseen) }, ExitInconclusive, "c s1 s2 s3 s4", "",
			"the canary c guard none must be violated and is not", 0},
		"a surprise, and one is missing": {func(r string) { shard(t, r, 1, surprised) }, ExitUnexpected, "c s2", "2 of 3 shards missing", "2 of 3 shards", 0},
		"nothing was done":               {func(r string) { shard(t, r, 1, func(*Assessment) bool { return false }) }, ExitInconclusive, "", "3 of 3 shards missing", "", 0},
		"one was done again": {func(r string) {
			shard(t, r, 2, nil)
			shard(t, r, 0, broken("s4"))
			shard(t, r, 0, nil)
			shard(t, r, 1, nil)
		}, ExitExpected, "c s1 s2 s3 s4", "", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.make(root)
			before := tree(t, root)
			dir, sum, err := merge(t, root)
			if err != nil {
				t.Fatal(err)
			}
			var runs []string
			for _, a := range sum.Runs {
				runs = append(runs, a.Scenario)
				if got, err := os.ReadFile(filepath.Join(dir, a.Path(), HistoryFile)); err != nil || string(got) != a.Key.String() {
					t.Errorf("history of %s: %q, %v", a.Key, got, err)
				}
				var saved Assessment
				if err := Load(filepath.Join(dir, a.Path()), VerdictFile, &saved); err != nil || saved.Trusted() != (c.doubt == "") {
					t.Errorf("%s is trusted: %t, %v", a.Key, saved.Trusted(), err)
				}
			}
			if sum.ExitCode != c.code || strings.Join(runs, " ") != c.runs {
				t.Errorf("exit code %d with %s, expected %d with %s", sum.ExitCode, runs, c.code, c.runs)
			}
			if says := sum.Merged.Words(); !strings.Contains(says, c.missing) || (says == "") != (c.missing == "") {
				t.Errorf("missing: %q", says)
			}
			if says := strings.Join(sum.Doubts, "; "); !strings.Contains(says, c.doubt) || (says == "") != (c.doubt == "") {
				t.Errorf("doubts: %q", says)
			}
			if len(sum.Merged.Aside) != c.aside {
				t.Errorf("aside: %v", sum.Merged.Aside)
			}
			// What is missing is not forgotten when the runs are settled again.
			if err := SettleAll(sum.Runs); err != nil || c.missing != "" && c.runs != "" && sum.Runs[0].Trusted() {
				t.Errorf("settled again it is trusted, %v", err)
			}
			if after := tree(t, root); !same(before, after) {
				t.Error("the shards are not as they were")
			}
		})
	}
}

func same(a, b map[string]string) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return slices.Equal(x, y)
}

// What does not belong together is refused, and nothing is left of the try.
func TestMergeRefuses(t *testing.T) {
	alter := func(dir, file, from, to string) {
		path := filepath.Join(dir, file)
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), from) {
			t.Fatalf("%s: %v\n%s", path, err, b)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(b), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s1 := filepath.Join("s1", "none", "t1")
	for name, c := range map[string]struct {
		make func(root string)
		says string
	}{
		"no shard":  {func(r string) {}, "no shard in there (no shard.json)"},
		"no plan":   {func(r string) { d := shard(t, r, 0, nil); alter(d, ShardFile, `"sim"`, `1`) }, "shard.json: json: cannot unmarshal number"},
		"twice":     {func(r string) { shard(t, r, 0, nil); shard(t, r, 0, nil) }, "shard.json: shard 0/3 is there twice: also in "},
		"a world":   {func(r string) { shard(t, r, 0, nil); d := shard(t, r, 1, nil); alter(d, ShardFile, `"sim"`, `"local"`) }, "world is "},
		"a commit":  {func(r string) { shard(t, r, 0, nil); d := shard(t, r, 1, nil); alter(d, ShardFile, `"abc"`, `"abd"`) }, "--mixed-commits"},
		"torn plan": {func(r string) { d := shard(t, r, 0, nil); cut(t, filepath.Join(d, ShardFile)) }, "shard.json: unexpected end"},
		"torn verdict": {func(r string) {
			d := shard(t, r, 0, nil)
			cut(t, filepath.Join(d, s1, VerdictFile))
		}, "s1/none/t1/verdict.json: unexpected end"},
		"a run of another world": {func(r string) {
			d := shard(t, r, 0, nil)
			alter(d, filepath.Join(s1, ManifestFile), `"sim"`, `"local"`)
		}, "s1/none/t1/manifest.json: world is local, but sim in "},
		"a run of another suite": {func(r string) {
			d := shard(t, r, 0, nil)
			alter(d, filepath.Join(s1, ManifestFile), `"mine"`, `"theirs"`)
		}, "s1/none/t1/manifest.json: suite is theirs, but mine in "},
		"another run in its place": {func(r string) {
			d := shard(t, r, 0, nil)
			alter(d, filepath.Join(s1, ManifestFile), `"s1"`, `"s9"`)
		}, "s1/none/t1/manifest.json: run is s9 guard none, but s1 guard none in "},
		"another verdict in its place": {func(r string) {
			d := shard(t, r, 0, nil)
			alter(d, filepath.Join(s1, VerdictFile), `"s1"`, `"s9"`)
		}, "s1/none/t1/verdict.json: it is of s9 guard none on sim, not of s1 guard none on sim"},
		"a run of another shard": {func(r string) {
			d, e := shard(t, r, 0, nil), shard(t, r, 1, nil)
			if err := os.Rename(filepath.Join(e, "s2"), filepath.Join(d, "s2")); err != nil {
				t.Fatal(err)
			}
		}, "s2/none/t1/manifest.json: this run is not of shard 0/3"},
		"a link": {func(r string) {
			d := shard(t, r, 0, nil)
			if err := os.Symlink("/etc/passwd", filepath.Join(d, s1, "x")); err != nil {
				t.Fatal(err)
			}
		}, "s1/none/t1/x: not a regular file"},
		"a surprise in what was broken off": {func(r string) {
			shard(t, r, 1, nil)
			shard(t, r, 1, func(a *Assessment) bool { a.AsExpected = !a.Canary; return a.Canary })
		}, "but in this try not all was as expected"},
		"broken off twice": {func(r string) {
			half := func(a *Assessment) bool { return a.Canary }
			shard(t, r, 1, half)
			shard(t, r, 1, half)
		}, "shard 1/3 is there twice"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			c.make(root)
			before := tree(t, root)
			_, _, err := merge(t, root)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), root) {
				t.Errorf("%v, expected %q", err, c.says)
			}
			var file *FileError
			if err != nil && !errors.As(err, &file) {
				t.Errorf("%T is no error of a file", err)
			}
			if after := tree(t, root); !same(before, after) {
				t.Error("the shards are not as they were")
			}
		})
	}
}

// cut cuts a file in half.
func cut(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}
