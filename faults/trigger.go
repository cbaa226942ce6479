package faults

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"lockchaos/history"
	"lockchaos/scenario/located"
)

// Point is a step of a host: just before it calls, or just after it returned
// with success. "w1 wrote" also comes when the guard refused the write: the
// write is over.
type Point struct {
	Host   string
	Do     history.Do
	Before bool
	// Nth counts the point's occurrences, from 1: of a start since the start of
	// the run, of an end since its fault was seen to work.
	Nth int
}

// Trigger is a time since the start of the run, or a point.
// The zero Trigger is none.
type Trigger struct {
	At    time.Duration
	Timed bool
	Point Point
	text  string
}

// IsZero tells whether there is no trigger.
func (t Trigger) IsZero() bool { return t.text == "" }

// String is the trigger as it was written.
func (t Trigger) String() string { return t.text }

// MarshalText writes the trigger as it was read.
func (t Trigger) MarshalText() ([]byte, error) { return []byte(t.text), nil }

// verbs are the two forms of each step.
var verbs = map[string]struct {
	do     history.Do
	before bool
}{
	"acquires": {history.Acquire, true}, "acquired": {history.Acquire, false},
	"extends": {history.Extend, true}, "extended": {history.Extend, false},
	"checks": {history.Check, true}, "checked": {history.Check, false},
	"reads": {history.Read, true}, "read": {history.Read, false},
	"writes": {history.Write, true}, "wrote": {history.Write, false},
	"releases": {history.Release, true}, "released": {history.Release, false},
}

// TriggerHelp says how a trigger is written.
const TriggerHelp = `expected "at 200ms", "after w1 acquired" or "before w2 writes", ` +
	`with acquires/acquired, reads/read, checks/checked, writes/wrote, extends/extended, releases/released, ` +
	`and a number for a later one: "after w1 acquired 3"`

var (
	timedForm = regexp.MustCompile(`^at (\S+)$`)
	pointForm = regexp.MustCompile(`^(after|before) (w\d+) ([a-z]+)(?: (\d+))?$`)
)

// UnmarshalText reads a trigger.
func (t *Trigger) UnmarshalText(b []byte) error {
	s := strings.Join(strings.Fields(string(b)), " ")
	if m := timedForm.FindStringSubmatch(s); m != nil {
		d, err := time.ParseDuration(m[1])
		if err != nil || d < 0 {
			return fmt.Errorf("trigger %q: %q is not a time from 0 on, for example 200ms", s, m[1])
		}
		*t = Trigger{At: d, Timed: true, text: s}
		return nil
	}
	m := pointForm.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("trigger %q: %s", s, TriggerHelp)
	}
	p, err := parsePoint(m[2], m[3], m[4])
	if err != nil {
		return fmt.Errorf("trigger %q: %w", s, err)
	}
	if want := map[bool]string{true: "before", false: "after"}[p.Before]; m[1] != want {
		return fmt.Errorf("trigger %q: %q goes with %q", s, m[3], want)
	}
	*t = Trigger{Point: p, text: s}
	return nil
}

// UnmarshalYAML reads as UnmarshalText does, and names the place of an error.
func (t *Trigger) UnmarshalYAML(n ast.Node) error { return located.Text(n, t) }

func parsePoint(host, verb, nth string) (Point, error) {
	v, ok := verbs[verb]
	if !ok {
		return Point{}, fmt.Errorf("unknown step %q, %s", verb, TriggerHelp)
	}
	p := Point{Host: host, Do: v.do, Before: v.before, Nth: 1}
	if nth != "" {
		n, err := strconv.Atoi(nth)
		if err != nil || n < 1 {
			return Point{}, fmt.Errorf("%q is not a count from 1 on", nth)
		}
		p.Nth = n
	}
	return p, nil
}

// Order makes one step wait for another, or for a time since the start of the run.
type Order struct {
	Step  Point   // always Before
	After Trigger // a time, or a point that is not Before
	text  string
}

// String is the order as it was written.
func (o Order) String() string { return o.text }

// MarshalText writes the order as it was read.
func (o Order) MarshalText() ([]byte, error) { return []byte(o.text), nil }

const orderHelp = `expected "w2 acquires after w1 acquired" or "w2 acquires at 100ms"`

var orderForm = regexp.MustCompile(`^(w\d+) ([a-z]+)(?: (\d+))? ((?:after|at) .+)$`)

// UnmarshalText reads "w2 acquires after w1 acquired".
func (o *Order) UnmarshalText(b []byte) error {
	s := strings.Join(strings.Fields(string(b)), " ")
	m := orderForm.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("order %q: %s", s, orderHelp)
	}
	step, err := parsePoint(m[1], m[2], m[3])
	if err != nil {
		return fmt.Errorf("order %q: %w", s, err)
	}
	if !step.Before {
		return fmt.Errorf("order %q: the step that waits is one to come, %s", s, orderHelp)
	}
	var after Trigger
	if err := after.UnmarshalText([]byte(m[4])); err != nil {
		return fmt.Errorf("order %q: %w", s, err)
	}
	*o = Order{step, after, s}
	return nil
}

// UnmarshalYAML reads as UnmarshalText does, and names the place of an error.
func (o *Order) UnmarshalYAML(n ast.Node) error { return located.Text(n, o) }
