package node

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// mostCaptures is how many captures a pattern may have, mostMatching how deep
// the matcher may call itself.
const (
	mostCaptures = 32
	mostMatching = 20_000
)

// Lengths of captures that are not closed yet, or that are positions.
const (
	captureOpen     = -1
	capturePosition = -2
)

// matcher matches a string against a pattern by the rules of Lua 5.1, which
// gopher-lua's own matcher bends. A place in the string or in the pattern is
// an index; -1 means that there is no match.
type matcher struct {
	l        *lua.LState
	s, p     string
	captures []capture
	depth    int
}

type capture struct{ start, size int }

func (m *matcher) fail(msg string) { m.l.RaiseError("%s", msg) }

// match matches s[si:] against p[pi:] and returns where the match ends.
func (m *matcher) match(si, pi int) int {
	if m.depth++; m.depth > mostMatching {
		m.fail("pattern too complex")
	}
	defer func() { m.depth-- }()
	for pi < len(m.p) {
		switch m.p[pi] {
		case '(':
			if strings.HasPrefix(m.p[pi+1:], ")") {
				return m.open(si, pi+2, capturePosition)
			}
			return m.open(si, pi+1, captureOpen)
		case ')':
			return m.close(si, pi+1)
		case '$':
			if pi+1 == len(m.p) {
				if si == len(m.s) {
					return si
				}
				return -1
			}
		case '%':
			if end, done := m.special(si, pi); done {
				return end
			} else if end >= 0 { // a back reference matched
				si, pi = end, pi+2
				continue
			}
		}
		end := m.classEnd(pi)
		if end < len(m.p) {
			switch m.p[end] {
			case '?':
				if m.one(si, pi, end) {
					if r := m.match(si+1, end+1); r >= 0 {
						return r
					}
				}
				pi = end + 1
				continue
			case '*':
				return m.greedy(si, si, pi, end)
			case '+':
				if !m.one(si, pi, end) {
					return -1
				}
				return m.greedy(si, si+1, pi, end)
			case '-':
				return m.lazy(si, pi, end)
			}
		}
		if !m.one(si, pi, end) {
			return -1
		}
		si, pi = si+1, end
	}
	return si
}

// special handles %b, %f and %1 to %9. If it is done, the match ends at end;
// otherwise end is where to go on behind a back reference, -1 for a plain class.
func (m *matcher) special(si, pi int) (end int, done bool) {
	if pi+1 >= len(m.p) {
		return -1, false // classEnd complains
	}
	switch c := m.p[pi+1]; {
	case c == 'b':
		if end = m.balanced(si, pi+2); end < 0 {
			return -1, true
		}
		return m.match(end, pi+4), true
	case c == 'f':
		return m.frontier(si, pi+2), true
	case c >= '0' && c <= '9':
		if end = m.backReference(si, c); end < 0 {
			return -1, true
		}
		return end, false
	}
	return -1, false
}

// classEnd is where the single class at pi ends.
func (m *matcher) classEnd(pi int) int {
	c := m.p[pi]
	pi++
	if c == '%' {
		if pi >= len(m.p) {
			m.fail("malformed pattern (ends with '%')")
		}
		return pi + 1
	}
	if c != '[' {
		return pi
	}
	if pi < len(m.p) && m.p[pi] == '^' {
		pi++
	}
	for first := true; first || m.at(pi) != ']'; first = false {
		if pi >= len(m.p) {
			m.fail("malformed pattern (missing ']')")
		}
		if c = m.p[pi]; c == '%' && pi+1 < len(m.p) {
			pi++
		}
		pi++
	}
	return pi + 1
}

// at is a byte of the pattern; 0 behind its end.
func (m *matcher) at(pi int) byte {
	if pi < len(m.p) {
		return m.p[pi]
	}
	return 0
}

// one tells whether the byte at si is of the class p[pi:end].
func (m *matcher) one(si, pi, end int) bool {
	return si < len(m.s) && m.single(m.s[si], pi, end)
}

func (m *matcher) single(c byte, pi, end int) bool {
	switch m.p[pi] {
	case '.':
		return true
	case '%':
		return isClass(c, m.p[pi+1])
	case '[':
		return m.inSet(c, pi, end-1)
	}
	return m.p[pi] == c
}

// inSet tells whether c is in the set that begins at pi and ends with the
// bracket at end.
func (m *matcher) inSet(c byte, pi, end int) bool {
	in := true
	if m.p[pi+1] == '^' {
		in = false
		pi++
	}
	for pi++; pi < end; pi++ {
		switch {
		case m.p[pi] == '%':
			pi++
			if isClass(c, m.p[pi]) {
				return in
			}
		case m.p[pi+1] == '-' && pi+2 < end:
			if m.p[pi] <= c && c <= m.p[pi+2] {
				return in
			}
			pi += 2
		case m.p[pi] == c:
			return in
		}
	}
	return !in
}

// classes are the bytes of each class, in the C locale.
var classes = map[byte]func(c byte) bool{
	'a': isLetter,
	'c': func(c byte) bool { return c < ' ' || c == 127 },
	'd': isDigit,
	'l': func(c byte) bool { return c >= 'a' && c <= 'z' },
	'p': func(c byte) bool { return c > ' ' && c < 127 && !isLetter(c) && !isDigit(c) },
	's': func(c byte) bool { return strings.IndexByte(blanks, c) >= 0 },
	'u': func(c byte) bool { return c >= 'A' && c <= 'Z' },
	'w': func(c byte) bool { return isLetter(c) || isDigit(c) },
	'x': func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' },
	'z': func(c byte) bool { return c == 0 },
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// isClass tells whether c is of the class %<class>; a capital negates.
func isClass(c, class byte) bool {
	if in := classes[class|0x20]; in != nil && isLetter(class) {
		return in(c) == (class&0x20 != 0)
	}
	return class == c
}

// greedy matches as many as it can from si on, of which those before least are due.
func (m *matcher) greedy(si, least, pi, end int) int {
	last := si
	for m.one(last, pi, end) {
		last++
	}
	for ; last >= least; last-- {
		if r := m.match(last, end+1); r >= 0 {
			return r
		}
	}
	return -1
}

// lazy matches as few as it can.
func (m *matcher) lazy(si, pi, end int) int {
	for {
		if r := m.match(si, end+1); r >= 0 {
			return r
		}
		if !m.one(si, pi, end) {
			return -1
		}
		si++
	}
}

func (m *matcher) balanced(si, pi int) int {
	if pi+1 >= len(m.p) {
		m.fail("unbalanced pattern")
	}
	if si >= len(m.s) || m.s[si] != m.p[pi] {
		return -1
	}
	for i, level := si+1, 1; i < len(m.s); i++ {
		switch m.s[i] {
		case m.p[pi+1]:
			if level--; level == 0 {
				return i + 1
			}
		case m.p[pi]:
			level++
		}
	}
	return -1
}

func (m *matcher) frontier(si, pi int) int {
	if m.at(pi) != '[' {
		m.fail("missing '[' after '%f' in pattern")
	}
	end := m.classEnd(pi)
	var before, here byte
	if si > 0 {
		before = m.s[si-1]
	}
	if si < len(m.s) {
		here = m.s[si]
	}
	if m.inSet(before, pi, end-1) || !m.inSet(here, pi, end-1) {
		return -1
	}
	return m.match(si, end)
}

func (m *matcher) open(si, pi, size int) int {
	if len(m.captures) >= mostCaptures {
		m.fail("too many captures")
	}
	m.captures = append(m.captures, capture{si, size})
	n := len(m.captures)
	end := m.match(si, pi)
	if end < 0 {
		m.captures = m.captures[:n-1]
	}
	return end
}

func (m *matcher) close(si, pi int) int {
	i := len(m.captures) - 1
	for i >= 0 && m.captures[i].size != captureOpen {
		i--
	}
	if i < 0 {
		m.fail("invalid pattern capture")
	}
	m.captures[i].size = si - m.captures[i].start
	end := m.match(si, pi)
	if end < 0 {
		m.captures[i].size = captureOpen
	}
	return end
}

func (m *matcher) backReference(si int, digit byte) int {
	i := int(digit) - '1'
	if i < 0 || i >= len(m.captures) || m.captures[i].size == captureOpen {
		m.fail("invalid capture index")
	}
	c := m.captures[i]
	if c.size >= 0 && strings.HasPrefix(m.s[si:], m.s[c.start:c.start+c.size]) {
		return si + c.size
	}
	return -1
}

// value is capture i, or the whole match where the pattern has none.
func (m *matcher) value(i, start, end int) lua.LValue {
	if i >= len(m.captures) {
		if i > 0 {
			m.fail("invalid capture index")
		}
		return lua.LString(m.s[start:end])
	}
	switch c := m.captures[i]; c.size {
	case capturePosition:
		return lua.LNumber(c.start + 1)
	case captureOpen:
		m.fail("unfinished capture")
	default:
		return lua.LString(m.s[c.start : c.start+c.size])
	}
	return lua.LNil
}

// plain tells whether a pattern has no magic.
func plain(p string) bool { return !strings.ContainsAny(p, "^$*+?.([%-") }
