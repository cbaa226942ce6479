package node

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// longestString is about how long a string may get that a script makes: a
// mistake in a script shall not take the simulation's memory.
const longestString = 16 << 20

const errTooLong = "resulting string too large"

// stringFunctions replace gopher-lua's string library, which is not exact.
func (m *machine) stringFunctions() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"format":  m.format,
		"rep":     rep,
		"lower":   func(l *lua.LState) int { return mapBytes(l, 'A', 'Z', 'a') },
		"upper":   func(l *lua.LState) int { return mapBytes(l, 'a', 'z', 'A') },
		"len":     func(l *lua.LState) int { l.Push(lua.LNumber(len(argString(l, 1)))); return 1 },
		"reverse": reverse,
		"sub":     sub,
		"byte":    bytesOf,
		"char":    char,
		"find":    func(l *lua.LState) int { return find(l, true) },
		"match":   func(l *lua.LState) int { return find(l, false) },
		"gmatch":  gmatch,
		"gfind":   gmatch,
		"gsub":    gsub,
		"dump": func(l *lua.LState) int {
			l.RaiseError("unable to dump given function")
			return 0
		},
	}
}

// argString is a string argument; numbers count as strings.
func argString(l *lua.LState, i int) string {
	v := l.Get(i)
	if !lua.LVCanConvToString(v) {
		l.ArgError(i, "string expected, got "+typeOf(l, i))
	}
	return luaString(v)
}

func argNumber(l *lua.LState, i int) float64 {
	f, fine := toNumber(l.Get(i))
	if !fine {
		l.ArgError(i, "number expected, got "+typeOf(l, i))
	}
	return f
}

func typeOf(l *lua.LState, i int) string {
	if i > l.GetTop() {
		return "no value"
	}
	return l.Get(i).Type().String()
}

// argPosition is a position in a string of that length; negative ones count
// from the end.
func argPosition(l *lua.LState, i int, otherwise, length int64) int64 {
	pos := otherwise
	if l.Get(i) != lua.LNil {
		pos = truncate(argNumber(l, i))
	}
	if pos < 0 {
		pos = max(pos+length+1, 0)
	}
	return pos
}

// span reads the arguments i and i+1 as the ends of a part of a string.
func span(l *lua.LState, i int, first, last, length int64) (from, to int) {
	a, b := argPosition(l, i, first, length), argPosition(l, i+1, last, length)
	a, b = max(a, 1), min(b, length)
	if a > b {
		return 0, 0
	}
	return int(a - 1), int(b)
}

func sub(l *lua.LState) int {
	s := argString(l, 1)
	argNumber(l, 2)
	from, to := span(l, 2, 1, -1, int64(len(s)))
	l.Push(lua.LString(s[from:to]))
	return 1
}

func bytesOf(l *lua.LState) int {
	s := argString(l, 1)
	first := argPosition(l, 2, 1, int64(len(s)))
	from, to := span(l, 2, 1, first, int64(len(s)))
	for i := from; i < to; i++ {
		l.Push(lua.LNumber(s[i]))
	}
	return to - from
}

func char(l *lua.LState) int {
	b := make([]byte, l.GetTop())
	for i := range b {
		c := truncate(argNumber(l, i+1))
		if c < 0 || c > 255 {
			l.ArgError(i+1, "invalid value")
		}
		b[i] = byte(c)
	}
	l.Push(lua.LString(b))
	return 1
}

func reverse(l *lua.LState) int {
	s := argString(l, 1)
	b := make([]byte, len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	l.Push(lua.LString(b))
	return 1
}

func rep(l *lua.LState) int {
	s, n := argString(l, 1), truncate(argNumber(l, 2))
	switch {
	case n <= 0 || s == "":
		l.Push(lua.LString(""))
	case n > longestString/int64(len(s)):
		l.RaiseError(errTooLong)
	default:
		l.Push(lua.LString(strings.Repeat(s, int(n))))
	}
	return 1
}

// mapBytes moves the letters between first and last to those from to on, in ASCII only.
func mapBytes(l *lua.LState, first, last, to byte) int {
	b := []byte(argString(l, 1))
	for i, c := range b {
		if c >= first && c <= last {
			b[i] = c - first + to
		}
	}
	l.Push(lua.LString(b))
	return 1
}

// find is string.find, and string.match where it does not return places.
func find(l *lua.LState, places bool) int {
	m := matcher{l: l, s: argString(l, 1), p: argString(l, 2)}
	start := int(min(max(argPosition(l, 3, 1, int64(len(m.s)))-1, 0), int64(len(m.s))))
	if places && (lua.LVAsBool(l.Get(4)) || plain(m.p)) {
		i := strings.Index(m.s[start:], m.p)
		if i < 0 {
			l.Push(lua.LNil)
			return 1
		}
		l.Push(lua.LNumber(start + i + 1))
		l.Push(lua.LNumber(start + i + len(m.p)))
		return 2
	}
	from, end := m.next(start)
	if end < 0 {
		l.Push(lua.LNil)
		return 1
	}
	if places {
		l.Push(lua.LNumber(from + 1))
		l.Push(lua.LNumber(end))
		return 2 + m.push(from, end, len(m.captures))
	}
	return m.push(from, end, max(len(m.captures), 1))
}

// next finds the first match from start on; end is -1 where there is none.
func (m *matcher) next(start int) (from, end int) {
	pi := 0
	anchored := strings.HasPrefix(m.p, "^")
	if anchored {
		pi = 1
	}
	for from = start; from <= len(m.s); from++ {
		m.captures = m.captures[:0]
		if end = m.match(from, pi); end >= 0 || anchored {
			return from, end
		}
	}
	return start, -1
}

// push pushes so many captures of the match.
func (m *matcher) push(start, end, count int) int {
	for i := range count {
		m.l.Push(m.value(i, start, end))
	}
	return count
}

func gmatch(l *lua.LState) int {
	s, p := argString(l, 1), argString(l, 2)
	at := 0
	l.Push(l.NewFunction(func(l *lua.LState) int {
		m := matcher{l: l, s: s, p: p}
		for from := at; from <= len(s); from++ { // here "^" is no anchor
			m.captures = m.captures[:0]
			if end := m.match(from, 0); end >= 0 {
				if at = end; end == from {
					at++
				}
				return m.push(from, end, max(len(m.captures), 1))
			}
		}
		at = len(s) + 1
		l.Push(lua.LNil)
		return 1
	}))
	return 1
}

func gsub(l *lua.LState) int {
	m := matcher{l: l, s: argString(l, 1), p: argString(l, 2)}
	with := l.Get(3)
	switch with.(type) {
	case lua.LString, lua.LNumber, *lua.LTable, *lua.LFunction:
	default:
		l.ArgError(3, "string/function/table expected")
	}
	most := int64(len(m.s) + 1)
	if l.Get(4) != lua.LNil {
		most = truncate(argNumber(l, 4))
	}
	pi, anchored := 0, strings.HasPrefix(m.p, "^")
	if anchored {
		pi = 1
	}
	var out strings.Builder
	at, count := 0, int64(0)
	for count < most {
		m.captures = m.captures[:0]
		end := m.match(at, pi)
		if end >= 0 {
			count++
			out.WriteString(m.replacement(with, at, end))
			if out.Len() > longestString {
				m.fail(errTooLong)
			}
		}
		switch {
		case end > at:
			at = end
		case at < len(m.s):
			out.WriteByte(m.s[at])
			at++
		default:
			at++
		}
		if at > len(m.s) || anchored {
			break
		}
	}
	if at < len(m.s) {
		out.WriteString(m.s[at:])
	}
	l.Push(lua.LString(out.String()))
	l.Push(lua.LNumber(count))
	return 2
}

// replacement is what gsub puts in the place of a match.
func (m *matcher) replacement(with lua.LValue, start, end int) string {
	var v lua.LValue
	switch w := with.(type) {
	case *lua.LTable:
		v = m.l.GetTable(w, m.value(0, start, end))
	case *lua.LFunction:
		m.l.Push(w)
		m.l.Call(m.push(start, end, max(len(m.captures), 1)), 1)
		v = m.l.Get(-1)
		m.l.Pop(1)
	default:
		return m.expand(luaString(with), start, end)
	}
	if lua.LVIsFalse(v) {
		return m.s[start:end]
	}
	if !lua.LVCanConvToString(v) {
		m.fail("invalid replacement value (a " + v.Type().String() + ")")
	}
	return luaString(v)
}

// expand replaces %0 to %9 in the replacement string of gsub.
func (m *matcher) expand(with string, start, end int) string {
	var out strings.Builder
	for i := 0; i < len(with); i++ {
		if with[i] != '%' {
			out.WriteByte(with[i])
			continue
		}
		i++
		switch {
		case i >= len(with):
			out.WriteByte(0) // as in C, where the string ends with a zero
		case !isDigit(with[i]):
			out.WriteByte(with[i])
		case with[i] == '0':
			out.WriteString(m.s[start:end])
		default:
			out.WriteString(luaString(m.value(int(with[i]-'1'), start, end)))
		}
	}
	return out.String()
}
