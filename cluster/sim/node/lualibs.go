package node

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// tableFunctions guards what changes a table, and joins numbers as Lua does.
func (m *machine) tableFunctions(from *lua.LTable) map[string]lua.LGFunction {
	out := map[string]lua.LGFunction{"concat": concat}
	for _, name := range []string{"insert", "remove", "sort"} {
		f := from.RawGetString(name).(*lua.LFunction).GFunction
		out[name] = func(l *lua.LState) int {
			m.checkWritable(l, 1)
			return f(l)
		}
	}
	return out
}

func concat(l *lua.LState) int {
	t := l.CheckTable(1)
	between := ""
	if l.Get(2) != lua.LNil {
		between = argString(l, 2)
	}
	first, last := l.OptInt(3, 1), l.OptInt(4, t.Len())
	var b strings.Builder
	for i := first; i <= last; i++ {
		v := t.RawGetInt(i)
		if !lua.LVCanConvToString(v) {
			l.RaiseError("invalid value (%s) at index %d in table for 'concat'", v.Type().String(), i)
		}
		b.WriteString(luaString(v))
		if i < last {
			b.WriteString(between)
		}
		if b.Len() > longestString {
			l.RaiseError(errTooLong)
		}
	}
	l.Push(lua.LString(b.String()))
	return 1
}

func (m *machine) mathFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"random": m.rand,
		"randomseed": func(l *lua.LState) int {
			m.node.random.seed(truncate(argNumber(l, 1)))
			return 0
		},
	}
}

func (m *machine) rand(l *lua.LState) int {
	r := m.node.random.next()
	low, high := 1.0, 0.0
	switch l.GetTop() {
	case 0:
		l.Push(lua.LNumber(r))
		return 1
	case 1:
		if high = math.Trunc(argNumber(l, 1)); high < 1 {
			l.ArgError(1, "interval is empty")
		}
	case 2:
		low, high = math.Trunc(argNumber(l, 1)), math.Trunc(argNumber(l, 2))
		if low > high {
			l.ArgError(2, "interval is empty")
		}
	default:
		l.RaiseError("wrong number of arguments")
	}
	l.Push(lua.LNumber(math.Floor(float64(r*(high-low+1))) + low))
	return 1
}
