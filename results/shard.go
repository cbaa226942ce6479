package results

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Shard is a part of what a call does, dealt so that each run is in one of them.
type Shard struct {
	Index int `json:"index"` // from 0
	Of    int `json:"of"`
}

// MostShards is how many shards a call may be one of.
const MostShards = 10_000

// ParseShard reads "0/4". It does not hold the count against MostShards.
func ParseShard(s string) (Shard, error) {
	index, of, _ := strings.Cut(s, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(of)
	if err1 != nil || err2 != nil || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("%q: expected I/N with I from 0 to N-1, as 0/4 for the first of four", s)
	}
	return Shard{i, n}, nil
}

func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Takes tells whether the i-th of all, from 0, is in the shard.
func (s Shard) Takes(i int) bool { return i%s.Of == s.Index }

// Part is the part-th of so many even parts of the shard: a shard again.
func (s Shard) Part(part, parts int) Shard { return Shard{s.Index + s.Of*part, s.Of * parts} }

// Deal picks what is in a shard, in order. What is for all is in each of them.
func Deal[T any](s Shard, all []T, forAll func(T) bool) []T {
	var mine []T
	n := 0
	for _, x := range all {
		if forAll(x) {
			mine = append(mine, x)
			continue
		}
		if s.Takes(n) {
			mine = append(mine, x)
		}
		n++
	}
	return mine
}

// Plan is all that a sharded call is a part of. Each shard saves it before its
// first run, so that whatever becomes of it, and of the others, is seen.
type Plan struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Shard   Shard     `json:"shard"`
	Started time.Time `json:"started"`

	World string `json:"world"`
	Suite string `json:"suite,omitempty"`
	// Seeds are those of a sweep; absent for runs that are saved one by one, whose
	// first trial has Seed.
	Seeds     *SeedRange     `json:"seeds,omitempty"`
	Seed      int64          `json:"seed,omitempty"`
	Scenarios []PlanScenario `json:"scenarios"`
	LeftOut   []string       `json:"left_out,omitempty"` // not for this world
	Runs      []PlannedRun   `json:"runs"`               // of all shards; of a sweep, those of one seed
	Machine   Machine        `json:"machine"`
}

// The name and version of the format of a plan.
const (
	PlanFormat  = "lockchaos-shard"
	PlanVersion = 1
)

// SeedRange are the seeds of a sweep, both ends included.
type SeedRange struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
}

func (r SeedRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }

// Count is how many seeds of the range are in a shard.
func (r SeedRange) Count(s Shard) int {
	all := int(r.Last - r.First + 1)
	return (all - s.Index + s.Of - 1) / s.Of
}

// PlanScenario is a scenario and the hash of its file.
type PlanScenario struct {
	Name string `json:"name"`
	Hash string `json:"hash"` // SHA-256, in hexadecimal digits
}

// PlannedRun is one run.
type PlannedRun struct {
	Key
	// Canary: it is done in every shard.
	Canary bool `json:"canary,omitempty"`
}

// Mine are the runs that are in the plan's shard.
func (p *Plan) Mine() []PlannedRun {
	return Deal(p.Shard, p.Runs, func(r PlannedRun) bool { return r.Canary })
}

// Save writes the plan into the directory of its shard.
func (p *Plan) Save(dir string) error {
	p.Format, p.Version = PlanFormat, PlanVersion
	return Save(dir, ShardFile, p)
}

// OpenPlan reads the plan of the shard in dir. The error is a *FileError, or of
// the file system.
func OpenPlan(dir string) (*Plan, error) {
	var p Plan
	if err := Load(dir, ShardFile, &p); err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) error {
		return &FileError{filepath.Join(dir, ShardFile), fmt.Errorf(format, args...)}
	}
	s := p.Shard
	switch {
	case p.Format != PlanFormat:
		return nil, wrong("format %q, expected %s", p.Format, PlanFormat)
	case p.Version < 1 || p.Version > PlanVersion:
		return nil, wrong("version %d, this program reads up to %d", p.Version, PlanVersion)
	case s.Index < 0 || s.Index >= s.Of || s.Of > MostShards:
		return nil, wrong("shard %s: expected I/N with I from 0 to N-1, N at most %d", s, MostShards)
	case len(p.Runs) == 0:
		return nil, wrong("no runs are planned")
	case p.Seeds != nil && p.Seeds.Last < p.Seeds.First:
		return nil, wrong("seeds %s", p.Seeds)
	}
	seen := map[string]bool{}
	for _, r := range p.Runs {
		if path := r.Path(); !filepath.IsLocal(path) || seen[path] {
			return nil, wrong("run %q: its name is no name, or stands twice", r.Key)
		}
		seen[r.Path()] = true
	}
	return &p, nil
}

// Against says in what two plans are not one: a value, what it is here, and what
// it is in the other; "" where they are one. Commits may be mixed.
func (p *Plan) Against(other *Plan, mixedCommits bool) (what, here, there string) {
	seeds := func(p *Plan) string {
		if p.Seeds == nil {
			return "no sweep"
		}
		return p.Seeds.String()
	}
	for _, v := range []struct{ what, here, there string }{
		{"shard count", strconv.Itoa(p.Shard.Of), strconv.Itoa(other.Shard.Of)},
		{"world", p.World, other.World},
		{"suite", quoted(p.Suite), quoted(other.Suite)},
		{"seeds", seeds(p), seeds(other)},
		{"seed", strconv.FormatInt(p.Seed, 10), strconv.FormatInt(other.Seed, 10)},
	} {
		if v.here != v.there {
			return v.what, v.here, v.there
		}
	}
	if here, there := p.Machine.Build(), other.Machine.Build(); here != there && !mixedCommits {
		return "commit", here, there
	}
	if i, differ := firstDifference(p.Scenarios, other.Scenarios); differ {
		return fmt.Sprintf("scenario %d", i+1), scenarioAt(p.Scenarios, i), scenarioAt(other.Scenarios, i)
	}
	if i, differ := firstDifference(p.Runs, other.Runs); differ {
		return fmt.Sprintf("planned run %d", i+1), runAt(p.Runs, i), runAt(other.Runs, i)
	}
	return "", "", ""
}

func quoted(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// Build is the commit of the program, with a + where its files were changed.
func (m Machine) Build() string {
	switch {
	case m.Commit == "":
		return "unknown"
	case m.Dirty:
		return m.Commit + "+"
	}
	return m.Commit
}

func firstDifference[T comparable](a, b []T) (int, bool) {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i, true
		}
	}
	return n, len(a) != len(b)
}

func scenarioAt(all []PlanScenario, i int) string {
	if i >= len(all) {
		return "none"
	}
	return all[i].Name + " with hash " + all[i].Hash[:min(12, len(all[i].Hash))]
}

func runAt(all []PlannedRun, i int) string {
	if i >= len(all) {
		return "none"
	}
	return all[i].Key.String()
}

// Canary is the planned canary; nil where there is none.
func (p *Plan) Canary() *PlannedRun {
	if i := slices.IndexFunc(p.Runs, func(r PlannedRun) bool { return r.Canary }); i >= 0 {
		return &p.Runs[i]
	}
	return nil
}
