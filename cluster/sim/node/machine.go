package node

import (
	"math"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// machine is a Lua machine. Scripts leave no trace in it, as in Redis: so any
// node can borrow any machine for the time of one script, and a process has no
// more of them than scripts that run at once.
type machine struct {
	l         *lua.LState
	globals   *lua.LTable                 // what scripts see through the read-only _G
	protected map[*lua.LTable]*lua.LTable // read-only table → what is behind it
	functions map[*script]*lua.LFunction
	null      *lua.LUserData // cjson.null

	node *Node    // that runs a script on it
	argv []string // scratch, for redis.call
	line string   // where redis.call or error raised a table last
}

var machines = sync.Pool{New: func() any { return newMachine() }}

// Sizes of a Lua machine. A script that calls deeper, or needs more registers,
// fails with an error.
const (
	luaCalls        = 400
	luaRegisters    = 1 << 10
	luaMaxRegisters = 1 << 16
	luaGrowth       = 1 << 10
)

func newMachine() *machine {
	l := lua.NewState(lua.Options{
		CallStackSize: luaCalls, RegistrySize: luaRegisters,
		RegistryMaxSize: luaMaxRegisters, RegistryGrowStep: luaGrowth, SkipOpenLibs: true,
	})
	m := &machine{
		l:         l,
		globals:   l.NewTable(),
		protected: map[*lua.LTable]*lua.LTable{},
		functions: map[*script]*lua.LFunction{},
		null:      l.NewUserData(),
	}
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath, lua.OpenCoroutine} {
		l.Push(l.NewFunction(open))
		l.Call(0, 0)
	}
	m.fill(l.G.Global)
	return m
}

// allowed are the globals of gopher-lua that Redis has too.
var allowed = strings.Fields(`_VERSION assert error getmetatable ipairs next pairs rawequal
	select setmetatable type unpack xpcall`)

// fill builds the environment of scripts out of gopher-lua's own.
func (m *machine) fill(from *lua.LTable) {
	for _, name := range allowed {
		m.globals.RawSetString(name, from.RawGetString(name))
	}
	m.set(m.globals, m.baseFunctions())
	m.set(from.RawGetString("string").(*lua.LTable), m.stringFunctions())
	m.set(from.RawGetString("table").(*lua.LTable), m.tableFunctions(from.RawGetString("table").(*lua.LTable)))
	m.set(from.RawGetString("math").(*lua.LTable), m.mathFunctions())
	from.RawGetString("math").(*lua.LTable).RawSetString("huge", lua.LNumber(math.Inf(1)))
	for _, name := range []string{"string", "table", "math", "coroutine"} {
		m.globals.RawSetString(name, m.protect(from.RawGetString(name).(*lua.LTable)))
	}
	m.globals.RawSetString("redis", m.protect(m.redisLibrary()))
	m.globals.RawSetString("cjson", m.protect(m.cjsonLibrary()))

	mt := m.l.NewTable()
	mt.RawSetString("__index", m.l.NewFunction(func(l *lua.LState) int {
		l.RaiseError("Script attempted to access nonexistent global variable '%s'", lua.LVAsString(l.Get(2)))
		return 0
	}))
	m.globals.Metatable = mt
	env := m.protect(m.globals)
	m.globals.RawSetString("_G", env)
	m.l.Env = env
}

func (m *machine) set(t *lua.LTable, functions map[string]lua.LGFunction) {
	for name, f := range functions {
		t.RawSetString(name, m.l.NewFunction(f))
	}
}

const errReadOnly = "Attempt to modify a readonly table"

// protect returns a table that shows t and cannot be changed.
func (m *machine) protect(t *lua.LTable) *lua.LTable {
	mt := m.l.NewTable()
	mt.RawSetString("__index", t)
	mt.RawSetString("__newindex", m.l.NewFunction(func(l *lua.LState) int {
		l.RaiseError(errReadOnly)
		return 0
	}))
	p := m.l.NewTable()
	p.Metatable = mt
	m.protected[p] = t
	return p
}

// checkWritable raises an error if argument i is a protected table.
func (m *machine) checkWritable(l *lua.LState, i int) {
	if t, is := l.Get(i).(*lua.LTable); is && m.protected[t] != nil {
		m.mark(l)
		l.Error(lua.LString(errReadOnly), 0)
	}
}

// runScript runs a script on a machine from the pool.
func (n *Node) runScript(s *script, keys, args []string) any {
	m := machines.Get().(*machine)
	m.node, m.line = n, ""
	reply, sound := m.run(s, keys, args)
	m.node = nil
	if sound {
		machines.Put(m)
	}
	return reply
}

// run runs a script. The machine is not sound any more if something panicked in it.
func (m *machine) run(s *script, keys, args []string) (reply any, sound bool) {
	m.globals.RawSetString("KEYS", m.list(keys))
	m.globals.RawSetString("ARGV", m.list(args))
	l := m.l
	l.Push(m.function(s))
	if err := l.PCall(0, 1, nil); err != nil {
		l.SetTop(0)
		api, is := err.(*lua.ApiError)
		return m.failure(s, api), is && api.Type == lua.ApiErrorRun
	}
	reply = m.toReply(l.Get(-1), 0)
	l.SetTop(0)
	return reply, true
}

// function is the script as a function of this machine.
func (m *machine) function(s *script) *lua.LFunction {
	f := m.functions[s]
	if f == nil {
		if len(m.functions) >= mostCached {
			clear(m.functions)
		}
		f = m.l.NewFunctionFromProto(s.proto)
		if !s.assigns { // then it needs no protection, and finds each global sooner
			f.Env = m.globals
		}
		m.functions[s] = f
	}
	return f
}

func (m *machine) list(values []string) *lua.LTable {
	t := m.l.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// failure is the error reply for a script that raised an error.
func (m *machine) failure(s *script, err *lua.ApiError) Error {
	line := m.line
	var msg string
	switch v := err.Object.(type) {
	case *lua.LTable:
		if e, is := v.RawGetString("err").(lua.LString); is {
			msg = string(e)
		} else {
			msg = "ERR unknown error"
		}
	case lua.LString:
		msg = "ERR " + string(v)
		if rest, is := strings.CutPrefix(string(v), scriptName+":"); is {
			line, _, _ = strings.Cut(rest, ":")
		}
	default:
		msg = "ERR " + luaString(err.Object)
	}
	return oneLine(cString(msg, len(msg)) + " script: " + s.sha + ", on @" + scriptName + ":" + line + ".")
}
