package runner

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"lockchaos/history"
	"lockchaos/scenario"
)

// oddScenarios are runs in which one event wakes many: a host's death, the end of a
// context that several commands share, the deadline.
var oddScenarios = map[string]string{
	"kill in flight": `
lock: {system: single, ttl: 300ms}
hosts: 3
workload: {kind: counter, rounds: 3, work: 5ms, rest: 5ms}
guards: [none]
faults:
  - {fault: hold, hosts: [w1], nodes: [n1], direction: requests, from: before w1 acquires 2, for: 400ms}
  - {fault: kill-host, hosts: [w1], from: at 200ms}
expect: {none: {outcome: any}}
`,
	"kill in flight on many nodes": `
lock: {system: redlock, ttl: 300ms}
hosts: 3
workload: {kind: counter, rounds: 3, work: 5ms, rest: 5ms}
guards: [none]
faults:
  - {fault: delay, latency: 60ms, jitter: 30ms, from: at 1ms, for: 3s}
  - {fault: kill-host, hosts: [w1, w2], from: at 250ms}
expect: {none: {outcome: any}}
`,
	"contexts of redsync": `
worlds: [sim]
lock: {system: redlock, ttl: 300ms, fail_fast: true, context_timeout: true, acquire_timeout: 100ms, tries: 5, retry_delay: 5ms}
hosts: 5
workload: {kind: counter, rounds: 2, work: 5ms, rest: 5ms, retry: 20ms}
guards: [none]
hammer: {for: 3s, every: 100ms, weights: {partition: 3, hold: 3, delay: 3, reset: 2}}
expect: {none: {outcome: any}}
`,
	"deadline during faults": `
worlds: [sim]
lock: {system: single-set-then-expire, ttl: 300ms, watchdog: true, read_timeout: 100ms}
nodes: {persistence: everysec}
hosts: 5
workload: {kind: counter, rounds: 2, work: 150ms, rest: 5ms, retry: 20ms}
guards: [none]
hammer: {for: 990ms, every: 50ms, weights: {pause-host: 3, pause-node: 2, partition: 3, hold: 3, delay: 3, reset: 2, power-loss: 1, slow: 3}}
deadline: 1s
expect: {none: {outcome: any}}
`,
	"deadline while all is held": `
lock: {system: redlock, ttl: 300ms, fail_fast: true, watchdog: true}
hosts: 5
workload: {kind: counter, rounds: 9, work: 150ms, rest: 5ms, retry: 20ms}
guards: [none]
faults:
  - {fault: hold, direction: replies, from: at 300ms, for: 10s}
  - {fault: partition, hosts: [w1], nodes: [n1], from: at 990ms, for: 1s}
  - {fault: partition, hosts: [w2], nodes: [n2], from: at 990ms, for: 1s}
  - {fault: delay, latency: 60ms, hosts: [w3], from: at 980ms, for: 1s}
  - {fault: pause-host, hosts: [w4], from: at 999ms, for: 1s}
deadline: 1s
expect: {none: {outcome: any}}
`,
	"deadline of a context that the client heeds": `
lock: {system: redlock, ttl: 300ms, fail_fast: true, context_timeout: true, timeout_factor: 1, tries: 3}
hosts: 5
workload: {kind: counter, rounds: 9, work: 50ms, rest: 5ms, retry: 20ms}
guards: [none]
faults:
  - {fault: hold, direction: replies, from: at 350ms, for: 10s}
deadline: 500ms
expect: {none: {outcome: any}}
`,
	"pause with much under way": `
lock: {system: redlock, ttl: 300ms, fail_fast: true, watchdog: true, tries: 3, retry_delay: 5ms}
hosts: 3
workload: {kind: counter, rounds: 5, work: 150ms, rest: 5ms, retry: 20ms}
guards: [none]
faults:
  - {fault: hold, nodes: [n1, n2], direction: replies, from: at 30ms, for: 200ms}
  - {fault: pause-host, hosts: [w1, w2, w3], from: at 200ms, for: 100ms}
expect: {none: {outcome: any}}
`,
	"watchdog with a kill": `
lock: {system: single, ttl: 300ms, watchdog: true}
hosts: 3
workload: {kind: counter, rounds: 3, work: 150ms, rest: 5ms}
guards: [none]
faults:
  - {fault: delay, hosts: [w1], latency: 80ms, from: at 1ms, for: 3s}
  - {fault: kill-host, hosts: [w1], from: before w1 writes}
  - {fault: kill-host, hosts: [w2], from: at 250ms}
expect: {none: {outcome: any}}
`,
	"faults at one instant": `
lock: {system: redlock, ttl: 300ms}
hosts: 3
workload: {kind: counter, rounds: 5, work: 50ms, rest: 5ms}
guards: [none]
faults:
  - {fault: partition, hosts: [w1], nodes: [n1], from: at 100ms, for: 100ms}
  - {fault: delay, hosts: [w2], nodes: [n1], latency: 20ms, from: at 100ms, for: 100ms}
  - {fault: pause-node, nodes: [n2], from: at 100ms, for: 100ms}
  - {fault: kill-host, hosts: [w3], from: at 100ms}
expect: {none: {outcome: any}}
`,
	"sentinel with a kill and a deadline": `
lock: {system: sentinel, ttl: 500ms, watchdog: true}
hosts: 5
workload: {kind: counter, rounds: 9, work: 100ms, rest: 5ms, retry: 20ms}
guards: [none]
faults:
  - {fault: pause-node, nodes: [n1], from: at 100ms, for: 1s}
  - {fault: kill-host, hosts: [w1, w2], from: at 300ms}
  - {fault: failover, how: kill, from: at 1200ms, for: 2s}
  - {fault: hold, hosts: [w3, w4], from: at 1300ms, for: 2s}
deadline: 2s
expect: {none: {outcome: any}}
`,
}

// What one event wakes goes on in an order that no scheduler decides.
func TestOddScenariosAreDeterministic(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for name, text := range oddScenarios {
		t.Run(name, func(t *testing.T) {
			s, err := scenario.Parse([]byte("name: odd/it\nabout: it\n"+text), name)
			if err != nil {
				t.Fatal(err)
			}
			for seed := int64(1); seed <= 6; seed++ {
				if line := unlike(t, s, seed); line > 0 {
					t.Errorf("seed %d: the histories differ from line %d on", seed, line)
				}
			}
		})
	}
}

// unlike is the line from which on two of several histories of one seed differ; 0
// for none.
func unlike(t *testing.T, s *scenario.Scenario, seed int64) int {
	t.Helper()
	var first []byte
	for _, procs := range []int{1, 2, 4, 4, 1} {
		runtime.GOMAXPROCS(procs)
		_, got := simulate(t, s, s.Guards[0], seed)
		if first == nil {
			first = got
		}
		if !bytes.Equal(first, got) {
			return firstLine(first, got)
		}
	}
	return 0
}

// Who was killed reports nothing any more, though its library is made to end, too.
func TestDeadHostsSayNothing(t *testing.T) {
	for name, text := range oddScenarios {
		if !strings.Contains(text, "kill-host") {
			continue
		}
		s, err := scenario.Parse([]byte("name: odd/it\nabout: it\n"+text), name)
		if err != nil {
			t.Fatal(err)
		}
		h, _ := simulate(t, s, s.Guards[0], 1)
		dead := map[string]bool{}
		for _, e := range h.Events {
			switch {
			case e.Kind == history.Exit:
				dead[e.Host] = true
			case e.Kind == history.Trace && (dead[e.Host] || strings.Contains(e.Text, "killed")):
				t.Errorf("%s: %+v", name, e)
			}
		}
		if len(dead) == 0 {
			t.Errorf("%s: nobody was killed", name)
		}
	}
}
