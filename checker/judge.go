package checker

import (
	"time"

	"lockchaos/history"
)

// Options bound what a judge spends. A zero field takes its default.
type Options struct {
	// PorcupineLimit is how long Porcupine may take in all: 10 seconds.
	PorcupineLimit time.Duration
	// ChunkOps is from how many operations on a chunk is cut: 500.
	ChunkOps int
	// MaxChunkOps is how many operations a chunk may have and still be checked: 5,000.
	MaxChunkOps int
	// MaxVague is how many operations of a chunk may have no known end: 20.
	MaxVague int
	// MaxFindings is how many findings of one kind are told one by one: 100.
	// The rest is counted in one more finding.
	MaxFindings int
}

func (o Options) filled() Options {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&o.ChunkOps, 500)
	set(&o.MaxChunkOps, 5000)
	set(&o.MaxVague, 20)
	set(&o.MaxFindings, 100)
	if o.PorcupineLimit <= 0 {
		o.PorcupineLimit = 10 * time.Second
	}
	return o
}

// Judge judges a history with the default Options. The same history always
// gives the same verdict. It fails with a *DisagreementError if the oracles
// contradict each other, and with a *MalformedError if the history cannot be
// read as one.
func Judge(h *history.History) (*Verdict, error) { return JudgeWith(h, Options{}) }

// JudgeWith judges a history within the given bounds.
func JudgeWith(h *history.History, o Options) (*Verdict, error) {
	r, err := assemble(h)
	if err != nil {
		return nil, err
	}
	return r.judge(o.filled())
}

func (r *record) judge(o Options) (*Verdict, error) {
	reports, err := consult(r, o)
	if err != nil {
		return nil, err
	}
	v := &Verdict{
		Oracles: reports, Phases: r.phases(), Faults: r.around(), Margin: r.margin(), Counts: r.counts(), Latencies: r.phaseLatencies(),
	}
	j := &judge{r: r, o: o}
	j.around = v.Faults
	j.run(reports)
	v.Findings, v.Reasons = j.settle(), j.reasons
	stalls := r.stalls()
	v.Stalled = longest(stalls)
	j.blamed(v.Findings, stalls)
	v.decide(r.h.Header.Guard, j.disbelieved)
	return v, nil
}

// judge collects findings.
type judge struct {
	r       *record
	o       Options
	found   map[string][]Finding // by kind: the identifier with the cause
	more    map[string]int       // of a kind, found and not told one by one
	reasons []string
	around  []FaultOps
	named   []*history.Event // by the sentence of the finding that is to be added
	// disbelieved: the hosts claim what cannot be.
	disbelieved bool
	overtaken   map[int]bool  // grant index: another got its lock while it was promised
	released    map[int]int64 // grant index: where another host's release hit it first
	brushed     map[int]int64 // grant index: a release of another host that may have hit it
	prolonged   map[*op]bool  // extends that hit the lock of another
}

func (j *judge) run(reports []OracleReport) {
	j.found, j.more, j.released = map[string][]Finding{}, map[string]int{}, map[int]int64{}
	j.brushed = map[int]int64{}
	j.overtaken, j.prolonged = map[int]bool{}, map[*op]bool{}
	for _, l := range j.r.locks {
		j.foreign(l) // first: a foreign release explains a double grant
		j.doubleGrants(l)
		j.staleHolders(l)
		j.earlyLosses(l)
		j.reacquires(l)
		j.tokens(l)
		j.staleWrites(l)
		j.refusedHolders(l)
		j.lostUpdates(l)
		j.gaps(l)
	}
	j.availability()
	j.doubts(reports)
}

// add keeps a finding, or counts it if there are too many of its kind. Its
// events are those that it was found by, and those that its sentence names.
func (j *judge) add(f Finding) {
	named := seqs(j.named...)
	j.named = j.named[:0]
	kind := f.Kind()
	if len(j.found[kind]) >= j.o.MaxFindings {
		j.more[kind]++
		return
	}
	if f.Blame == "" {
		f.Blame = blame(f.ID, j.r.h.Header.Guard)
	}
	f.Events = merge(f.Events, named)
	j.found[kind] = append(j.found[kind], f)
}
