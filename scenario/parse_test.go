package scenario_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/internal/golden"
	"lockchaos/scenario"
	"lockchaos/scenarios"
)

// good is a scenario with nearly every key.
const good = `name: single/x
about: one line
lock: {system: single, ttl: 300ms, read_timeout: 1s}
nodes: {persistence: always}
hosts: 2
workload: {kind: counter, rounds: 3, work: 5ms, rest: 1ms}
guards: [none, fence]
order:
  - w2 acquires after w1 acquired
faults:
  - fault: pause-host
    hosts: [w1]
    from: after w1 read
    until: after w2 wrote
  - fault: delay
    nodes: [n1]
    latency: 20ms
    jitter: 5ms
    from: at 10ms
    for: 1s
needs: {before: {grants: 1}}
expect:
  none: {outcome: violated, findings: [stale-write], may: [double-grant/state-loss]}
  fence: {outcome: safe, never: [lost-update], refused: 1}
deadline: 20s
`

const external = `lock: {system: external, ttl: 1s, command: [./host], nodes: 1, settings: {a: 1}}
hosts: 1
workload: {kind: counter, rounds: 1}
guards: [none]
expect: {none: {outcome: safe}}
`

// with is good after one replacement.
func with(old, new string) string {
	if strings.Count(good, old) != 1 {
		panic(fmt.Sprintf("%q stands %d times in good", old, strings.Count(good, old)))
	}
	return strings.Replace(good, old, new, 1)
}

// grouped is good on a Sentinel group, with another first fault.
func grouped(fault string) string {
	s := with("fault: pause-host\n    hosts: [w1]\n    from: after w1 read\n    until: after w2 wrote", fault)
	return strings.Replace(s, "system: single, ttl: 300ms", "system: sentinel, ttl: 1s", 1)
}

// ext is external after one replacement.
func ext(old, new string) string {
	if !strings.Contains(external, old) {
		panic(old + " is not in external")
	}
	return strings.Replace(external, old, new, 1)
}

// bad has one fault each, and the line that the error must name (0: none can be named).
var bad = []struct {
	name string
	text string
	line int
}{
	{"empty file", "", 0},
	{"comments only", "# nothing\n\n", 0},
	{"document start only", "---\n", 0},
	{"null", "null\n", 1},
	{"two documents", good + "---\nname: b\n", 0},
	{"a list", "- a\n- b\n", 1},
	{"a word", "hello\n", 1},
	{"binary garbage", "\x00\x01\x02\xff\xfe", 1},
	{"an ELF header", "\x7fELF\x02\x01\x01\x00\x00\x00\n\x1b[2J", 1},
	{"UTF-16", "\xff\xfen\x00a\x00", 1},
	{"tab for indentation", "lock:\n\tsystem: single\n", 2},
	{"unclosed bracket", with("[none, fence]", "[none, fence"), 8},
	{"unclosed quote", with("one line", `"one line`), 2},
	{"wrong indentation", with("hosts: 2\n", "hosts: 2\n   x: 1\n"), 5},
	{"key twice", with("hosts: 2\n", "hosts: 2\nhosts: 3\n"), 6},
	{"unknown key", with("hosts: 2\n", "hosts: 2\ncolour: red\n"), 6},
	{"unknown key of a lock", with("read_timeout: 1s", "retries: 3"), 3},
	{"unknown key of a fault", with("    jitter: 5ms\n", "    jittre: 5ms\n"), 18},
	{"unknown key of a workload", with("rounds: 3", "rounds: 3, pause: 1s"), 6},
	{"unknown key of what is expected", with("outcome: safe", "result: safe"), 24},
	{"unknown key of needs", with("before: {grants: 1}", "afterwards: {grants: 1}"), 21},
	{"unknown key of a phase", with("before: {grants: 1}", "before: {grant: 1}"), 21},
	{"unknown key of a hammer", ext("a: 1", "a: 1") + "hammer: {fro: 1s}\n", 6},
	{"unknown key of an external lock", ext("nodes: 1", "node: 1"), 1},
	{"unknown key under an alias", strings.Replace(with("fence: {outcome: safe, never: [lost-update], refused: 1}", "fence: *e"), "none: {outcome", "none: &e {outcmoe", 1), 23},
	{"key in wrong case", with("hosts: 2\n", "Hosts: 2\n"), 5},
	{"unknown alias", with("hosts: 2\n", "hosts: *two\n"), 5},
	{"alias of itself", ext("a: 1", "a: &a [*a]"), 1},
	{"name of 300 letters", with("single/x", strings.Repeat("x", 300)), 1},
	{"name that climbs", with("single/x", "../../etc/passwd"), 1},
	{"name with control characters", with("single/x", `"a\e[2Jb\n"`), 1},
	{"name in capitals", with("single/x", "Single"), 1},
	{"name in full-width letters", with("single/x", "ｓｉｎｇｌｅ"), 1},
	{"about of two lines", with("one line", "|\n  one\n  two"), 2},
	{"about with an escape", with("one line", `"\e[31mred"`), 2},
	{"unknown system", with("system: single", "system: zookeeper"), 3},
	{"no lock", with("lock: {system: single, ttl: 300ms, read_timeout: 1s}\n", ""), 1},
	{"no lock, after comments", "# one\n\n" + with("lock: {system: single, ttl: 300ms, read_timeout: 1s}\n", ""), 3},
	{"hosts missing", with("hosts: 2\n", ""), 1},
	{"hosts of null", with("hosts: 2\n", "hosts:\n"), 5},
	{"workload missing", with("workload: {kind: counter, rounds: 3, work: 5ms, rest: 1ms}\n", ""), 1},
	{"guards missing", with("guards: [none, fence]\n", ""), 22},
	{"no ttl", with("ttl: 300ms, ", ""), 3},
	{"ttl without a unit", with("ttl: 300ms", "ttl: 300"), 3},
	{"ttl of nothing", with("ttl: 300ms", "ttl:"), 3},
	{"ttl is a list", with("ttl: 300ms", "ttl: [1s]"), 3},
	{"ttl is negative", with("ttl: 300ms", "ttl: -1s"), 3},
	{"ttl of half a millisecond", with("ttl: 300ms", "ttl: 1500us"), 3},
	{"ttl of years", with("ttl: 300ms", "ttl: 2562047h"), 3},
	{"ttl beyond all", with("ttl: 300ms", "ttl: 1e300h"), 3},
	{"drift of a lock without", with("read_timeout: 1s", "drift_factor: 0.5"), 3},
	{"drift is not a number", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, drift_factor: .nan"), 3},
	{"drift is infinite", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, drift_factor: .inf"), 3},
	{"timeout factor is infinite", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, timeout_factor: .inf"), 3},
	{"timeout factor is not a number", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, timeout_factor: .nan"), 3},
	{"retries below none", with("read_timeout: 1s", "max_retries: -7"), 3},
	{"read timeout is negative", with("read_timeout: 1s", "read_timeout: -1s"), 3},
	{"command of a built-in lock", with("read_timeout: 1s", "command: [x]"), 3},
	{"settings of a built-in lock", with("read_timeout: 1s", "settings: {a: 1}"), 3},
	{"node count of a built-in lock", with("read_timeout: 1s", "nodes: 5"), 3},
	{"external without a command", ext("command: [./host], ", ""), 1},
	{"external over three nodes", ext("nodes: 1", "nodes: 3"), 1},
	{"external over very many nodes", ext("nodes: 1", "nodes: 999999999999") + "faults: [{fault: kill-host, hosts: [w9], from: at 1s}]\n", 1},
	{"external with a built-in's option", ext("nodes: 1", "nodes: 1, tries: 3"), 1},
	{"external with a setting that JSON has not", ext("a: 1", "a: .nan"), 1},
	{"unknown persistence", with("persistence: always", "persistence: sometimes"), 4},
	{"no hosts", with("hosts: 2", "hosts: 0"), 5},
	{"hosts below 0", with("hosts: 2", "hosts: -1"), 5},
	{"hosts in words", with("hosts: 2", "hosts: two"), 5},
	{"half a host", with("hosts: 2", "hosts: 1.5"), 5},
	{"very many hosts, and one that is none", strings.Replace(with("hosts: 2", "hosts: 999999999999"), "w2 acquires", "w0 acquires", 1), 5},
	{"more hosts than an int", with("hosts: 2", "hosts: 99999999999999999999"), 5},
	{"unknown workload", with("kind: counter", "kind: queue"), 6},
	{"unknown discipline", with("kind: counter", "kind: counter, discipline: careless"), 6},
	{"no rounds", with("rounds: 3", "rounds: 0"), 6},
	{"very many rounds", with("rounds: 3", "rounds: 600000"), 6},
	{"rounds that overflow", with("rounds: 3", "rounds: 9223372036854775807"), 6},
	{"no writes", with("rounds: 3", "rounds: 3, writes: 0"), 6},
	{"no writes by an alias", strings.Replace(with("rounds: 3", "rounds: 3, writes: *no"), "about: one line", "about: &no 0", 1), 6},
	{"retry of nothing", with("rest: 1ms", "retry: 0s"), 6},
	{"read timeout of nothing", with("read_timeout: 1s", "read_timeout: 0s"), 3},
	{"acquire timeout of nothing", with("read_timeout: 1s", "acquire_timeout: 0ms"), 3},
	{"wait timeout of nothing", with("system: single, ttl: 300ms, read_timeout: 1s", "system: sentinel, ttl: 1s, wait: 1, wait_timeout: 0s"), 3},
	{"retries that are not told from the default", with("read_timeout: 1s", "max_retries: 0"), 3},
	{"no tries", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, tries: 0"), 3},
	{"no time between tries", with("system: single, ttl: 300ms, read_timeout: 1s", "system: redlock, ttl: 1s, retry_delay: 0s"), 3},
	{"for no time", with("    for: 1s\n", "    for: 0s\n"), 20},
	{"no latency", with("latency: 20ms", "latency: 0s"), 17},
	{"most of nothing", with("    for: 1s\n", "    for: 1s\n    most: 0s\n"), 21},
	{"hammer without a pause", ext("a: 1", "a: 1") + "hammer: {for: 1s, every: 0s, weights: {kill-host: 1}}\n", 6},
	{"needs below 0", with("before: {grants: 1}", "before: {grants: -1}"), 21},
	{"needs of each below 0", with("needs: {before: {grants: 1}}", "needs_each: {during: {attempts: -1}}"), 21},
	{"demand below 0", with("needs: {before: {grants: 1}}", "demand: {after: {grants: -3}}"), 21},
	{"work below 0", with("work: 5ms", "work: -5ms"), 6},
	{"retry below 0", with("rest: 1ms", "retry: -1ms"), 6},
	{"no guards", with("[none, fence]", "[]"), 7},
	{"unknown guard", with("[none, fence]", "[none, fence, fnece]"), 7},
	{"guard twice", with("[none, fence]", "[none, fence, none]"), 7},
	{"fence with redlock", with("system: single, ttl", "system: redlock, ttl"), 7},
	{"order of an unknown host", with("w2 acquires after", "w3 acquires after"), 9},
	{"order after an unknown host", with("after w1 acquired", "after w7 acquired"), 9},
	{"order is no order", with("w2 acquires after w1 acquired", "first w1, then w2"), 9},
	{"order of a step after itself", with("w2 acquires after w1 acquired", "w1 acquires after w1 acquired"), 9},
	{"order of a step after a later one", with("w2 acquires after w1 acquired", "w1 acquires 2 after w1 released 2"), 9},
	{"order of a read after its write", with("w2 acquires after w1 acquired", "w1 reads after w1 wrote"), 9},
	{"order of a check after a later write", with("w2 acquires after w1 acquired", "w1 checks 3 after w1 wrote 2"), 9},
	{"order of a write after a later one of several", strings.Replace(with("w2 acquires after w1 acquired", "w1 acquires 2 after w1 wrote 4"), "rounds: 3", "rounds: 3, writes: 3", 1), 9},
	{"orders in a ring", with("  - w2 acquires after w1 acquired", "  - w2 acquires after w1 acquired\n  - w1 acquires after w2 released"), 9},
	{"orders in a ring, by a later step", with("  - w2 acquires after w1 acquired", "  - w2 reads at 1s\n  - w2 checks 2 after w1 wrote\n  - w1 acquires after w2 wrote"), 10},
	{"very many orders", with("  - w2 acquires after w1 acquired\n", strings.Repeat("  - w2 reads after w1 read\n", 2000)+"  - w1 reads after w2 wrote\n"), 9},
	{"orders in a ring of three", strings.Replace(with("  - w2 acquires after w1 acquired", "  - w2 acquires after w1 acquired\n  - w3 acquires after w2 acquired\n  - w1 acquires after w3 acquired"), "hosts: 2", "hosts: 3", 1), 9},
	{"order of an extend without a watchdog", with("w2 acquires after w1 acquired", "w1 extends after w2 acquired"), 9},
	{"order after an extend without a watchdog", with("w2 acquires after w1 acquired", "w2 acquires after w1 extended"), 9},
	{"start at an extend without a watchdog", with("after w1 read", "after w1 extended"), 13},
	{"end at an extend without a watchdog", with("after w2 wrote", "before w2 extends"), 14},
	{"unknown fault", with("fault: pause-host", "fault: meteor"), 11},
	{"fault without a kind", with("fault: pause-host", "most: 1s"), 11},
	{"slow without a latency", with("fault: pause-host\n    hosts: [w1]", "fault: slow\n    nodes: [n1]"), 11},
	{"slow beyond measure", with("fault: pause-host\n    hosts: [w1]", "fault: slow\n    nodes: [n1]\n    latency: 2s"), 13},
	{"power-loss that lasts", with("fault: pause-host\n    hosts: [w1]", "fault: power-loss\n    nodes: [n1]\n    for: 800ms"), 13},
	{"clock of the counter", with("fault: pause-host\n    hosts: [w1]\n    from: after w1 read\n    until: after w2 wrote", "fault: clock-jump\n    nodes: [resource]\n    by: 1s\n    from: after w1 read"), 12},
	{"clock of a Sentinel", grouped("fault: clock-jump\n    nodes: [s1]\n    by: 1s\n    from: after w1 read"), 12},
	{"memory of a Sentinel", grouped("fault: evict\n    nodes: [n1, s2]\n    from: after w1 read\n    for: 10ms"), 12},
	{"what Sentinels undo", grouped("fault: read-only\n    nodes: [n1]\n    from: after w1 read\n    for: 10ms"), 11},
	{"hammer on the memory of Sentinels", "lock: {system: sentinel, ttl: 1s}\nhosts: 1\nworkload: {kind: counter, rounds: 1}\nguards: [none]\nhammer: {for: 1s, weights: {evict: 1}}\nexpect: {none: {outcome: any}}\n", 5},
	{"down for less than nothing", with("fault: pause-host\n    hosts: [w1]", "fault: restart-node\n    nodes: [n1]\n    down: -1s"), 13},
	{"down of a fault that has none", with("hosts: [w1]", "hosts: [w1]\n    down: 1s"), 13},
	{"pause-host without hosts", with("    hosts: [w1]\n", ""), 11},
	{"pause-host with nodes", with("hosts: [w1]", "hosts: [w1]\n    nodes: [n1]"), 13},
	{"pause-host with a direction", with("hosts: [w1]", "hosts: [w1]\n    direction: replies"), 13},
	{"unknown host", with("hosts: [w1]", "hosts: [w1, w3]"), 12},
	{"host twice", with("hosts: [w1]", "hosts: [w1, w1]"), 12},
	{"unknown node", with("nodes: [n1]", "nodes: [n2]"), 16},
	{"no from", with("    from: after w1 read\n", ""), 11},
	{"from of an unknown host", with("after w1 read", "after w9 read"), 13},
	{"from is nonsense", with("after w1 read", "whenever"), 13},
	{"from is null", with("after w1 read", "null"), 11},
	{"from is a mapping", with("after w1 read", "{at: 1s}"), 13},
	{"until of an unknown host", with("after w2 wrote", "after w0 wrote"), 14},
	{"neither until nor for", with("    until: after w2 wrote\n", ""), 11},
	{"both until and for", with("    until: after w2 wrote\n", "    until: after w2 wrote\n    for: 1s\n"), 15},
	{"until without an end", strings.Replace(with("fault: pause-host", "fault: kill-host"), "x", "x", 1), 11},
	{"for below 0", with("for: 1s", "for: -1s"), 20},
	{"for beyond most", with("for: 1s", "for: 20s"), 20},
	{"end before the start", with("for: 1s", "until: at 5ms"), 20},
	{"start after the deadline", with("after w1 read", "at 1h"), 13},
	{"start at the deadline", with("after w1 read", "at 20s"), 13},
	{"end after the deadline", with("after w2 wrote", "at 1h"), 14},
	{"order after the deadline", with("w2 acquires after w1 acquired", "w2 acquires at 1h"), 9},
	{"delay without latency", with("    latency: 20ms\n    jitter: 5ms\n", ""), 15},
	{"delay of an hour", with("latency: 20ms", "latency: 1h"), 17},
	{"jitter that eats the latency", with("jitter: 5ms", "jitter: 20ms"), 18},
	{"jitter below 0", with("jitter: 5ms", "jitter: -1ms"), 18},
	{"commands of replies", with("fault: delay\n    nodes: [n1]\n    latency: 20ms\n    jitter: 5ms", "fault: hold\n    direction: replies\n    commands: [SET]"), 17},
	{"command with a space", with("fault: delay\n    nodes: [n1]\n    latency: 20ms\n    jitter: 5ms", "fault: hold\n    direction: requests\n    commands: [SET, \"SET x\"]"), 17},
	{"unknown direction", with("fault: delay\n    nodes: [n1]\n    latency: 20ms\n    jitter: 5ms", "fault: partition\n    direction: up"), 16},
	{"no expect", good[:strings.Index(good, "expect:")], 7},
	{"expect without a guard's", with("  fence: {outcome: safe, never: [lost-update], refused: 1}\n", ""), 23},
	{"expect of another guard", with("  fence: {outcome: safe, never: [lost-update], refused: 1}\n", "  version: {outcome: safe}\n  fence: {outcome: safe}\n"), 24},
	{"expect of a guard with a strange name", with("  fence: {", "  \"$.[x].*\": {outcome: safe}\n  fence: {"), 23},
	{"no outcome", with("outcome: safe, ", ""), 24},
	{"unknown outcome", with("outcome: safe", "outcome: fine"), 24},
	{"unknown finding", with("[stale-write]", "[stale-rite]"), 23},
	{"unknown cause", with("double-grant/state-loss", "double-grant/moon"), 23},
	{"cause of what has none", with("double-grant/state-loss", "stale-write/split"), 23},
	{"refused below 0", with("refused: 1", "refused: -1"), 24},
	{"unknown control", good + "control: perhaps\n", 26},
	{"deadline below 0", with("deadline: 20s", "deadline: -1s"), 25},
	{"deadline of nothing", with("deadline: 20s", "deadline: 0s"), 25},
	{"must be found and never must be", with("may: [double-grant/state-loss]", "never: [stale-write]"), 23},
	{"must be found with its cause and never at all", with("[stale-write], may: [double-grant/state-loss]", "[double-grant/split], never: [double-grant]"), 23},
	{"a tag of nothing, on which the library panics", with("[none, fence]", "!x #"), 0},
	{"a line of 60,000 characters", with("one line", strings.Repeat("x", 60_000)+": y"), 2},
	{"very deep", ext("a: 1", "a: "+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), 1},
	{"very many dashes", strings.Repeat("- ", 11_000) + "x\n", 0},
	{"very many question marks", strings.Repeat("? ", 30_000) + "x\n", 1},
	{"very many ampersands", strings.Repeat("&a ", 20_000) + "x\n", 1},
	{"very many exclamation marks", strings.Repeat("! ", 30_000) + "x\n", 1},
	{"very many colons", strings.Repeat("a: ", 20_000) + "x\n", 1},
	{"very many quotes", strings.Repeat("'", 60_001), 1},
	{"over the size", good + strings.Repeat("# 34567\n", 32<<10), 0},
	{"aliases that multiply", ext("a: 1", bomb()), 1},
	{"aliases of something large", ext("a: 1", "a: &a ["+strings.Repeat("1, ", 999)+"1], b: ["+strings.Repeat("*a, ", 999)+"*a]"), 1},
}

// bomb is nine levels of nine aliases each: some 400 million values.
func bomb() string {
	s := "a0: &a0 [x]"
	for i := 1; i < 10; i++ {
		s += fmt.Sprintf(", a%d: &a%d [%s*a%d]", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	return s
}

func TestBadScenarios(t *testing.T) {
	var b strings.Builder
	for _, c := range bad {
		start := time.Now()
		s, err := scenario.Parse([]byte(c.text), "bad.yaml")
		var e *scenario.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, %+v, want a *scenario.Error", c.name, err, s)
			continue
		}
		if e.File != "bad.yaml" || e.Line != c.line {
			t.Errorf("%s: %s line %d, want line %d: %s", c.name, e.File, e.Line, c.line, e.Message)
		}
		if took := time.Since(start); took > time.Minute { // it hangs, or nearly so
			t.Errorf("%s: it took %s", c.name, took)
		} else if took > 300*time.Millisecond {
			t.Logf("%s: it took %s", c.name, took)
		}
		if i := strings.IndexFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }); i >= 0 {
			t.Errorf("%s: the error has a control character at %d: %q", c.name, i, err)
		}
		if n := len(err.Error()); n > 3000 {
			t.Errorf("%s: the error has %d bytes", c.name, n)
		}
		fmt.Fprintf(&b, "# %s\n%s\n", c.name, strings.SplitN(err.Error(), "\n", 2)[0])
		for line := range strings.Lines(e.Excerpt) { // the marked line
			if strings.HasPrefix(line, ">") {
				b.WriteString(strings.TrimRight(line, " \n") + "\n")
			}
		}
		b.WriteString("\n")
	}
	golden.Check(t, "testdata/bad.txt", b.String())
}

// What looks odd, and is right.
func TestGoodScenarios(t *testing.T) {
	for name, text := range map[string]string{
		"good":                     good,
		"external":                 external,
		"windows line ends":        strings.ReplaceAll(good, "\n", "\r\n"),
		"byte order mark":          "\ufeff" + good,
		"comments and blanks":      "# x\n\n---\n" + good + "\n\n# y\n",
		"an alias":                 with("fence: {outcome: safe, never: [lost-update], refused: 1}", "fence: *e") + "",
		"aliased settings":         ext("a: 1", "a: &a [1, 2], b: *a"),
		"a merge":                  ext("a: 1", "a: &a {x: 1}, b: {<<: *a, y: 2}"),
		"quoted words":             with("hosts: [w1]", `"hosts": ["w1"]`),
		"about in other scripts":   with("one line", "锁 ロック 🔒 \u202ertl"),
		"resource for a node":      with("nodes: [n1]", "nodes: [resource]"),
		"JSON":                     `{"lock":{"system":"single","ttl":"1s"},"hosts":1,"workload":{"kind":"counter","rounds":1},"guards":["none"],"expect":{"none":{"outcome":"safe"}}}`,
		"a trigger over two lines": with("after w1 read", "after\n      w1 read"),
		"orders that can come": with("  - w2 acquires after w1 acquired", "  - w2 acquires after w1 acquired\n  - w1 acquires 2 after w2 released\n  - w1 acquires 3 after w1 acquired 2\n"+
			"  - w1 checks 2 after w2 read\n  - w1 releases after w1 wrote\n  - w1 acquires 2 after w1 acquired\n  - w1 reads 2 after w1 released\n  - w1 writes 2 after w1 released 9"),
		"a later round than asked for": with("after w1 acquired", "after w1 acquired 50"),
		"more rounds than there are, which shrinking may leave": "lock: {system: single, ttl: 300ms}\nhosts: 2\nworkload: {kind: counter, rounds: 3, writes: 2}\nguards: [none]\n" +
			"order: [w2 acquires after w1 released 4]\nexpect: {none: {outcome: safe}}\n",
		"extends of a watchdog":       strings.Replace(with("after w1 read", "after w1 extended"), "ttl: 300ms,", "ttl: 300ms, watchdog: true,", 1),
		"a long name":                 with("single/x", strings.Repeat("x", 100)),
		"a read that may be left out": with("w2 acquires after w1 acquired", "w1 reads after w1 checked 4"),
		"deep settings":               ext("a: 1", "a: "+strings.Repeat("[", 150)+strings.Repeat("]", 150)),
	} {
		if name == "an alias" {
			text = strings.Replace(text, "none: {outcome", "none: &e {outcome", 1)
		}
		if _, err := scenario.Parse([]byte(text), "dir/good.yaml"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Where no name is written, the file gives it, and an error says so.
func TestNameOfFile(t *testing.T) {
	for _, text := range []string{with("name: single/x\n", ""), with("single/x", `""`), with("single/x", "")} {
		if s, err := scenario.Parse([]byte(text), "some/dir/my-lock.yaml"); err != nil || s.Name != "my-lock" {
			t.Errorf("%v, %+v", err, s)
		}
		_, err := scenario.Parse([]byte(text), "some/dir/My_Lock.yaml")
		var e *scenario.Error
		if !errors.As(err, &e) || e.Line != 1 || !strings.Contains(e.Message, `"My_Lock", expected small letters, digits, - and /: it is taken from the name of the file`) {
			t.Errorf("%v, expected that the name is that of the file", err)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.yaml")
	if err := os.WriteFile(file, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := scenario.Load(file); err != nil || s.Name != "single/x" || s.File != file || string(s.Source) != good {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := scenario.Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	if _, err := scenario.Load(dir); err == nil {
		t.Error("a directory is read as a scenario")
	}
	var e *scenario.Error
	if _, err := scenario.Load("/dev/zero"); !errors.As(err, &e) {
		t.Errorf("/dev/zero: got %v, want a *scenario.Error", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range bad {
		if len(c.text) < 2000 {
			f.Add([]byte(c.text))
		}
	}
	f.Add([]byte(good))
	f.Add([]byte(external))
	catalogue := scenario.NewCatalogue(scenarios.Files)
	names, err := catalogue.Names()
	if err != nil {
		f.Fatal(err)
	}
	for _, n := range names {
		s, err := catalogue.Get(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(s.Source)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := scenario.Parse(b, "fuzz.yaml")
		if err != nil {
			var e *scenario.Error
			if !errors.As(err, &e) || s != nil || e.File != "fuzz.yaml" || e.Line < 0 || e.Message == "" {
				t.Fatalf("%#v, %v", err, s)
			}
			_ = err.Error()
			return
		}
		if _, err := s.JSON(); err != nil {
			t.Fatal(err)
		}
		s.Lock.Map() // panics on what JSON has not
		for _, g := range s.Guards {
			if s.Expected(g, false).Outcome == "" {
				t.Fatalf("nothing is expected of %s", g)
			}
		}
	})
}

// However long a value is, its error is short, and still says what is expected.
func TestLongValues(t *testing.T) {
	for _, evil := range []string{strings.Repeat("A", 10_000), strings.Repeat(`\"`, 5_000), strings.Repeat(`\u001b`, 2_000)} {
		for file, says := range map[string]string{
			"about: \"a\\n" + evil + "\"\nlock: {system: single, ttl: 300ms}":                                             "expected one line",
			"lock: {system: \"" + evil + "\", ttl: 300ms}":                                                                "expected one of",
			"lock: {system: single, ttl: \"" + evil + "\"}":                                                               "expected for example",
			"lock: {system: single, ttl: 300ms}\nfaults:\n  - {fault: pause-host, hosts: [w1], from: \"" + evil + "\"}\n": "trigger",
		} {
			_, err := scenario.Parse([]byte(file), "long.yaml")
			var e *scenario.Error
			if !errors.As(err, &e) || len(e.Message) > 1500 || !strings.Contains(e.Message, says) {
				t.Errorf("%.60q: %.300v, expected %q", file, err, says)
			}
		}
	}
}
