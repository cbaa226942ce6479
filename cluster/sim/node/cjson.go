package node

import (
	"fmt"
	"math"

	lua "github.com/yuin/gopher-lua"
)

// deepestJSON is how deep JSON may be nested, both ways.
const deepestJSON = 1000

// An array with holes is written with nulls, unless it is longer than this
// and more than half of it is holes.
const sparseSafe, sparseRatio = 10, 2

// cjsonLibrary is the table "cjson" with the settings that Redis gives it.
func (m *machine) cjsonLibrary() *lua.LTable {
	t := m.l.NewTable()
	m.set(t, map[string]lua.LGFunction{"encode": m.encode, "decode": m.decode})
	t.RawSetString("null", m.null)
	return t
}

func (m *machine) encode(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.ArgError(1, "expected 1 argument")
	}
	e := encoder{null: m.null}
	e.value(l.Get(1), 0)
	if e.err != "" {
		l.RaiseError("%s", e.err)
	}
	l.Push(lua.LString(e.buf))
	return 1
}

// encoder writes JSON until the first error.
type encoder struct {
	buf  []byte
	null *lua.LUserData
	err  string
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == "" {
		e.err = "Cannot serialise" + fmt.Sprintf(format, args...)
	}
}

func (e *encoder) value(v lua.LValue, depth int) {
	switch v := v.(type) {
	case lua.LString:
		e.string(string(v))
	case lua.LNumber:
		e.number(float64(v))
	case lua.LBool:
		e.buf = append(e.buf, v.String()...)
	case *lua.LNilType:
		e.buf = append(e.buf, "null"...)
	case *lua.LTable:
		e.table(v, depth+1)
	case *lua.LUserData:
		if v != e.null {
			e.fail(" userdata: type not supported")
			return
		}
		e.buf = append(e.buf, "null"...)
	default:
		e.fail(" %s: type not supported", v.Type().String())
	}
}

func (e *encoder) number(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		e.fail(" number: must not be NaN or Inf")
		return
	}
	e.buf = append(e.buf, formatG(f, luaPrecision)...)
}

func (e *encoder) table(t *lua.LTable, depth int) {
	if depth > deepestJSON {
		e.fail(", excessive nesting (%d)", depth)
		return
	}
	size, fine := arraySize(t)
	switch {
	case !fine:
		e.fail(" table: excessively sparse array")
	case size > 0:
		e.array(t, size, depth)
	default:
		e.object(t, depth)
	}
}

// arraySize is the greatest index of a table that has nothing but positive
// integers as keys, else 0; false if the array is too sparse to be written.
func arraySize(t *lua.LTable) (size int, fine bool) {
	items, array := 0, true
	t.ForEach(func(k, _ lua.LValue) {
		n, is := k.(lua.LNumber)
		if !is || float64(n) != math.Floor(float64(n)) || n < 1 {
			array = false
			return
		}
		size = max(size, int(n))
		items++
	})
	if !array {
		return 0, true
	}
	return size, size <= sparseSafe || size <= items*sparseRatio
}

func (e *encoder) array(t *lua.LTable, size, depth int) {
	e.buf = append(e.buf, '[')
	for i := 1; i <= size; i++ {
		if i > 1 {
			e.buf = append(e.buf, ',')
		}
		e.value(t.RawGetInt(i), depth)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) object(t *lua.LTable, depth int) {
	e.buf = append(e.buf, '{')
	first := true
	t.ForEach(func(k, v lua.LValue) {
		if e.err != "" {
			return
		}
		if !first {
			e.buf = append(e.buf, ',')
		}
		first = false
		switch k := k.(type) {
		case lua.LNumber:
			e.buf = append(e.buf, '"')
			e.number(float64(k))
			e.buf = append(e.buf, '"')
		case lua.LString:
			e.string(string(k))
		default:
			e.fail(" %s: table key must be a number or string", k.Type().String())
		}
		e.buf = append(e.buf, ':')
		e.value(v, depth)
	})
	e.buf = append(e.buf, '}')
}

// escapes are the bytes that have a short form, the slash among them.
var escapes = map[byte]string{
	'"': `\"`, '\\': `\\`, '/': `\/`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`,
}

// string writes bytes from 128 on as they are.
func (e *encoder) string(s string) {
	e.buf = append(e.buf, '"')
	for i := range len(s) {
		c := s[i]
		if short := escapes[c]; short != "" {
			e.buf = append(e.buf, short...)
		} else if c < ' ' || c == 127 {
			e.buf = fmt.Appendf(e.buf, `\u%04x`, c)
		} else {
			e.buf = append(e.buf, c)
		}
	}
	e.buf = append(e.buf, '"')
}
