package node

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// baseFunctions are the globals in which gopher-lua differs from Redis' Lua,
// or which could reach behind a protected table.
func (m *machine) baseFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"tostring":       m.tostring,
		"tonumber":       m.tonumber,
		"assert":         m.assert,
		"error":          m.error,
		"pcall":          m.pcall,
		"getmetatable":   m.getMetatable,
		"setmetatable":   m.setMetatable,
		"rawget":         m.rawGet,
		"rawset":         m.rawSet,
		"load":           m.loadFunction,
		"loadstring":     m.loadString,
		"collectgarbage": func(l *lua.LState) int { l.Push(lua.LNumber(0)); return 1 },
		"gcinfo":         func(l *lua.LState) int { l.Push(lua.LNumber(0)); return 1 },
		toStringName:     operandString,
		moduloName:       modulo,
	}
}

// operandString converts an operand of "..", if it is a number.
func operandString(l *lua.LState) int {
	v := l.Get(1)
	switch x := v.(type) {
	case lua.LNumber:
		v = lua.LString(luaString(x))
	case lua.LString:
		if len(x) > longestString {
			l.RaiseError(errTooLong)
		}
	}
	l.Push(v)
	return 1
}

// modulo is the operator "%", with C's signs of zero and NaN.
func modulo(l *lua.LState) int {
	a, b := l.Get(1), l.Get(2)
	x, fine := toNumber(a)
	y, fineToo := toNumber(b)
	if fine && fineToo {
		l.Push(lua.LNumber(x - float64(math.Floor(x/y)*y)))
		return 1
	}
	f := l.GetMetaField(a, "__mod")
	if f == lua.LNil {
		f = l.GetMetaField(b, "__mod")
	}
	if f == lua.LNil {
		if fine {
			a = b
		}
		l.RaiseError("attempt to perform arithmetic on a %s value", a.Type().String())
	}
	l.Push(f)
	l.Push(a)
	l.Push(b)
	l.Call(2, 1)
	return 1
}

func (m *machine) tostring(l *lua.LState) int {
	v := l.CheckAny(1)
	if f := l.GetMetaField(v, "__tostring"); f != lua.LNil {
		l.Push(f)
		l.Push(v)
		l.Call(1, 1)
		return 1
	}
	l.Push(lua.LString(luaString(v)))
	return 1
}

func (m *machine) tonumber(l *lua.LState) int {
	base := l.OptInt(2, 10)
	v := l.CheckAny(1)
	var f float64
	var fine bool
	if base == 10 {
		f, fine = toNumber(v)
	} else {
		if base < 2 || base > 36 {
			l.ArgError(2, "base out of range")
		}
		if !lua.LVCanConvToString(v) {
			l.ArgError(1, "string expected, got "+v.Type().String())
		}
		f, fine = parseBase(luaString(v), base)
	}
	if fine {
		l.Push(lua.LNumber(f))
	} else {
		l.Push(lua.LNil)
	}
	return 1
}

func (m *machine) assert(l *lua.LState) int {
	l.CheckAny(1)
	if !l.ToBool(1) {
		msg := l.OptString(2, "assertion failed!")
		if where := l.Where(1); !strings.HasPrefix(where, "[G]") { // called by Lua code
			msg = where + " " + msg
		}
		l.Error(lua.LString(msg), 0)
	}
	return l.GetTop()
}

func (m *machine) error(l *lua.LState) int {
	m.mark(l)
	level := l.OptInt(2, 1)
	l.Error(l.Get(1), level)
	return 0
}

// pcall is Lua's, but returns the text of an error that Redis raised.
func (m *machine) pcall(l *lua.LState) int {
	l.CheckAny(1)
	err := l.PCall(l.GetTop()-1, lua.MultRet, nil)
	if err == nil {
		l.Insert(lua.LTrue, 1)
		return l.GetTop()
	}
	v := lua.LValue(lua.LString(err.Error()))
	if api, is := err.(*lua.ApiError); is {
		v = api.Object
	}
	if t, is := v.(*lua.LTable); is {
		if s := l.GetField(t, "err"); lua.LVCanConvToString(s) {
			v = s
		}
	}
	l.Push(lua.LFalse)
	l.Push(v)
	return 2
}

// getMetatable does not show what is behind strings and protected tables.
func (m *machine) getMetatable(l *lua.LState) int {
	t, is := l.CheckAny(1).(*lua.LTable)
	if !is || m.protected[t] != nil {
		l.Push(lua.LNil)
		return 1
	}
	if field := l.GetMetaField(t, "__metatable"); field != lua.LNil {
		l.Push(field)
	} else {
		l.Push(t.Metatable)
	}
	return 1
}

func (m *machine) setMetatable(l *lua.LState) int {
	t := l.CheckTable(1)
	m.checkWritable(l, 1)
	l.CheckTypes(2, lua.LTNil, lua.LTTable)
	if l.GetMetaField(t, "__metatable") != lua.LNil {
		l.RaiseError("cannot change a protected metatable")
	}
	t.Metatable = l.Get(2)
	l.SetTop(1)
	return 1
}

func (m *machine) rawGet(l *lua.LState) int {
	t := l.CheckTable(1)
	if behind := m.protected[t]; behind != nil {
		t = behind
	}
	l.Push(t.RawGet(l.CheckAny(2)))
	return 1
}

func (m *machine) rawSet(l *lua.LState) int {
	t := l.CheckTable(1)
	m.checkWritable(l, 1)
	key := l.CheckAny(2)
	switch k := key.(type) {
	case *lua.LNilType:
		l.RaiseError("table index is nil")
	case lua.LNumber:
		if math.IsNaN(float64(k)) {
			l.RaiseError("table index is NaN")
		}
	}
	l.RawSet(t, key, l.CheckAny(3))
	l.SetTop(1)
	return 1
}

func (m *machine) loadString(l *lua.LState) int {
	source := l.CheckString(1)
	return m.pushChunk(l, source, l.OptString(2, source))
}

// loadFunction is load: a function gives the pieces of the source.
func (m *machine) loadFunction(l *lua.LState) int {
	f := l.CheckFunction(1)
	var source strings.Builder
	for {
		l.Push(f)
		l.Call(0, 1)
		piece := l.Get(-1)
		l.Pop(1)
		if !lua.LVCanConvToString(piece) || luaString(piece) == "" {
			break
		}
		source.WriteString(luaString(piece))
	}
	return m.pushChunk(l, source.String(), l.OptString(2, "=(load)"))
}

func (m *machine) pushChunk(l *lua.LState, source, name string) int {
	proto, err := compile(source, strings.TrimLeft(name, "=@"))
	if err != nil {
		l.Push(lua.LNil)
		l.Push(lua.LString(err.Error()))
		return 2
	}
	l.Push(m.l.NewFunctionFromProto(proto))
	return 1
}
