package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/history"
)

// transcript is the log of a schedule and of the world that it acts on, on
// (virtual) time.
type transcript struct {
	mu     sync.Mutex
	start  time.Time
	lines  []string
	events []history.FaultStep
}

func (tr *transcript) say(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, fmt.Sprintf("%7s  ", time.Since(tr.start))+fmt.Sprintf(format, args...))
}

// Add makes it a Log.
func (tr *transcript) Add(e history.Event) history.Event {
	text := fmt.Sprintf("%s %s %s", e.Fault.ID, e.Fault.Name, e.Fault.Step)
	if len(e.Fault.Targets) > 0 {
		text += " [" + strings.Join(e.Fault.Targets, " ") + "]"
	}
	if e.Host != "" {
		text += " at " + e.Host
	}
	if e.Fault.Proof != "" {
		text += ": " + e.Fault.Proof
	}
	tr.say("%s", text)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.events = append(tr.events, *e.Fault)
	return e
}

// steps are the steps recorded of one fault.
func (tr *transcript) steps(id string) []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	var list []string
	for _, e := range tr.events {
		if e.ID == id {
			list = append(list, e.Step)
		}
	}
	return list
}

func (tr *transcript) String() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.Join(tr.lines, "\n") + "\n"
}

// How a world does what it is told.
const (
	honest  = "is honest"
	idle    = "does nothing"            // and says nothing
	refuses = "returns errors"          // of every call
	leaky   = "lets some bytes cross"   // of a cut link
	mute    = "says nothing at the end" // of every call that heals
	ends    = "breaks at the end"       // every call that heals returns an error
)

// world is a fake of what faults act on.
type world struct {
	*transcript
	mode    string
	mu      sync.Mutex
	links   map[string]*link
	servers map[string]*server
	group   fakeGroup
}

var _ Controls = (*world)(nil)

func newWorld(mode string) *world {
	return &world{
		transcript: &transcript{start: time.Now()}, mode: mode, links: map[string]*link{}, servers: map[string]*server{},
		group: fakeGroup{master: "n1", reached: map[string]int64{}},
	}
}

var errWorld = errors.New("the world\nsays no")

func (w *world) do(what, name, proof string, heals bool) (string, error) {
	w.say("    %s %s", what, name)
	switch {
	case w.mode == refuses, w.mode == ends && heals:
		return "", errWorld
	case w.mode == idle, w.mode == mute && heals:
		return "", nil
	}
	return proof, nil
}

func (w *world) PauseHost(_ context.Context, n string) (string, error) {
	return w.do("pause", n, "process state T", false)
}
func (w *world) ResumeHost(_ context.Context, n string) (string, error) {
	return w.do("resume", n, "process state S", true)
}
func (w *world) KillHost(_ context.Context, n string) (string, error) {
	return w.do("kill", n, "signal: killed", false)
}
func (w *world) PauseNode(_ context.Context, n string) (string, error) {
	return w.do("pause", n, "process state T", false)
}
func (w *world) ResumeNode(_ context.Context, n string) (string, error) {
	return w.do("resume", n, "process state S", true)
}
func (w *world) CrashNode(_ context.Context, n string) (string, error) {
	w.mu.Lock()
	w.group.struck = w.group.struck || n == w.group.master && w.mode != idle
	w.mu.Unlock()
	return w.do("crash", n, "signal: killed", false)
}
func (w *world) StartNode(_ context.Context, n string) (string, error) {
	return w.do("start", n, "new run id", true)
}

func (w *world) JumpClock(_ context.Context, n string, by time.Duration) (string, error) {
	return w.do(fmt.Sprintf("jump %s", by), n, "TIME moved", false)
}
func (w *world) SetClockRate(_ context.Context, n string, rate float64) (string, error) {
	return w.do(fmt.Sprintf("rate %g", rate), n, "TIME runs", rate == 1)
}

func (w *world) Command(_ context.Context, n string, args ...any) (any, error) {
	if reply, err, ok := w.groupCommand(n, args); ok {
		return reply, err
	}
	command := strings.TrimSpace(fmt.Sprintln(args...))
	if _, err := w.do(command, n, "", strings.HasSuffix(command, "NO ONE")); err != nil {
		return nil, err
	}
	return w.answer(n, command)
}

func (w *world) Link(host, node string) cluster.Link { return w.link(host, node) }

func (w *world) link(host, node string) *link {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := host + ">" + node
	if w.links[name] == nil {
		w.links[name] = &link{w: w, name: name, rules: map[string]cluster.Rule{}, delays: map[string]time.Duration{}, conns: 1}
	}
	return w.links[name]
}

// send lets ten bytes go each way on all links of a host.
func (w *world) send(host string) {
	w.mu.Lock()
	var mine []*link
	for name, l := range w.links {
		if strings.HasPrefix(name, host+">") {
			mine = append(mine, l)
		}
	}
	w.mu.Unlock()
	for _, l := range mine {
		l.carry(10)
	}
}

type link struct {
	w      *world
	name   string
	mu     sync.Mutex
	rules  map[string]cluster.Rule
	delays map[string]time.Duration
	conns  int
	counts cluster.Counts
}

func (l *link) Apply(_ context.Context, id string, r cluster.Rule) error {
	what := "hold"
	if r.Drop {
		what = "drop"
	}
	_, err := l.w.do(strings.TrimSpace(fmt.Sprint(what, " ", r.Direction, " ", strings.Join(r.Commands, ","))), l.name, "", false)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.w.mode != idle {
		l.rules[id] = r
	}
	return err
}

func (l *link) Lift(_ context.Context, id string) error {
	_, err := l.w.do("lift", l.name, "", true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.rules, id)
	}
	return err
}

func (l *link) Delay(_ context.Context, id string, latency, jitter time.Duration) error {
	_, err := l.w.do(fmt.Sprintf("delay %s±%s", latency, jitter), l.name, "", false)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && l.w.mode != idle {
		l.delays[id] = latency
	}
	return err
}

func (l *link) Undelay(_ context.Context, id string) error {
	_, err := l.w.do("undelay", l.name, "", true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.delays, id)
	}
	return err
}

func (l *link) Reset(context.Context) (int, error) {
	_, err := l.w.do("reset", l.name, "", false)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || l.w.mode == idle {
		return 0, err
	}
	n := l.conns
	l.conns = 0
	return n, nil
}

// Probe takes a millisecond, the latency both ways, or for ever.
func (l *link) Probe(ctx context.Context) (time.Duration, error) {
	l.mu.Lock()
	dead, took := len(l.rules) > 0, time.Millisecond
	for _, d := range l.delays {
		took += 2 * d
	}
	l.mu.Unlock()
	if dead {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	select {
	case <-time.After(took):
		return took, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (l *link) Counts() cluster.Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counts
}

func (l *link) carry(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	drop, held := false, false
	for _, r := range l.rules {
		drop, held = drop || r.Drop, held || !r.Drop
	}
	switch {
	case drop && l.w.mode != leaky:
		l.counts.DroppedBytes += n
	case held:
		l.counts.HeldBytes += n
		l.counts.HeldCommands++
	default:
		l.counts.RequestBytes += n
		l.counts.ReplyBytes += n
	}
}

// play has a host go through words: a verb of a trigger is a step, a time is
// slept, "sends" lets bytes cross its links.
func (w *world) play(ctx context.Context, s *Schedule, host, words string) {
	for word := range strings.FieldsSeq(words) {
		if d, err := time.ParseDuration(word); err == nil {
			time.Sleep(d) // virtual
			continue
		}
		if word == "sends" {
			w.send(host)
			continue
		}
		v, ok := verbs[word]
		if !ok {
			panic("no verb " + word)
		}
		if !v.before {
			w.say("%s %s", host, word)
		}
		err := s.Reach(ctx, host, v.do, v.before)
		if v.before {
			w.say("%s %s", host, word)
		}
		if err != nil {
			w.say("%s stops: %v", host, err)
			return
		}
	}
}

// playAll plays all hosts, given as "w1: words", side by side, and closes the schedule.
func (w *world) playAll(ctx context.Context, s *Schedule, hosts []string) {
	s.Run(ctx)
	var wg sync.WaitGroup
	for _, h := range hosts {
		name, words, _ := strings.Cut(h, ":")
		wg.Go(func() { w.play(ctx, s, name, words) })
	}
	wg.Wait()
	w.say("over: %v", s.Over())
	s.Close()
}

func has(steps []string, step string) bool { return slices.Contains(steps, step) }
