package node

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// published are the scripts of redsync v4.18.1 by the SHA1 under which it
// sends them.
var published = map[string]string{
	"e950836ed1e694540c503ef9972b8de518044d3b": `
	local val = redis.call("GET", KEYS[1])
	if val == ARGV[1] then
		return redis.call("DEL", KEYS[1])
	elseif val == false then
		return -1
	else
		return 0
	end
`,
	"b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79": `
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then
		return 1
	else
		return 0
	end
`,
	"d75bb8b5bd13532ddedd17762e772346e39b321e": `
	if redis.call("GET", KEYS[1]) == ARGV[1] then
		return redis.call("PEXPIRE", KEYS[1], ARGV[2])
	else
		return 0
	end
`,
}

func TestPublishedScripts(t *testing.T) {
	n := New(Options{})
	for sha, source := range published {
		if got := n.Do("SCRIPT", "LOAD", source); got != sha {
			t.Errorf("SCRIPT LOAD gives %v, want %s", got, sha)
		}
	}
}

// ourScripts are all scripts of the project: each string of the packages locks
// and workloads in which Redis is called.
var ourScripts = sync.OnceValue(func() []string {
	var out []string
	for _, dir := range []string{"locks", "workloads"} {
		files, err := filepath.Glob("../../../" + dir + "/*.go")
		if err != nil {
			panic(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				out = append(out, scriptsIn(f)...)
			}
		}
	}
	return out
})

func scriptsIn(file string) []string {
	src, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	tree, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	if err != nil {
		panic(err)
	}
	var out []string
	ast.Inspect(tree, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING && strings.Contains(l.Value, "redis.call(") {
			s, err := strconv.Unquote(l.Value)
			if err != nil {
				panic(err)
			}
			out = append(out, s)
		}
		return true
	})
	return out
}

func TestOurScripts(t *testing.T) {
	if n := len(ourScripts()); n < 6 {
		t.Errorf("found %d scripts, want at least the acquire, extend and release of single, the guard and its ledger", n)
	}
}

// script is an EVAL, EVALSHA or SCRIPT command.
func (g *generator) script() []string {
	switch r := g.IntN(20); {
	case r == 0:
		return g.scriptCommand()
	case r < 6:
		return g.lockScript()
	case r < 9:
		return g.guardScript()
	}
	source := g.random()
	return g.eval(source, g.times(0, 2, g.key), g.times(0, 2, g.value))
}

// eval is an EVAL, or an EVALSHA of a script that may have been sent before.
func (g *generator) eval(source string, keys, args []string) []string {
	name := g.anyCase("EVAL")
	if len(g.scripts) > 0 && g.IntN(12) == 0 {
		return append([]string{name, g.pick("return (", "return 1", "x = 1")}, g.pick("-1", "9", "x", "0"))
	}
	g.scripts = append(g.scripts, source)
	if g.IntN(3) == 0 {
		name, source = g.anyCase("EVALSHA"), sha1hex(source)
	}
	return append(append([]string{name, source, strconv.Itoa(len(keys))}, keys...), args...)
}

func (g *generator) scriptCommand() []string {
	known := "return 1"
	if len(g.scripts) > 0 {
		known = g.pick(g.scripts...)
	}
	switch g.IntN(5) {
	case 0:
		return []string{"SCRIPT", g.anyCase("LOAD"), g.pick(known, known, "return (")}
	case 1:
		return []string{"script", g.anyCase("EXISTS"), sha1hex(known), strings.ToUpper(sha1hex(known)), "x"}
	case 2:
		return []string{"SCRIPT", g.pick("FOO", "LOAD", "EXISTS")}
	case 3:
		return []string{"EVALSHA", strings.ToUpper(sha1hex(known)), "0"}
	}
	return []string{"EVALSHA", g.pick("abc", strings.Repeat("f", 40)), g.pick("0", "1", "-1")}
}

var argument = regexp.MustCompile(`(KEYS|ARGV)\[(\d)\]`)

// lockScript runs one of the scripts that exist, with owners and TTLs.
func (g *generator) lockScript() []string {
	all := append([]string{}, ourScripts()...)
	for _, sha := range []string{"e950836ed1e694540c503ef9972b8de518044d3b", "b6b55c439e02c6f52ffb8be7ec8c0d0ac816ea79", "d75bb8b5bd13532ddedd17762e772346e39b321e"} {
		all = append(all, published[sha])
	}
	source := g.pick(all...)
	count := map[string]int{}
	for _, m := range argument.FindAllStringSubmatch(source, -1) {
		i, _ := strconv.Atoi(m[2])
		count[m[1]] = max(count[m[1]], i)
	}
	args := g.times(count["ARGV"], count["ARGV"], func() string {
		return g.pick("x", "y", "100000", "200000", "-5", "abc", g.ttl(1000))
	})
	if len(args) > 0 {
		args[0] = g.pick("x", "y", "x", "0") // the owner
	}
	return g.eval(source, g.times(count["KEYS"], count["KEYS"], g.key), args)
}

// guardScript runs the resource's script.
func (g *generator) guardScript() []string {
	for _, s := range ourScripts() {
		if strings.Contains(s, "cjson.encode(ARGV[4])") {
			return g.eval(s, []string{g.key(), g.key(), g.key(), g.key()}, []string{
				g.pick("none", "fence", "fence-read", "version", "atomic"), g.pick("read", "write"),
				g.number(), g.pick("h1", `h"/2`), g.number(), g.pick("x", "y"),
				g.pick("1", "2", "3", "10", "9007199254740993", "-1"), g.number(), g.number()})
		}
	}
	panic("the guard's script is gone")
}

// random is a script of up to three statements and a return.
func (g *generator) random() string {
	var b strings.Builder
	for i := range g.IntN(3) {
		fmt.Fprintf(&b, "local v%d = %s\n", i, g.expr(2))
	}
	fmt.Fprintf(&b, "local t = {%s, %s}\n", g.expr(1), g.expr(1))
	b.WriteString("return " + g.expr(3))
	return b.String()
}

// quote is a string as Lua source.
func quote(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c > ' ' && c < 127 && c != '"' && c != '\\' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03d`, c)
		}
	}
	return `"` + b.String() + `"`
}

// redisCall is a call of any command; numbers may go without quotes.
func (g *generator) redisCall() string {
	args := g.command()
	if g.IntN(15) == 0 {
		args = g.spoil(args)
	}
	switch strings.ToLower(args[0]) {
	case "info", "time", "dbsize": // differ, or depend on Redis' background work
		args = []string{"GET", g.key()}
	}
	if g.IntN(60) == 0 {
		args = []string{g.pick("EVAL", "SCRIPT", "WAIT"), "return 1", "0"}
	}
	var out []string
	for _, a := range args {
		if n, fine := integer(a); fine && max(n, -n) < 1e9 && g.IntN(2) == 0 {
			out = append(out, a)
		} else {
			out = append(out, quote(a))
		}
	}
	return fmt.Sprintf("redis.%s(%s)", g.pick("call", "call", "pcall"), strings.Join(out, ", "))
}
