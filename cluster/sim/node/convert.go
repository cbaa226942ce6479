package node

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// toLua converts a reply as redis.call returns it.
func (m *machine) toLua(reply any) lua.LValue {
	switch v := reply.(type) {
	case int64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case Status:
		return m.single("ok", string(v))
	case Error:
		return m.single("err", string(v))
	case []any:
		t := m.l.CreateTable(len(v), 0)
		for _, e := range v {
			t.Append(m.toLua(e))
		}
		return t
	}
	return lua.LFalse
}

func (m *machine) single(name, value string) *lua.LTable {
	t := m.l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(value))
	return t
}

// deepestReply is how deep a table may be nested that a script returns.
const deepestReply = 1000

// toReply converts what a script returns.
func (m *machine) toReply(v lua.LValue, depth int) any {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return truncate(float64(v))
	case lua.LBool:
		if v {
			return int64(1)
		}
	case *lua.LTable:
		if depth > deepestReply {
			return Error("ERR reached lua stack limit")
		}
		return m.tableReply(v, depth+1)
	}
	return nil
}

// tableReply converts a table: an error, a status, one of the types of RESP 3
// in the form of RESP 2, or an array that ends at the first nil.
func (m *machine) tableReply(t *lua.LTable, depth int) any {
	if s, is := t.RawGetString("err").(lua.LString); is {
		return oneLine(cString(string(s), len(s)))
	}
	if s, is := t.RawGetString("ok").(lua.LString); is {
		return Status(noBreaks(cString(string(s), len(s))))
	}
	if f, is := t.RawGetString("double").(lua.LNumber); is {
		return formatG(float64(f), doublePrecision)
	}
	if s, is := t.RawGetString("big_number").(lua.LString); is {
		return string(s)
	}
	if v, is := t.RawGetString("verbatim_string").(*lua.LTable); is {
		s, isString := v.RawGetString("string").(lua.LString)
		if _, hasFormat := v.RawGetString("format").(lua.LString); hasFormat && isString {
			return string(s)
		}
	}
	if kv, is := t.RawGetString("map").(*lua.LTable); is {
		return m.pairs(kv, depth, true)
	}
	if set, is := t.RawGetString("set").(*lua.LTable); is {
		return m.pairs(set, depth, false)
	}
	out := []any{}
	for i := 1; ; i++ {
		e := t.RawGetInt(i)
		if e == lua.LNil {
			return out
		}
		out = append(out, m.toReply(e, depth))
	}
}

func (m *machine) pairs(t *lua.LTable, depth int, values bool) any {
	out := []any{}
	t.ForEach(func(k, v lua.LValue) {
		out = append(out, m.toReply(k, depth))
		if values {
			out = append(out, m.toReply(v, depth))
		}
	})
	return out
}

// unsigned is C's conversion of a double to an unsigned long long, on x86.
func unsigned(f float64) uint64 {
	const half = 1 << 63
	if f >= half {
		return uint64(truncate(f-half)) ^ half
	}
	return uint64(truncate(f))
}

// truncate is C's conversion of a double to a long long, on x86.
func truncate(f float64) int64 {
	if !(f >= math.MinInt64 && f < -math.MinInt64) {
		return math.MinInt64
	}
	return int64(f)
}
