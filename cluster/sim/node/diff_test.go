package node

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The differential test: the same random commands to a node and to a real
// redis-server must give the same replies and the same remaining TTLs.
var (
	diffSessions = flag.Int("diff.sessions", 52, "sessions of the differential test")
	diffSeed     = flag.Uint64("diff.seed", 1, "its first seed")
)

const (
	sessionLength = 2000
	batch         = 250
)

// step is one command of a session.
type step struct {
	args []string
	// pause is a wait behind it until short TTLs are over, in both worlds.
	pause bool
}

// settle is longer than the shortest TTL of a session.
const settle = 20 * time.Millisecond

func (s step) String() string {
	if s.pause {
		return fmt.Sprintf("%q, then a pause", s.args)
	}
	return fmt.Sprintf("%q", s.args)
}

// mismatch is a step to which node and server reply differently.
type mismatch struct {
	at         int
	step       step
	sim, redis any
}

func TestDifferential(t *testing.T) {
	srv := startServer(t)
	used := map[string]int{}
	total := 0
	for i := range uint64(*diffSessions) {
		seed := *diffSeed + i
		steps := newGenerator(seed).session(sessionLength)
		total += len(steps)
		for _, s := range steps {
			used[commandName(s.args)]++
		}
		if m := compare(srv, steps); m != nil {
			steps, m = shrink(srv, steps[:m.at+1], m)
			t.Fatalf("seed %d (-diff.seed=%[1]d -diff.sessions=1): after\n%s\nthe node replies\n  %#v\nand Redis\n  %#v",
				seed, lines(steps), m.sim, m.redis)
		}
	}
	t.Logf("%d commands, %d of them scripts", total, used["eval"]+used["evalsha"])
	if *diffSessions < 10 {
		return
	}
	for _, name := range allCommands() {
		if used[name] < 10 {
			t.Errorf("%s occurs %d times in the differential test, want 10", name, used[name])
		}
	}
}

// allCommands are the names of all commands and subcommands.
func allCommands() []string {
	var names []string
	for name, c := range commandTable {
		if name != c.name {
			continue // upper case
		}
		if len(c.sub) == 0 {
			names = append(names, name)
		}
		for _, s := range c.sub {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

func commandName(args []string) string {
	name := strings.ToLower(args[0])
	if name == "script" && len(args) > 1 {
		name += "|" + strings.ToLower(args[1])
	}
	return name
}

func lines(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	return b.String()
}

// compare runs the steps in both worlds from an empty start and returns the
// first mismatch. A second node lives on the effects of the first and must
// end with the same keys.
func compare(srv *server, steps []step) *mismatch {
	srv.do("REPLICAOF", "NO", "ONE") // what was left out of a session may have been this
	srv.do("FLUSHALL")
	srv.do("SCRIPT", "FLUSH")
	replica := New(Options{Name: "replica"})
	n := New(Options{Name: "master", OnWrite: func(args []string) { replica.Do(anys(args)...) }})
	const seed = "math.randomseed(0)"
	srv.do("EVAL", seed, "0")
	n.Do("EVAL", seed, 0)
	for from := 0; from < len(steps); {
		to := from
		for to < len(steps) && to < from+batch && (to == from || !steps[to-1].pause) {
			to++
		}
		if m := compareBatch(srv, n, steps[from:to]); m != nil {
			m.at += from
			return m
		}
		from = to
	}
	n.Do("DBSIZE") // sweeps
	replica.now = n.now
	replica.sweep()
	if a, b := dump(n), dump(replica); a != b {
		return &mismatch{len(steps) - 1, step{args: []string{"(replica)"}}, a, b}
	}
	return nil
}

func compareBatch(srv *server, n *Node, steps []step) *mismatch {
	send(srv, steps)
	sim := make([]any, len(steps))
	for i, s := range steps {
		sim[i] = n.Do(anys(s.args)...)
	}
	var found *mismatch
	for i, s := range steps {
		if counts(s) {
			srv.reply()
		}
		if r := srv.reply(); found == nil && !alike(s.args, sim[i], r) {
			found = &mismatch{i, s, sim[i], r}
		}
	}
	if steps[len(steps)-1].pause {
		time.Sleep(settle)
	}
	return found
}

// counts tells whether a step is DBSIZE: before it all keys are touched, as
// Redis may or may not have removed those that have expired.
func counts(s step) bool { return strings.EqualFold(s.args[0], "dbsize") }

func send(srv *server, steps []step) {
	for _, s := range steps {
		if counts(s) {
			srv.send(append([]string{"EXISTS"}, keyNames...))
		}
		srv.send(s.args)
	}
	srv.flush()
}

func anys(list []string) []any { return bulks(list) }

// dump shows all keys of a node in order.
func dump(n *Node) string {
	var out []string
	for key, e := range n.keys {
		s := fmt.Sprintf("%q %s %q %q %d", key, kindNames[e.kind], e.str, e.list, e.expire)
		if e.hash != nil {
			s += fmt.Sprintf(" %q", e.hash.fields)
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// slack is how far apart remaining times may be: a batch does not reach both
// worlds at the same instant. No TTL of a session comes near its end within it.
const slack = 10_000

// alike tells whether replies agree, for the command that they answer.
func alike(args []string, sim, redis any) bool {
	if e, is := sim.(Error); is {
		r, too := redis.(Error)
		return too && alikeErrors(string(e), string(r))
	}
	switch name := strings.ToLower(args[0]); name {
	case "info":
		_, isText := redis.(string)
		return isText == reflect.DeepEqual(reflect.TypeOf(sim), reflect.TypeOf("")) // an error is no text
	case "time":
		return alikeTimes(sim, redis)
	}
	return same(sim, redis, timed(args))
}

// timed tells whether a reply may hold a time.
func timed(args []string) bool {
	all := strings.ToLower(strings.Join(args, " "))
	return strings.Contains(all, "ttl") || strings.Contains(all, "expiretime") || strings.Contains(all, "evalsha")
}

// same compares replies; large integers with slack if they may be times.
func same(a, b any, timed bool) bool {
	switch x := a.(type) {
	case []any:
		y, is := b.([]any)
		return is && slices.EqualFunc(x, y, func(a, b any) bool { return same(a, b, timed) })
	case int64:
		y, is := b.(int64)
		if !is || x == y {
			return is
		}
		return timed && (x > slack && y > slack && max(x-y, y-x) < slack || // ms
			x > slack/1000 && y > slack/1000 && max(x-y, y-x) < slack/1000) // s
	case string: // an error of Lua's own that a script has caught
		y, is := b.(string)
		const own = "user_script:"
		if !is || x == y || strings.HasPrefix(x, own) && strings.HasPrefix(y, own) {
			return is
		}
		n, isNumber := integer(x)
		m, isToo := integer(y)
		return isNumber && isToo && same(n, m, timed)
	case Error:
		y, is := b.(Error)
		return is && alikeErrors(string(x), string(y))
	}
	return a == b
}

func alikeTimes(sim, redis any) bool {
	a, isA := sim.([]any)
	b, isB := redis.([]any)
	if !isA || !isB || len(a) != 2 || len(b) != 2 {
		return sim == redis
	}
	x, _ := strconv.ParseInt(a[0].(string), 10, 64)
	y, _ := strconv.ParseInt(b[0].(string), 10, 64)
	return x > 0 && max(x-y, y-x) <= slack/1000
}

// alikeErrors compares texts. Where Lua's own words differ only the first one must agree.
func alikeErrors(sim, redis string) bool {
	const compile = "ERR Error compiling script"
	if strings.HasPrefix(redis, compile) {
		return strings.HasPrefix(sim, compile)
	}
	if strings.HasPrefix(redis, "ERR user_script:") {
		return strings.HasPrefix(sim, "ERR ")
	}
	return sim == redis
}

// mostReplays bounds the shrinking.
const mostReplays = 400

// shrink drops steps as long as the last one still differs.
func shrink(srv *server, steps []step, m *mismatch) ([]step, *mismatch) {
	replays := 0
	for size := len(steps) / 2; size > 0; size /= 2 {
		for from := 0; from+size < len(steps) && replays < mostReplays; {
			shorter := slices.Concat(steps[:from], steps[from+size:])
			replays++
			if got := compare(srv, shorter); got != nil {
				steps, m = shorter[:got.at+1], got
			} else {
				from += size
			}
		}
	}
	return steps, m
}
