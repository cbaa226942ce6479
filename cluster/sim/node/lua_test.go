package node

import (
	"errors"
	"strings"
	"testing"
)

// What scripts must not be able to do.
func TestSandbox(t *testing.T) {
	for name, source := range map[string]string{
		"read a file":             `return dofile("/etc/passwd")`,
		"load a file":             `return loadfile("/etc/passwd")`,
		"open a file":             `return io.open("/etc/passwd")`,
		"run a program":           `return os.execute("true")`,
		"require a module":        `return require("os")`,
		"get at an environment":   `return getfenv(1)`,
		"debug":                   `return debug.getinfo(1)`,
		"print":                   `print(1)`,
		"set a global":            `x = 1`,
		"set a function":          `function f() end`,
		"set one in a function":   `local function f() x = 1 end; f()`,
		"replace KEYS":            `KEYS = {}`,
		"set a global by _G":      `_G.x = 1`,
		"set a global by rawset":  `rawset(_G, "x", 1)`,
		"set a global by load":    `loadstring("x = 1")()`,
		"read a global":           `return x`,
		"change redis":            `redis.call = nil`,
		"change string":           `string.rep = 1`,
		"change by table.insert":  `table.insert(math, 1)`,
		"change a metatable":      `setmetatable(_G, {})`,
		"change string's methods": `getmetatable("").__index = {}`,
		"look behind _G":          `getmetatable(_G).__index.x = 1`,
		"recurse for ever":        `local function f() return 1 + f() end; return f()`,
		"recurse in Go":           `local function f() assert(pcall(f)); error("top") end; return f()`,
		"recurse by gsub":         `local function f() return string.gsub("x", "x", f) end; return f()`,
		"overflow the registers":  `return unpack({}, 1, 1e7)`,
		"call itself":             `return redis.call("EVAL", "return 1", 0)`,
		"flush scripts":           `return redis.call("SCRIPT", "FLUSH")`,
		"wait":                    `return redis.call("WAIT", 0, 0)`,
		"raise nothing":           `error()`,
		"raise a table":           `error({})`,
		"raise a function":        `error(tostring)`,
		"be binary":               "\x1bLua",
		"have a shebang":          "#!lua name=x\nreturn 1",
		"be nested too deeply":    "return " + strings.Repeat("{", 1e5) + "1" + strings.Repeat("}", 1e5),
		"join too deeply":         "return 1" + strings.Repeat("..1", 1e4),
		"RESP 3":                  `redis.setresp(3)`,
	} {
		t.Run(name, func(t *testing.T) {
			n := New(Options{})
			if e, is := n.Do("EVAL", source, 0).(Error); !is {
				t.Errorf("no error")
			} else if !errors.As(e, new(Error)) || strings.ContainsAny(string(e), "\r\n") {
				t.Errorf("error %q", e)
			}
			want(t, n, []any{"nil", "number", "function", "k"}, "EVAL",
				`return {tostring(rawget(_G, "x")), type(math.pi), type(redis.call), KEYS[1]}`, 1, "k")
			want(t, n, int64(0), "EVAL", `return #KEYS + #ARGV`, 0)
		})
	}
}

// Strings that would take all memory are errors.
func TestHugeStrings(t *testing.T) {
	n := New(Options{})
	for _, source := range []string{
		`return #string.rep("x", 1e10)`,
		`local s = "xxxxxxxx"; for i = 1, 60 do s = s .. s end; return #s`,
		`return string.rep("x", 1e4):gsub("x", string.rep("y", 1e4))`,
		`local s = "xxxxxxxx"; for i = 1, 60 do s = string.format("%s%s", s, s) end; return #s`,
		`local s = "xxxxxxxx"; for i = 1, 60 do s = table.concat({s, s}) end; return #s`,
	} {
		if e, is := n.Do("EVAL", source, 0).(Error); !is || !strings.Contains(string(e), errTooLong) {
			t.Errorf("%s: %v", source, e)
		}
	}
	want(t, n, int64(1000), "EVAL", `return #string.rep("x", 1000)`, 0)
}

// What the differential test does not reach.
func TestLua(t *testing.T) {
	n := New(Options{})
	for source, reply := range map[string]any{
		`local t = {}; t[1] = t; return #cjson.encode({}) and 1`:                                                                                       int64(1),
		`return loadstring("return 1e15 .. ''")()`:                                                                                                     "1e+15",
		`local done; return load(function() if not done then done = true; return "return 7" end end)()`:                                                int64(7),
		`local f, e = loadstring("return ("); return {tostring(f), type(e)}`:                                                                           []any{"nil", "string"},
		`local co = coroutine.wrap(function() coroutine.yield(redis.call("ECHO", "a")); return "b" end); return {co(), co()}`:                          []any{"a", "b"},
		`return setmetatable({}, {__tostring = function() return "me" end}) and tostring(setmetatable({}, {__tostring = function() return "me" end}))`: "me",
		`return setmetatable({}, {__concat = function(a, b) return "joined" end}) .. 1`:                                                                "joined",
		`return setmetatable({}, {__mod = function(a, b) return b end}) % 7`:                                                                           int64(7),
		`return getmetatable(setmetatable({}, {__metatable = "no"}))`:                                                                                  "no",
		`return pcall(setmetatable, setmetatable({}, {__metatable = "no"}), {}) == false`:                                                              int64(1),
		`return tostring({})`:                                   "table: 0x0000000000000000",
		`return tostring(cjson.null)`:                           "userdata: (nil)",
		`return type(redis.log(redis.LOG_WARNING, "x") == nil)`: "boolean",
		`return {redis.REDIS_VERSION, redis.REDIS_VERSION_NUM, redis.replicate_commands()}`: []any{"7.0.15", int64(458767), int64(1)},
		`redis.setresp(2); redis.set_repl(redis.REPL_ALL); return collectgarbage("count")`:  int64(0),
		`return redis.sha1hex("")`:                               "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		`local s = 0; for i = 1, 1e4 do s = s + i end; return s`: int64(50005000),
		`return {1, {err = "E a"}, 3}`:                           []any{int64(1), Error("E a"), int64(3)},
		``:                                                       nil,
		`return table.concat({1, 2.5}, "-", 1, 2)`:               "1-2.5",
		`local t = {3, 1, 2}; table.sort(t); table.insert(t, 4); table.remove(t, 1); return t`: []any{int64(2), int64(3), int64(4)},
		`return cjson.encode(cjson.decode('{"a":[1,{"b":null}]}'))`:                            `{"a":[1,{"b":null}]}`,
	} {
		want(t, n, reply, "EVAL", source, 0)
	}
}

// JSON is bounded both ways.
func TestDeepJSON(t *testing.T) {
	n := New(Options{})
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	for _, source := range []string{
		`local t = {}; t[1] = t; return cjson.encode(t)`,
		`return cjson.decode("` + deep + `")`,
	} {
		if _, is := n.Do("EVAL", source, 0).(Error); !is {
			t.Errorf("%.40s: no error", source)
		}
	}
	want(t, n, nil, "EVAL", `return cjson.null`, 0)
	reply, _ := n.Do("EVAL", `local t = {}; t[1] = t; return t`, 0).([]any)
	for len(reply) == 1 {
		next, is := reply[0].([]any)
		if !is {
			break
		}
		reply = next
	}
	if len(reply) != 1 || reply[0] != Error("ERR reached lua stack limit") {
		t.Errorf("a table in itself ends with %v", reply)
	}
}
