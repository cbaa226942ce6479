// Package play runs what somebody has chosen in the playground: a Choice becomes
// a scenario file, and a Worker runs it in the simulation.
//
// A simulation needs a process that can have bubbles of virtual time, and ends
// that process where it breaks down. So it is a child: it is kept for the next
// choice, has a deadline in real time, and dies with the server.
package play

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// Task is one simulation.
type Task struct {
	Scenario []byte `json:"scenario"` // the file
	Guard    string `json:"guard"`
	Seed     int64  `json:"seed"`
}

// Answer is what came out of it.
type Answer struct {
	Verdict  *checker.Verdict  `json:"verdict,omitempty"`
	Timeline *checker.Timeline `json:"timeline,omitempty"`
	// Hash is that of the history: the same task gives the same.
	Hash  string `json:"hash,omitempty"`
	Error string `json:"error,omitempty"`
}

// Loop answers the tasks that it reads, one by one. It ends with an error of
// out. At the end of in it calls gone, whatever is under way: nobody waits for it.
func Loop(in io.Reader, out io.Writer, gone func(), bubble func(func()), w runner.World) error {
	tasks := make(chan Task)
	go func() {
		d := json.NewDecoder(in)
		for {
			var t Task
			if d.Decode(&t) != nil {
				gone()
				return
			}
			tasks <- t
		}
	}()
	e := json.NewEncoder(out)
	for {
		if err := e.Encode(Simulate(<-tasks, bubble, w)); err != nil {
			return err
		}
	}
}

// usual is how many events a history has at most, but for the longest: a list that
// grows is copied again and again.
const usual = 8 << 10

// Simulate runs one task in a bubble of its own, and judges it.
func Simulate(t Task, bubble func(func()), w runner.World) Answer {
	s, err := scenario.Parse(t.Scenario, File)
	if err != nil {
		return Answer{Error: err.Error()}
	}
	h, hash := &history.History{Events: make([]history.Event, 0, usual)}, sha256.New()
	r := runner.Run{Name: s.Name, World: scenario.Simulation, Scenario: s, Guard: t.Guard, Seed: t.Seed, Keep: h}
	bubble(func() { err = r.Do(context.Background(), w, hash) })
	a := Answer{Hash: hex.EncodeToString(hash.Sum(nil))}
	if err == nil {
		a.Verdict, a.Timeline, err = checker.Examine(h)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}
