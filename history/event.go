// Package history is the record of a run: one JSON line an event, on one clock.
//
// Every event carries a sequence number and the orchestrator's monotonic time.
// Both are given under one lock, so the order of the sequence numbers is the
// order of the times, and the sequence number decides where times are equal.
// A call is recorded before the request leaves and a return after the reply
// has come, so an interval in the record always contains what really happened.
package history

import "time"

// Kind says what an event records.
type Kind string

// The kinds of event.
const (
	Call   Kind = "call"   // an operation was sent to a host or to the resource
	Return Kind = "return" // its answer came, or it was given up
	Fault  Kind = "fault"  // a step in the life of a fault, see FaultStep
	Trace  Kind = "trace"  // what one node answered to a host, as the host tells it
	Lost   Kind = "lost"   // a host said of itself that its lock is gone
	Exit   Kind = "exit"   // a host's process ended
	Ledger Kind = "ledger" // one entry of the resource's ledger, in order of effect
	Final  Kind = "final"  // the counter at the resource after the run
	Stall  Kind = "stall"  // the harness stood still, or the process of Host, for Value nanoseconds
	Note   Kind = "note"   // something a reader should know; no oracle reads it
	End    Kind = "end"    // last line of a complete history
)

// Do names an operation.
type Do string

// The operations.
const (
	Acquire Do = "acquire"
	Extend  Do = "extend"
	Check   Do = "check" // does the host still believe that it holds the lock?
	Release Do = "release"
	Read    Do = "read"
	Write   Do = "write"
)

// Result is how an operation ended.
type Result string

// The results. Which of them an operation can have is said at each.
const (
	OK      Result = "ok"      // all: done, granted, held, accepted
	Refused Result = "refused" // acquire: another holds it; read, write: the guard said no
	Gone    Result = "lost"    // extend, check, release: the lock is no longer this grant's
	Failed  Result = "failed"  // all: an error, and definitely no effect
	Unknown Result = "unknown" // all: it may or may not have had its effect
)

// Event is one line of a history. Fields that a kind does not use are absent.
type Event struct {
	// Seq numbers the events of a run from 1 without a gap.
	Seq int64 `json:"seq"`
	// T is the time since the start of the run on the orchestrator's monotonic clock.
	T time.Duration `json:"t"`

	Kind Kind   `json:"kind"`
	Do   Do     `json:"do,omitempty"`
	Host string `json:"host,omitempty"`
	Node string `json:"node,omitempty"`
	Lock string `json:"lock,omitempty"`

	// Op joins the call, the return and the ledger entry of one operation. From 1.
	Op int64 `json:"op,omitempty"`
	// Grant is the Op of the acquire that gave the grant this event belongs to.
	Grant int64 `json:"grant,omitempty"`

	// Owner is the value under which the lock is held (return of acquire).
	Owner string `json:"owner,omitempty"`
	// Token is the fencing token of the grant; 0 where the lock mints none.
	Token int64 `json:"token,omitempty"`
	// Validity is what the host says is left of the lease when it answers.
	Validity time.Duration `json:"validity,omitempty"`

	// Value is the counter: what a read saw, what a write asked to store (call)
	// or stored (return), what Final found. For a Stall, nanoseconds.
	Value int64 `json:"value,omitempty"`
	// Before is the counter just before a ledger entry took effect.
	Before int64 `json:"before,omitempty"`

	Result Result `json:"result,omitempty"`
	// Code and Text are the error of a result that is not OK, and the words of a Note.
	Code string `json:"code,omitempty"`
	Text string `json:"text,omitempty"`

	// Backed counts the lock nodes whose link carried bytes both ways between
	// the call and the return of an acquire, as the links saw it.
	Backed int `json:"backed,omitempty"`
	// Took is how long the node took to answer, as the host tells it (trace).
	Took time.Duration `json:"took,omitempty"`

	Fault *FaultStep `json:"fault,omitempty"`
}

// FaultStep is one step in the life of a fault.
type FaultStep struct {
	// ID is unique in the run: "f1", "f2", … in the order of the scenario.
	ID string `json:"id"`
	// Name is the kind of fault, as in a scenario: pause-host, crash-node, …
	Name string `json:"name"`
	// Step is one of start, proved, unproved, heal, healed, error, missed, idle.
	// start and heal stand before the deed, proved and healed after it was seen.
	// missed: the trigger never came. idle: there was nothing to do, and that was allowed.
	Step string `json:"step"`
	// How is the way in which it is done, where its kind knows several.
	How string `json:"how,omitempty"`
	// Targets are what it is done to: hosts, nodes, or links as "w1>n3".
	Targets []string `json:"targets,omitempty"`
	// By is how far clocks are set forward, below 0 back; Rate is how fast they run.
	By   time.Duration `json:"by,omitempty"`
	Rate float64       `json:"rate,omitempty"`
	// Proof is what was observed, in words that name the observation.
	Proof string `json:"proof,omitempty"`
}

// Steps of a fault.
const (
	FaultStart    = "start"
	FaultProved   = "proved"
	FaultUnproved = "unproved"
	FaultHeal     = "heal"
	FaultHealed   = "healed"
	FaultError    = "error"
	FaultMissed   = "missed"
	FaultIdle     = "idle"
)

// Deadline is the id and name of the fault that stands for the end of a run that
// did not end by itself.
const Deadline = "deadline"

// Header is the first line of a history: all that a judge must know to read it.
type Header struct {
	Format  string `json:"format"`  // always Format
	Version int    `json:"version"` // always Version

	Run      string `json:"run,omitempty"`
	Scenario string `json:"scenario"`
	World    string `json:"world"` // local, sim or remote
	Seed     int64  `json:"seed,omitempty"`

	System     string        `json:"system"`     // the lock system
	TTL        time.Duration `json:"ttl"`        // what the lock promises a holder
	Quorum     int           `json:"quorum"`     // nodes that must vote for a grant: 1, or 3 of 5
	Workload   string        `json:"workload"`   // counter
	Guard      string        `json:"guard"`      // one of the Guard constants
	Discipline string        `json:"discipline"` // trusting or checks-lease
	// Faults is how many faults must be seen to work: those of the scenario that are
	// not optional; 0 for a control.
	Faults int `json:"faults"`

	Needs Phases `json:"needs,omitzero"` // fewer: inconclusive
	// NeedsEach is what each fault that took effect must have met; During is asked
	// only of those that last. Fewer: inconclusive.
	NeedsEach Phases `json:"needs_each,omitzero"`
	Demand    Phases `json:"demand,omitzero"` // fewer: unavailable
}

// Phases counts operations before the first fault, while one is active, and after the last.
type Phases struct {
	Before Ops `json:"before,omitzero" yaml:"before"`
	During Ops `json:"during,omitzero" yaml:"during"`
	After  Ops `json:"after,omitzero" yaml:"after"`
}

// Ops counts acquires: all that were answered, and those that were granted.
type Ops struct {
	// Attempts were answered, or under way where it is about the time of a fault; Grants were granted.
	Attempts int `json:"attempts,omitempty" yaml:"attempts"`
	Grants   int `json:"grants,omitempty" yaml:"grants"`
}

// The name and version of the format. A reader refuses a greater version.
const (
	Format  = "lockchaos-history"
	Version = 1
)

// Guards at the resource.
const (
	GuardNone      = "none"
	GuardFence     = "fence"
	GuardFenceRead = "fence-read"
	// Two rules of a fence that are often built, and wrong.
	GuardFenceGreater        = "fence-greater"
	GuardFenceGreaterOrEqual = "fence-greater-or-equal"
	GuardVersion             = "version"
	GuardAtomic              = "atomic"
)

// Disciplines of a holder.
const (
	Trusting    = "trusting"
	ChecksLease = "checks-lease"
)
