package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

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
	Faults   int             `json:"faults"`
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
}

// RunSeed runs one seed of a scenario with one guard in a bubble of its own,
// and saves nothing. A seed that is not safe is run twice, and compared.
func RunSeed(bubble func(func()), w World, s *scenario.Scenario, guard string, seed int64) Seed {
	out := runSeed(bubble, w, s, guard, seed)
	if out.Outcome != checker.Safe || len(out.Findings) > 0 {
		if again := runSeed(bubble, w, s, guard, seed); again.Hash != out.Hash {
			out.Unstable = again.Hash
		}
	}
	return out
}

func runSeed(bubble func(func()), w World, s *scenario.Scenario, guard string, seed int64) Seed {
	out := Seed{Scenario: s.Name, System: s.Lock.System, Guard: guard, Seed: seed,
		Repeat: repeat(s, scenario.Simulation, guard, seed)}
	drawn, err := s.Drawn(seed)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	// Room for a common run: to grow there took a fourteenth of the time.
	h := &history.History{Events: make([]history.Event, 0, 1<<14)}
	hash := sha256.New()
	r := Run{Name: s.Name, World: scenario.Simulation, Scenario: drawn, Guard: guard, Seed: seed, Keep: h}
	bubble(func() { err = r.Do(context.Background(), w, hash) })
	out.Hash, out.Faults = hex.EncodeToString(hash.Sum(nil)), len(drawn.Faults)
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
	out.Outcome, out.Reasons, out.Grants = v.Outcome, v.Reasons, v.Counts.Grants
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
			all = append(all, SeedFinding{Kind: kind, Contained: f.Contained, Words: f.Words})
		}
		all[i].Count++
		all[i].Contained = all[i].Contained && f.Contained
	}
	return all
}

// String names a seed for a reader.
func (s Seed) String() string { return fmt.Sprintf("%s guard %s seed %d", s.Scenario, s.Guard, s.Seed) }
