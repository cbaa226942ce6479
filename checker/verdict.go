package checker

import (
	"slices"
	"time"

	"lockchaos/history"
)

// Outcome is what a run shows.
type Outcome string

// The outcomes. Nothing unknown ever counts as safe.
const (
	Safe         Outcome = "safe"
	Violated     Outcome = "violated"
	Inconclusive Outcome = "inconclusive"
)

// The findings. The identifiers are stable: they appear in JSON, in JUnit and in the docs.
const (
	DoubleGrant     = "double-grant"
	StaleHolder     = "stale-holder"
	StaleWrite      = "stale-write"
	LostUpdate      = "lost-update"
	TokenRegression = "token-regression"
	ForeignRelease  = "foreign-release"
	ForeignExtend   = "foreign-extend"
	SilentLoss      = "silent-loss"
	SilentReacquire = "silent-reacquire"
	RefusedHolder   = "refused-holder"
	Orphan          = "orphan"
	Wedge           = "wedge"
	Unavailable     = "unavailable"
	NoConclusion    = "inconclusive"
)

// Sub-causes of a double-grant.
const (
	CauseStateLoss      = "state-loss"
	CauseEarlyExpiry    = "early-expiry"
	CauseForeignRelease = "foreign-release"
	CauseForeignExtend  = "foreign-extend"
	CauseSplit          = "split"
	CauseStaleMessage   = "stale-message"
)

// Causes are all sub-causes of a double-grant.
func Causes() []string {
	return []string{CauseStateLoss, CauseEarlyExpiry, CauseForeignRelease, CauseForeignExtend, CauseSplit, CauseStaleMessage}
}

// Finding is one thing that went wrong, with its evidence.
type Finding struct {
	ID    string `json:"id"`
	Cause string `json:"cause,omitempty"`
	// Blame is whose fault it is: lock service, library, holder, resource,
	// guard, operator, harness.
	Blame string `json:"blame"`
	// Contained is set where the guard at the resource made the finding
	// harmless: it is shown, and does not decide the outcome.
	Contained bool   `json:"contained,omitempty"`
	Lock      string `json:"lock,omitempty"`
	// Grants are those involved, the earlier first, each by the op of its acquire.
	Grants []int64 `json:"grants,omitempty"`
	// Events are the sequence numbers of the deciding events, in order: all that
	// Words names, and those by which it was found.
	Events []int64       `json:"events,omitempty"`
	At     time.Duration `json:"at"`
	// Count is how much was lost (lost-update), how many acquires were granted
	// (unavailable) or refused (orphan, wedge), or for how many findings that are
	// not told one by one this one stands (the last of its kind, without Events).
	Count int `json:"count,omitempty"`
	// More is 0, but for the last of a kind of which not all are told one by one:
	// for how many it stands.
	More int `json:"more,omitempty"`
	// Late: the harness, or a host that it is about, stood still meanwhile with nothing
	// done to it, which may explain it.
	Late bool `json:"late,omitempty"`
	// Lasted is how long it went on: the overlap, or the time until it was noticed.
	Lasted time.Duration `json:"lasted,omitempty"`
	// Words tells it in one sentence, with the times of the deciding events.
	Words string `json:"words"`

	// unseen: no fence could have refused this write, as no newer token had come
	// to the resource by then.
	unseen bool
}

// Kind is the identifier with the cause, where there is one: double-grant/state-loss.
func (f Finding) Kind() string {
	if f.Cause == "" {
		return f.ID
	}
	return f.ID + "/" + f.Cause
}

// Number is for how many findings it stands: 1, but for the last of a kind of which
// not all are told one by one.
func (f Finding) Number() int { return max(f.More, 1) }

// Verdict is all that a judge says of one history.
type Verdict struct {
	// Outcome is the run's: what decides it depends on the guard, see Decides.
	Outcome Outcome `json:"outcome"`
	// Lock and Resource say it for each by itself.
	Lock     Outcome `json:"lock"`
	Resource Outcome `json:"resource"`

	Findings []Finding `json:"findings"`
	// Reasons say why the run is inconclusive.
	Reasons []string `json:"reasons,omitempty"`

	Counts Counts         `json:"counts"`
	Phases history.Phases `json:"phases"`
	// Faults tell what was going on around each fault that took effect.
	Faults []FaultOps `json:"faults,omitempty"`
	// Latencies tell how long acquire, extend and release took before, during and
	// after the faults.
	Latencies []PhaseLatency `json:"latencies,omitempty"`
	// Margin is the closest that the beliefs of two grants of one lock came to
	// each other; negative where they overlapped, absent with fewer than two.
	Margin *time.Duration `json:"margin,omitempty"`
	// Stalled is the longest time that the harness stood still, or a host that no
	// fault had stopped, on a machine too busy to run them; or that a host to which
	// nothing was done took for an answer. It makes nothing safe or violated, but a holder that was late
	// in such a run may have been late for that.
	Stalled time.Duration `json:"stalled,omitempty"`
	// Oracles tell what each oracle said and that they agree.
	Oracles []OracleReport `json:"oracles"`
}

// FaultOps counts the acquires around one fault: those answered before it began,
// those under way at some time while it lasted, those answered after its end. One
// that outlasted it is counted twice.
type FaultOps struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Lasts tells that it was healed; a fault such as a kill is over at once.
	Lasts bool `json:"lasts,omitempty"`
	history.Phases
}

// FoundByBoth tells whether there is a property that both oracles found broken.
func (v *Verdict) FoundByBoth() bool {
	return slices.ContainsFunc(v.Oracles, func(o OracleReport) bool {
		return o.Sweep == AnswerIllegal && o.Porcupine == AnswerIllegal
	})
}

// Counts are the totals of a run.
type Counts struct {
	Acquires  int   `json:"acquires"` // answered
	Grants    int   `json:"grants"`
	Writes    int   `json:"writes"`  // accepted, from the ledger where there is one
	Refused   int   `json:"refused"` // reads and writes that the guard refused
	Stale     int   `json:"stale"`   // refused ones that came of a superseded grant
	Acked     int   `json:"acked"`   // increments the hosts were told are done
	Unknown   int   `json:"unknown"` // operations whose outcome nobody knows
	Final     int64 `json:"final"`   // the counter after the run
	Increment int64 `json:"expected"`
}

// OracleReport is what the two oracles said of one property.
type OracleReport struct {
	Property  string `json:"property"`  // mutual-exclusion, beliefs, tokens, counter
	Sweep     string `json:"sweep"`     // ok, illegal
	Porcupine string `json:"porcupine"` // ok, illegal, unknown
	Chunks    int    `json:"chunks"`
	Ops       int    `json:"ops"`
}

// DisagreementError says that the two oracles judge one history differently:
// an error of the harness, never a verdict.
type DisagreementError struct {
	Report OracleReport
}

func (e *DisagreementError) Error() string {
	return "the oracles disagree on " + e.Report.Property + ": the sweep says " + e.Report.Sweep +
		", Porcupine says " + e.Report.Porcupine + "; this is a bug of the harness, please keep the history"
}
