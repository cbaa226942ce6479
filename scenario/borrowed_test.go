package scenario

import (
	"errors"
	"strings"
	"testing"

	"lockchaos/faults"
	"lockchaos/scenarios"
)

// What of the catalogue can be done to servers that the run has not started: faults
// of links, of hosts, and jumps of clocks.
func TestCheckBorrowed(t *testing.T) {
	all, err := NewCatalogue(scenarios.Files).Find("*/*")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[bool]int{}
	for _, s := range all {
		err := s.CheckBorrowed(func(string) string { return "a plain server" })
		if s.Hammer != nil {
			continue
		}
		bad := 0
		for _, f := range s.Faults {
			switch f.Kind {
			case "partition", "hold", "delay", "reset", "pause-host", "kill-host", "clock-jump":
			default:
				bad++
			}
		}
		counts[bad > 0]++
		if (err != nil) != (bad > 0) {
			t.Errorf("%s, with %d faults of servers: %v", s.Name, bad, err)
		}
		var at *Error
		if err != nil && (!errors.As(err, &at) || at.Line == 0 || !strings.Contains(err.Error(), "a plain server")) {
			t.Errorf("%s: the error has no place: %v", s.Name, err)
		}
	}
	if counts[true] == 0 || counts[false] == 0 {
		t.Errorf("scenarios that can: %d, that cannot: %d", counts[false], counts[true])
	}
}

// Only the nodes that are borrowed matter, and what is drawn counts, too.
func TestCheckBorrowedNodes(t *testing.T) {
	const head = `
name: borrowed
lock: {system: redlock, ttl: 1s}
hosts: 2
workload: {kind: counter, rounds: 4}
guards: [none]
control: none
expect: {none: {outcome: any}}
`
	for name, c := range map[string]struct{ tail, says string }{
		"another node":     {"faults: [{fault: crash-node, nodes: [n1, n3], from: at 0s, for: 1s}]", ""},
		"one of the nodes": {"faults:\n  - {fault: reset, from: at 0s}\n  - {fault: crash-node, nodes: [n1, n2], from: at 0s, for: 1s}", "borrowed.yaml:11: faults[1].fault: crash-node acts on its process, and n2 is a plain server"},
		"the resource":     {"faults: [{fault: pause-node, nodes: [resource], from: at 0s, for: 1s}]", ""},
		"drawn":            {"hammer:\n  for: 1s\n  weights:\n    hold: 1\n    evict: 1", "borrowed.yaml:13: hammer.weights.evict: evict acts on the settings of its memory, and all its keys, and n2 is"},
		"never drawn":      {"hammer: {for: 1s, weights: {hold: 1, clock-jump: 2, partition: 1}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte(head+c.tail), "borrowed.yaml")
			if err != nil {
				t.Fatal(err)
			}
			err = s.CheckBorrowed(func(node string) string {
				if node == "n2" {
					return "a plain server"
				}
				return ""
			})
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, expected %q", err, c.says)
			}
		})
	}
}

// Each kind of fault of servers says what it acts on, but for the jump of a clock,
// which shifted TTLs are as good as.
func TestKindsAct(t *testing.T) {
	for _, k := range faults.Kinds() {
		server := k.Nodes && !k.Hosts || k.Failovers
		if want := server && k.Name != "clock-jump"; want != (k.Acts != "") {
			t.Errorf("%s acts on %q", k.Name, k.Acts)
		}
	}
}
