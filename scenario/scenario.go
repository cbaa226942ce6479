// Package scenario reads and validates scenario files (YAML). A scenario says
// which lock is put under test, what is done under it, what goes wrong and
// when, and what must come out. The catalogue lies in scenarios/ beside this
// package's files and is embedded in the binary.
package scenario

import (
	"slices"
	"time"

	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/locks"
)

// Scenario is one experiment, with one run for each guard and one for the control.
type Scenario struct {
	// Name is system/experiment, as in single/pause-after-acquire.
	Name string `yaml:"name"`
	// About is one line for chaos list.
	About string `yaml:"about"`

	// Worlds are those in which it makes sense: local, sim, remote. All where
	// absent; what may run on local may run on remote, too.
	Worlds []string `yaml:"worlds,omitempty"`

	Lock  Lock  `yaml:"lock"`
	Nodes Nodes `yaml:"nodes,omitempty"`
	// Hosts is how many lock clients there are, 1 to 50: w1, w2, …
	Hosts    int      `yaml:"hosts"`
	Workload Workload `yaml:"workload"`
	// Resource is what keeps the counter: redis (the default) or postgres.
	Resource string `yaml:"resource,omitempty"`
	// Guards are the guards at the resource; each is a run of its own.
	Guards []string `yaml:"guards"`
	// Order makes steps wait for others: "w2 acquires after w1 acquired".
	Order []faults.Order `yaml:"order,omitempty"`
	// Faults are what goes wrong. Without any, the scenario is its own control.
	Faults []faults.Spec `yaml:"faults,omitempty"`

	// Hammer draws the faults by the seed, in place of Faults.
	Hammer *faults.Hammer `yaml:"hammer,omitempty"`

	// Expect is the outcome by guard.
	Expect map[string]Expect `yaml:"expect"`
	// Control is the outcome of the same run without faults; "none" of a
	// scenario whose trouble is not a fault. Safe where absent.
	Control string `yaml:"control,omitempty"`

	// Needs is what a run must have done to prove anything; Demand is what the
	// lock must have achieved to count as available. Where there are faults, Needs has a
	// default for each number that is not written: after.grants 1, and
	// during.attempts 1 where a fault lasts. A 0 asks nothing.
	Needs  history.Phases `yaml:"needs"`
	Demand history.Phases `yaml:"demand,omitempty"`
	// NeedsEach is what it must have done around each fault that took effect; during is
	// about those that last. Where a fault is not optional, its defaults are
	// during.attempts 1, after.grants 1, and before.grants 1 unless a fault is there
	// from the outset; they, too, are for each number that is not written.
	NeedsEach history.Phases `yaml:"needs_each"`
	// Deadline ends a run that does not end by itself (30s): it proves nothing then,
	// unless the lock is wedged.
	Deadline locks.Duration `yaml:"deadline,omitempty"`

	// File and Source are where it was read from.
	File   string `yaml:"-"`
	Source []byte `yaml:"-"`
}

// Lock is the lock system and its settings.
type Lock struct {
	// System is one of the lock systems below, or external.
	System string `yaml:"system"`
	// TTL is the lease, in whole milliseconds.
	TTL locks.Duration `yaml:"ttl"`
	// Watchdog extends the lease every third of the TTL while the lock is held.
	Watchdog bool `yaml:"watchdog,omitempty"`
	// Command and Layout are for the system external: the host program, and
	// which nodes it runs over.
	Command []string `yaml:"command,omitempty"`
	Layout  Layout   `yaml:"nodes,omitempty"`
	// Settings are handed to an external host as they are.
	Settings map[string]any `yaml:"settings,omitempty"`

	locks.Options `yaml:",inline"`
}

// Nodes are settings of all lock nodes.
type Nodes struct {
	// Persistence is none (the default), everysec or always.
	Persistence string `yaml:"persistence,omitempty"`
	// MinReplicas is how many replicas must have been heard of within a second for
	// a master to take a write.
	MinReplicas int `yaml:"min_replicas,omitempty"`
	// Prefer is the replica that Sentinels promote before the others.
	Prefer string `yaml:"prefer,omitempty"`
}

// Workload is what each host does, again and again.
type Workload struct {
	// Kind is counter: acquire, read, work, check, write, release.
	Kind string `yaml:"kind"`
	// Discipline is trusting (the default) or checks-lease.
	Discipline string `yaml:"discipline,omitempty"`
	// Rounds is how many times each host takes the lock for an increment, at least: with
	// faults it goes on until they are over, and makes one round more after that.
	Rounds int `yaml:"rounds"`
	// Writes is how many increments a host makes in one round, all after one read (1).
	Writes int `yaml:"writes,omitempty"`
	// Work is the time before each write; Rest the time between two rounds.
	Work locks.Duration `yaml:"work,omitempty"`
	Rest locks.Duration `yaml:"rest,omitempty"`
	// Retry is the time between two tries to acquire (10ms).
	Retry locks.Duration `yaml:"retry,omitempty"`
}

// Expect is what must come out of a run.
type Expect struct {
	// Outcome is safe, violated or inconclusive; any, of a hammer.
	Outcome string `yaml:"outcome" json:"outcome"`
	// Findings must all be found, contained ones too. "double-grant/state-loss"
	// also asks for the cause. Others that decide the outcome are unexpected
	// unless May lists them.
	Findings []string `yaml:"findings,omitempty" json:"findings,omitempty"`
	May      []string `yaml:"may,omitempty" json:"may,omitempty"`
	// Never must not be found, not even contained.
	Never []string `yaml:"never,omitempty" json:"never,omitempty"`
	// Refused is the least number of stale operations that the guard must have refused.
	Refused int `yaml:"refused,omitempty" json:"refused,omitempty"`
}

// The defaults.
const (
	DefaultDeadline = 30 * time.Second
	DefaultRetry    = 10 * time.Millisecond
)

// NoControl is the value of Control for a scenario without one.
const NoControl = "none"

// The worlds.
const (
	Local      = "local"
	Remote     = "remote" // real servers, too: what may run on local may run there
	Simulation = "sim"
)

// The servers that can be the resource.
const (
	ResourceRedis    = "redis"
	ResourcePostgres = "postgres"
)

// RunsOn tells whether the scenario makes sense in a world.
func (s *Scenario) RunsOn(world string) bool {
	if s.Lock.System == locks.External && world == Simulation {
		return false // a real program cannot live in virtual time
	}
	if s.Resource == ResourcePostgres && world == Simulation {
		return false // nor can a real server
	}
	return len(s.Worlds) == 0 || slices.Contains(s.Worlds, world) ||
		world == Remote && slices.Contains(s.Worlds, Local) // other machines, and the same servers
}

// Proofs is how many faults must be proved to have taken effect.
func (s *Scenario) Proofs() int {
	n := 0
	for _, f := range s.Faults {
		if !f.Optional {
			n++
		}
	}
	return n
}

// Clocks are the nodes whose clocks its faults set.
func (s *Scenario) Clocks() []string {
	var nodes []string
	for _, f := range s.Faults {
		if k, ok := faults.Find(f.Kind); ok && k.Clock {
			nodes = append(nodes, f.Nodes...)
		}
	}
	return nodes
}
