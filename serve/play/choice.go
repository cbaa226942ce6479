package play

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/locks"
	"lockchaos/scenario"
)

// Choice is what somebody has chosen in the playground. Times are in milliseconds.
type Choice struct {
	Lock, Guard, Discipline string
	TTL                     int
	Watchdog                bool
	Hosts, Rounds, Work     int
	Seed                    int
	// Pause stops w1, Cut cuts w1 off from Struck lock nodes, and Jump moves the
	// clocks of as many forward, by what its For says.
	Pause, Cut, Jump Strike
	Struck           int
	// Fail makes a replica the master, in the way that How says; the old master is
	// back a For after that. Unheard: the replicas have heard of nothing before.
	Fail    Strike
	How     string
	Unheard bool
}

// Strike is one thing that goes wrong.
type Strike struct {
	On      bool
	At, For int
}

// Limit is what a number may be.
type Limit struct{ Least, Most int }

// Limits are those of all numbers, by the names that they have in a query. They
// keep a simulation short, and so does mostWork.
var Limits = map[string]Limit{
	"ttl": {20, 5000}, "hosts": {2, 4}, "rounds": {1, 5}, "work": {0, 3000}, "seed": {1, 1_000_000},
	"pause_at": {0, 1500}, "pause_for": {1, 2000}, "cut_at": {0, 1500}, "cut_for": {1, 2000},
	"jump_at": {0, 1500}, "jump_for": {5, 2000}, "struck": {1, 5}, "fail_at": {0, 1500}, "fail_for": {1, 2000},
}

// mostWork is how long all hosts together may hold the lock for their work, in
// milliseconds: others ask for it all the while, which is what a simulation takes
// its time for.
const mostWork = 6000

// StaleHolder is the first example: w1 is stopped past its lease with the counter
// read, and goes on when others have written.
func StaleHolder() Choice {
	return Choice{
		Lock: "single", Guard: history.GuardNone, Discipline: history.Trusting, TTL: 300, Hosts: 3, Rounds: 3, Work: 40, Seed: 1,
		Pause: Strike{true, 20, 500}, Cut: Strike{false, 20, 600}, Jump: Strike{false, 20, 300}, Struck: 3,
		Fail: Strike{false, 80, 300}, How: "kill",
	}
}

// numbers are the numbers of c by name.
func (c *Choice) numbers() map[string]*int {
	return map[string]*int{
		"ttl": &c.TTL, "hosts": &c.Hosts, "rounds": &c.Rounds, "work": &c.Work, "seed": &c.Seed, "struck": &c.Struck,
		"pause_at": &c.Pause.At, "pause_for": &c.Pause.For, "cut_at": &c.Cut.At, "cut_for": &c.Cut.For,
		"jump_at": &c.Jump.At, "jump_for": &c.Jump.For, "fail_at": &c.Fail.At, "fail_for": &c.Fail.For,
	}
}

func (c *Choice) words() map[string]*string {
	return map[string]*string{"lock": &c.Lock, "guard": &c.Guard, "discipline": &c.Discipline, "how": &c.How}
}

func (c *Choice) switches() map[string]*bool {
	return map[string]*bool{
		"watchdog": &c.Watchdog, "pause": &c.Pause.On, "cut": &c.Cut.On, "jump": &c.Jump.On, "fail": &c.Fail.On, "unheard": &c.Unheard,
	}
}

// FromQuery reads a choice. Without any it is the first example; otherwise a
// switch that is not there is off, as a form sends it.
func FromQuery(q url.Values) (Choice, error) {
	c := StaleHolder()
	if len(q) == 0 {
		return c, nil
	}
	words, numbers, switches := c.words(), c.numbers(), c.switches()
	for _, on := range switches {
		*on = false
	}
	for name, values := range q {
		value := values[0]
		switch {
		case len(values) > 1:
			return c, fmt.Errorf("%.20q stands %d times", name, len(values))
		case words[name] != nil:
			*words[name] = value
		case switches[name] != nil:
			*switches[name] = value == "on"
		case numbers[name] != nil:
			n, err := strconv.Atoi(value)
			if l := Limits[name]; err != nil || n < l.Least || n > l.Most {
				return c, fmt.Errorf("%s is %.20q, expected a whole number from %d to %d", name, value, l.Least, l.Most)
			}
			*numbers[name] = n
		default:
			return c, fmt.Errorf("there is no setting %.20q", name)
		}
	}
	return c, c.check()
}

// Disciplines are what holders may do.
func Disciplines() []string { return []string{history.Trusting, history.ChecksLease} }

// Guards are the guards that can be chosen.
func Guards() []string {
	return []string{history.GuardNone, history.GuardFence, history.GuardFenceRead, history.GuardVersion, history.GuardAtomic}
}

// Systems are the lock systems that can be chosen.
func Systems() []string {
	var names []string
	for _, s := range locks.Systems() {
		names = append(names, s.Name)
	}
	return names
}

// Ways are the ways to a failover.
func Ways() []string { return []string{"kill", "isolate", "command"} }

// check looks at the words, which become part of a file, and at what the choice
// is all together.
func (c Choice) check() error {
	for _, w := range []struct {
		name, value string
		allowed     []string
	}{{"lock", c.Lock, Systems()}, {"guard", c.Guard, Guards()}, {"discipline", c.Discipline, Disciplines()}, {"how", c.How, Ways()}} {
		if !slices.Contains(w.allowed, w.value) {
			return fmt.Errorf("%s is %.20q, expected one of %s", w.name, w.value, strings.Join(w.allowed, ", "))
		}
	}
	if all := c.Hosts * c.Rounds * c.Work; all > mostWork {
		return fmt.Errorf("%d hosts with %d rounds of %d ms work for %d ms, expected at most %d ms: fewer hosts, fewer rounds or shorter work",
			c.Hosts, c.Rounds, c.Work, all, mostWork)
	}
	if s, err := locks.Find(c.Lock); err == nil && s.Sentinels == 0 && c.Fail.On {
		return fmt.Errorf("a failover is for the lock system sentinel, %s has no replicas", c.Lock)
	}
	if c.unheard() && c.Fail.At < unheardTakes {
		return fmt.Errorf("fail_at is %d, expected at least %d: it takes so long to see that the replicas hear nothing", c.Fail.At, unheardTakes)
	}
	return nil
}

// Query is the other way of FromQuery.
func (c Choice) Query() string {
	q := url.Values{}
	for name, w := range c.words() {
		q.Set(name, *w)
	}
	for name, n := range c.numbers() {
		q.Set(name, strconv.Itoa(*n))
	}
	for name, on := range c.switches() {
		if *on {
			q.Set(name, "on")
		}
	}
	return q.Encode()
}

// File is the name of the scenario file of a choice.
const File = "playground.yaml"

// Command runs that file.
func (c Choice) Command() string {
	s := "./chaos run " + File + " --on sim"
	if c.Seed != 1 {
		s += fmt.Sprintf(" --seed %d", c.Seed)
	}
	return s
}

// Scenario is the choice as a scenario file. came is the verdict of a run of it,
// which the file then expects; nil before there is one.
func (c Choice) Scenario(came *checker.Verdict) ([]byte, error) {
	var b strings.Builder
	b.WriteString("# Made in the playground of chaos serve. It expects what came out there.\n")
	fmt.Fprintf(&b, "name: playground\nabout: %s\nworlds: [sim]\n", c.about())
	fmt.Fprintf(&b, "lock: {system: %s, ttl: %dms", c.Lock, c.TTL)
	if c.Watchdog {
		b.WriteString(", watchdog: true")
	}
	if c.Lock == "redlock" && history.Fenced(c.Guard) {
		fmt.Fprintf(&b, ", token: %s", locks.TokenQuorum)
	}
	fmt.Fprintf(&b, "}\nhosts: %d\n", c.Hosts)
	fmt.Fprintf(&b, "workload: {kind: counter, discipline: %s, rounds: %d, work: %dms, rest: 5ms, retry: %dms}\n", c.Discipline, c.Rounds, c.Work, c.retry())
	fmt.Fprintf(&b, "guards: [%s]\n", c.Guard)
	at := &instants{taken: map[time.Duration]bool{}}
	b.WriteString("order:\n  # w1 is the first to ask, and so the one that trouble meets while it holds the lock.\n")
	for i := 1; i < c.Hosts; i++ {
		fmt.Fprintf(&b, "  - %s acquires at %s\n", scenario.HostName(i), at.apart(othersFrom+time.Duration(i)*time.Millisecond))
	}
	b.WriteString(c.faults(at))
	fmt.Fprintf(&b, "control: none\ndeadline: 30s\nexpect:\n  %s: %s\n", c.Guard, expected(came))
	text := []byte(b.String())
	_, err := scenario.Parse(text, File)
	return text, err
}

// retry is how long a host that was refused waits, in milliseconds: longer where
// the lease or the work is, as nobody would ask a thousand times.
func (c Choice) retry() int { return 10 + min(max(max(c.TTL, c.Work)-300, 0)/20, 50) }

// othersFrom is when the other hosts begin: a lock is granted in a few milliseconds.
const othersFrom = 9 * time.Millisecond

// about says in words what goes wrong.
func (c Choice) about() string {
	var parts []string
	if c.Pause.On {
		parts = append(parts, fmt.Sprintf("the holder is stopped for %d ms", c.Pause.For))
	}
	if c.Cut.On {
		parts = append(parts, fmt.Sprintf("the holder is cut off from the lock for %d ms", c.Cut.For))
	}
	if c.Jump.On {
		parts = append(parts, fmt.Sprintf("the clock of a lock server jumps by %d ms", c.Jump.For))
	}
	if c.Fail.On {
		parts = append(parts, map[string]string{
			"kill": "the master dies", "isolate": "the master is cut off together with the holder", "command": "an operator makes another the master",
		}[c.How])
	}
	if c.unheard() {
		parts = append(parts, "its replicas had heard of nothing")
	}
	if len(parts) == 0 {
		return "nothing goes wrong"
	}
	return strings.Join(parts, " and ")
}

// faults writes the schedule.
func (c Choice) faults(at *instants) string {
	var b strings.Builder
	nodes := strings.Join(c.struck(), ", ")
	lasting := func(s Strike) string {
		from, until := at.span(s)
		return fmt.Sprintf("from: at %s, for: %s}\n", from, until-from)
	}
	if c.Pause.On {
		b.WriteString("  - {fault: pause-host, hosts: [w1], " + lasting(c.Pause))
	}
	if c.Cut.On {
		fmt.Fprintf(&b, "  - {fault: partition, hosts: [w1], nodes: [%s], %s", nodes, lasting(c.Cut))
	}
	if c.Jump.On {
		fmt.Fprintf(&b, "  - {fault: clock-jump, nodes: [%s], by: %dms, from: at %s}\n", nodes, c.Jump.For, at.apart(ms(c.Jump.At)))
	}
	if c.Fail.On {
		b.WriteString(c.failover(at))
	}
	if b.Len() == 0 {
		return ""
	}
	return "faults:\n" + b.String()
}

// unheard says whether the replicas are to hear of nothing before the failover.
func (c Choice) unheard() bool { return c.Fail.On && c.Unheard }

// unheardTakes is until when it is seen that replicas are cut off, in milliseconds.
const unheardTakes = 80

// failoverTakes is longer than Sentinels take to make another the master.
const failoverTakes = 3 * time.Second

func (c Choice) failover(at *instants) string {
	s := ""
	if c.unheard() {
		from := at.apart(0)
		s = fmt.Sprintf("  - {fault: cut-replication, nodes: [n2, n3], from: at %s, for: %s}\n", from, at.apart(ms(c.Fail.At)+failoverTakes)-from)
	}
	with := ""
	if c.How == "isolate" {
		with = ", hosts: [w1]"
	}
	return s + fmt.Sprintf("  - {fault: failover, how: %s%s, from: at %s, for: %dms}\n", c.How, with, at.apart(ms(c.Fail.At)), c.Fail.For)
}

// struck are the lock nodes that trouble meets: the first ones.
func (c Choice) struck() []string {
	n := 1
	if s, err := locks.Find(c.Lock); err == nil {
		n = s.Nodes + s.Replicas
	}
	var names []string
	for i := range min(n, c.Struck) {
		names = append(names, scenario.NodeName(i))
	}
	return names
}

// instants keeps the times of a schedule apart: what happens at one instant has
// no order in the simulation.
type instants struct{ taken map[time.Duration]bool }

func (i *instants) apart(at time.Duration) time.Duration {
	for i.taken[at] {
		at += 5 * time.Microsecond
	}
	i.taken[at] = true
	return at
}

func (i *instants) span(s Strike) (from, until time.Duration) {
	from = i.apart(ms(s.At))
	return from, i.apart(from + ms(s.For))
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// expected is what a file says must come out: all that was found.
func expected(v *checker.Verdict) string {
	if v == nil {
		return "{outcome: safe}"
	}
	var found []string
	for _, f := range v.Findings {
		if f.ID != checker.NoConclusion && !slices.Contains(found, f.Kind()) {
			found = append(found, f.Kind())
		}
	}
	slices.SortFunc(found, cmp.Compare)
	s := "{outcome: " + string(v.Outcome)
	if len(found) > 0 {
		s += ", findings: [" + strings.Join(found, ", ") + "]"
	}
	return s + "}"
}
