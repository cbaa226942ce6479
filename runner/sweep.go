package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/scenario"
)

// Seed is what came out of one seed of a sweep through the simulation.
type Seed struct {
	Scenario string `json:"scenario"`
	System   string `json:"system"`
	Guard    string `json:"guard"`
	Seed     int64  `json:"seed"`
	// Repeat is the command that runs it again.
	Repeat string `json:"repeat"`
	// Hash is that of the whole history: the same seed must give the same.
	Hash     string          `json:"hash"`
	Outcome  checker.Outcome `json:"outcome"`
	Findings []SeedFinding   `json:"findings,omitempty"`
	Reasons  []string        `json:"reasons,omitempty"`
	Grants   int             `json:"grants"`
	// Refused is how many operations of a superseded grant the guard refused.
	Refused int `json:"refused,omitempty"`
	Faults  int `json:"faults"`
	// Simulated is how long the run took in virtual time, in seconds.
	Simulated float64 `json:"simulated"`
	Error     string  `json:"error,omitempty"`
	// Unstable is the hash of a second run of the same seed that gave another.
	Unstable string `json:"unstable,omitempty"`
}

// SeedFinding is one kind of finding of a seed, with its first instance in words.
type SeedFinding struct {
	Kind      string `json:"kind"` // with its cause: double-grant/state-loss
	Contained bool   `json:"contained,omitempty"`
	Count     int    `json:"count"`
	Words     string `json:"words"`

	at time.Duration // when that was
}

// RunSeed runs one seed of a scenario with one guard in a bubble of its own,
// and saves nothing. A seed that is not safe is run twice, and compared.
func RunSeed(bubble func(func()), w World, s *scenario.Scenario, guard string, seed int64) Seed {
	out := runSeed(bubble, w, s, guard, seed)
	if out.Outcome != checker.Safe || len(out.Findings) > 0 {
		drawn, err := s.Drawn(seed)
		if err != nil { // so it was the first time
			return out
		}
		r := Run{Name: s.Name, World: scenario.Simulation, Scenario: drawn, Guard: guard, Seed: seed}
		if again, _ := r.hash(bubble, w); again != out.Hash {
			out.Unstable = again
		}
	}
	return out
}

// hash does the run in a bubble, and returns the hash of its history.
func (r Run) hash(bubble func(func()), w World) (string, error) {
	hash := sha256.New()
	var err error
	bubble(func() { err = r.Do(context.Background(), w, hash) })
	return hex.EncodeToString(hash.Sum(nil)), err
}

// spare is room for the events of a run, which the next one takes: to make and to
// grow it took a fourteenth of the time. A sync.Pool would forget it during the
// second run of a seed.
var spare atomic.Pointer[[]history.Event]

func runSeed(bubble func(func()), w World, s *scenario.Scenario, guard string, seed int64) Seed {
	out := Seed{Scenario: s.Name, System: s.Lock.System, Guard: guard, Seed: seed,
		Repeat: repeat(s, scenario.Simulation, guard, seed)}
	drawn, err := s.Drawn(seed)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	h := &history.History{}
	if room := spare.Swap(nil); room != nil {
		h.Events = (*room)[:0]
	}
	defer func() { spare.Store(&h.Events) }() // nothing of what is returned lies in it
	r := Run{Name: s.Name, World: scenario.Simulation, Scenario: drawn, Guard: guard, Seed: seed, Keep: h}
	out.Hash, err = r.hash(bubble, w)
	out.Faults = len(drawn.Faults)
	if n := len(h.Events); n > 0 {
		out.Simulated = h.Events[n-1].T.Seconds()
	}
	var v *checker.Verdict
	if err == nil {
		v, err = checker.Judge(h)
	}
	if err != nil {
		out.Error = err.Error()
		return out
	}
	out.Outcome, out.Reasons, out.Grants, out.Refused = v.Outcome, v.Reasons, v.Counts.Grants, v.Counts.Stale
	out.Findings = seedFindings(v)
	return out
}

func seedFindings(v *checker.Verdict) []SeedFinding {
	var all []SeedFinding
	index := map[string]int{}
	for _, f := range v.Findings {
		if f.ID == checker.NoConclusion {
			continue
		}
		kind := f.Kind()
		i, ok := index[kind]
		if !ok {
			i = len(all)
			index[kind] = i
			all = append(all, SeedFinding{Kind: kind, Contained: f.Contained, Words: f.Words, at: f.At})
		}
		all[i].Count++
		all[i].Contained = all[i].Contained && f.Contained
	}
	return all
}

// String names a seed for a reader.
func (s Seed) String() string { return fmt.Sprintf("%s guard %s seed %d", s.Scenario, s.Guard, s.Seed) }
