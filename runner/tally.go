package runner

import (
	"maps"
	"slices"

	"lockchaos/checker"
	"lockchaos/scenario"
)

// Tally gathers the seeds of one scenario and guard in a sweep, by kind of finding.
type Tally struct {
	Scenario string          `json:"scenario"`
	System   string          `json:"system"`
	Guard    string          `json:"guard"`
	Expect   scenario.Expect `json:"expect"`

	Seeds        int     `json:"seeds"`
	Safe         int     `json:"safe"`
	Violated     int     `json:"violated"`
	Inconclusive int     `json:"inconclusive"`
	Failed       int     `json:"failed"`
	Simulated    float64 `json:"simulated"` // seconds of virtual time
	Grants       int     `json:"grants"`
	// MostRefused is the most stale operations that the guard refused in one seed.
	MostRefused int `json:"most_refused,omitempty"`
	// Kinds are the findings by kind, with its cause: double-grant/state-loss.
	Kinds map[string]*KindTally `json:"kinds,omitempty"`
	// Unstable are seeds that did not give the same history twice.
	Unstable []Seed `json:"unstable,omitempty"`
	// FirstViolated, FirstFailed and FirstInconclusive are the lowest such seeds.
	FirstViolated     *Seed `json:"first_violated,omitempty"`
	FirstFailed       *Seed `json:"first_failed,omitempty"`
	FirstInconclusive *Seed `json:"first_inconclusive,omitempty"`
}

// KindTally is one kind of finding in a sweep.
type KindTally struct {
	Kind      string `json:"kind"`
	Contained bool   `json:"contained,omitempty"` // in all its seeds
	// FirstLoose is the lowest seed in which it was not; absent where there is none.
	FirstLoose *int64 `json:"first_loose,omitempty"`
	Seeds      int    `json:"seeds"`
	// Confirmed is how many of them gave a history with the same hash when they
	// were run again.
	Confirmed int `json:"confirmed"`
	// Lowest are the lowest of them, at most mostLowest.
	Lowest []int64 `json:"lowest"`
	First  Seed    `json:"first"`
	Words  string  `json:"words"` // of the first
}

// mostLowest is how many seeds of a kind a tally names.
const mostLowest = 100

// Add counts one seed.
func (t *Tally) Add(s Seed) {
	t.Seeds++
	t.Simulated += s.Simulated
	t.Grants += s.Grants
	t.MostRefused = max(t.MostRefused, s.Refused)
	switch {
	case s.Error != "":
		t.Failed++
		t.FirstFailed = lower(t.FirstFailed, &s)
	case s.Outcome == checker.Violated:
		t.Violated++
		t.FirstViolated = lower(t.FirstViolated, &s)
	case s.Outcome == checker.Inconclusive:
		t.Inconclusive++
		t.FirstInconclusive = lower(t.FirstInconclusive, &s)
	default:
		t.Safe++
	}
	if s.Unstable != "" {
		t.unstable(s)
	}
	for _, f := range s.Findings {
		k := KindTally{Kind: f.Kind, Contained: f.Contained, Seeds: 1, Lowest: []int64{s.Seed}, First: s, Words: f.Words}
		if s.Unstable == "" {
			k.Confirmed = 1
		}
		if !f.Contained {
			k.FirstLoose = &s.Seed
		}
		t.kind(&k)
	}
}

// Merge takes in what another part of the same sweep has counted.
func (t *Tally) Merge(o *Tally) {
	t.Seeds, t.Safe, t.Violated = t.Seeds+o.Seeds, t.Safe+o.Safe, t.Violated+o.Violated
	t.Inconclusive, t.Failed = t.Inconclusive+o.Inconclusive, t.Failed+o.Failed
	t.Simulated, t.Grants = t.Simulated+o.Simulated, t.Grants+o.Grants
	t.MostRefused = max(t.MostRefused, o.MostRefused)
	t.FirstViolated = lower(t.FirstViolated, o.FirstViolated)
	t.FirstFailed = lower(t.FirstFailed, o.FirstFailed)
	t.FirstInconclusive = lower(t.FirstInconclusive, o.FirstInconclusive)
	t.unstable(o.Unstable...)
	for _, kind := range slices.Sorted(maps.Keys(o.Kinds)) {
		t.kind(o.Kinds[kind])
	}
}

func (t *Tally) unstable(seeds ...Seed) {
	t.Unstable = append(t.Unstable, seeds...)
	slices.SortFunc(t.Unstable, func(a, b Seed) int { return int(a.Seed - b.Seed) })
}

// kind takes in seeds of one kind.
func (t *Tally) kind(o *KindTally) {
	if t.Kinds == nil {
		t.Kinds = map[string]*KindTally{}
	}
	k, ok := t.Kinds[o.Kind]
	if !ok {
		k = &KindTally{Kind: o.Kind, Contained: true, First: o.First, Words: o.Words}
		t.Kinds[o.Kind] = k
	}
	k.Seeds += o.Seeds
	k.Confirmed += o.Confirmed
	k.Contained = k.Contained && o.Contained
	if o.FirstLoose != nil && (k.FirstLoose == nil || *o.FirstLoose < *k.FirstLoose) {
		k.FirstLoose = o.FirstLoose
	}
	if o.First.Seed < k.First.Seed {
		k.First, k.Words = o.First, o.Words
	}
	k.Lowest = append(k.Lowest, o.Lowest...)
	slices.Sort(k.Lowest)
	k.Lowest = k.Lowest[:min(len(k.Lowest), mostLowest)]
}

// lower is the lower of two seeds, either of which may be missing.
func lower(a, b *Seed) *Seed {
	if a == nil || b != nil && b.Seed < a.Seed {
		return b
	}
	return a
}
