package scenario_test

import (
	"reflect"
	"testing"

	"lockchaos/history"
	"lockchaos/internal/golden"
	"lockchaos/scenario"
)

// Parse fills in the defaults, and JSON shows them.
func TestDefaults(t *testing.T) {
	s, err := scenario.Parse([]byte(`lock: {system: redlock, ttl: 1s, drift_factor: 0}
hosts: 1
workload: {kind: counter, rounds: 1}
guards: [none]
faults: [{fault: partition, from: at 0s, for: 1s}]
expect: {none: {outcome: safe}}
`), "some/dir/my-lock.yaml")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/defaults.json", string(b))
	again, err := scenario.Parse(b, s.File) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	again.Source = s.Source
	if !reflect.DeepEqual(again, s) {
		t.Errorf("the JSON is read as %+v, want %+v", again, s)
	}
}

// A scenario with faults that says nothing of what it needs, needs something.
func TestNeeds(t *testing.T) {
	type phases = history.Phases
	after := history.Ops{Grants: 1}
	during := history.Ops{Attempts: 1}
	outset := phases{During: during, After: after}
	each := phases{Before: after, During: during, After: after}
	for name, c := range map[string]struct {
		keys string
		want phases
		each phases
	}{
		"no faults":          {"", phases{}, phases{}},
		"a fault that lasts": {"faults: [{fault: pause-host, hosts: [w1], from: at 0s, for: 1s}]", phases{During: during, After: after}, outset},
		"one that does not":  {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]", phases{After: after}, each},
		"empty needs":        {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: {}", phases{After: after}, each},
		"needs of its own":   {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: {before: {grants: 2}}", phases{Before: history.Ops{Grants: 2}, After: after}, each},
		"a zero":             {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: {after: {grants: 0}}", phases{}, each},
		"a zero by an alias": {"about: &z 0\nfaults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: {after: {grants: *z}}", phases{}, each},
		"phases by an alias": {"demand: &none {after: {grants: 0}}\nfaults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: *none\nneeds_each: *none", phases{}, phases{Before: after, During: during}},
		"nothing":            {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds: {after: {grants: }}\nneeds_each:", phases{After: after}, each},
		"zero attempts":      {"faults: [{fault: pause-host, hosts: [w1], from: at 5ms, for: 1s}]\nneeds: {during: {attempts: 0, grants: 2}}", phases{During: history.Ops{Grants: 2}, After: after}, each},
		"zeros of each":      {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds_each: {before: {grants: 0}, during: {attempts: 0}, after: {grants: 0}}", phases{After: after}, phases{}},
		"a zero of each":     {"faults: [{fault: kill-host, hosts: [w1], from: at 5ms}]\nneeds_each: {before: {grants: 0}}", phases{After: after}, outset},
		"zeros of a hammer":  {"hammer: {for: 1s, weights: {kill-host: 1}}\nneeds: {after: {grants: 0}}", phases{}, phases{}},
		"a hammer":           {"hammer: {for: 1s, weights: {kill-host: 1}}", phases{After: after}, phases{}},
		"from the outset":    {"faults: [{fault: partition, from: at 0s, for: 1s}]", phases{During: during, After: after}, outset},
		"from the first try": {"faults: [{fault: partition, from: before w2 acquires, for: 1s}]", phases{During: during, After: after}, outset},
		"from a later try":   {"faults: [{fault: partition, from: before w2 acquires 2, for: 1s}]", phases{During: during, After: after}, each},
		"optional faults":    {"faults: [{fault: partition, from: at 10ms, for: 1s, optional: true}]", phases{After: after}, phases{}},
		"one that is not":    {"faults: [{fault: kill-host, hosts: [w1], from: at 1ms}, {fault: partition, from: at 10ms, for: 1s, optional: true}]", phases{After: after}, each},
		"each of its own":    {"faults: [{fault: kill-host, hosts: [w1], from: at 10ms}]\nneeds_each: {after: {grants: 3}}", phases{After: after}, phases{Before: after, During: during, After: history.Ops{Grants: 3}}},
	} {
		s, err := scenario.Parse([]byte("lock: {system: single, ttl: 1s}\nhosts: 2\nworkload: {kind: counter, rounds: 1}\n"+
			"guards: [none]\nexpect: {none: {outcome: safe}}\n"+c.keys+"\n"), "x.yaml")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s.Needs != c.want {
			t.Errorf("%s: needs %+v, expected %+v", name, s.Needs, c.want)
		}
		if s.Deadline.D() != scenario.DefaultDeadline {
			t.Errorf("%s: the deadline is %s", name, s.Deadline)
		}
		if s.NeedsEach != c.each {
			t.Errorf("%s: needs %+v around each fault, expected %+v", name, s.NeedsEach, c.each)
		}
		if b, err := s.JSON(); err != nil {
			t.Error(err)
		} else if again, err := scenario.Parse(b, "x.yaml"); err != nil || again.Needs != s.Needs || again.NeedsEach != s.NeedsEach {
			t.Errorf("%s: written and read again it is %+v, %v", name, again, err)
		}
		if c := s.WithoutFaults(); c.Needs != (phases{}) || c.NeedsEach != (phases{}) {
			t.Errorf("%s: the control needs %+v, %+v", name, c.Needs, c.NeedsEach)
		}
	}
}
