package node

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

func (m *machine) decode(l *lua.LState) int {
	if l.GetTop() != 1 {
		l.ArgError(1, "expected 1 argument")
	}
	d := decoder{m: m, in: argString(l, 1)}
	if in := d.in; len(in) >= 2 && (in[0] == 0 || in[1] == 0) {
		l.RaiseError("JSON parser does not support UTF-16 or UTF-32")
	}
	v := d.value(0)
	if d.blank(); d.err == "" && d.at < len(d.in) {
		d.fail("Expected the end but found %s at character %d", d.token(), d.at+1)
	}
	if d.err != "" {
		l.RaiseError("%s", d.err)
	}
	l.Push(v)
	return 1
}

// decoder reads JSON, with the liberties that lua-cjson takes.
type decoder struct {
	m   *machine
	in  string
	at  int
	err string
}

func (d *decoder) fail(format string, args ...any) lua.LValue {
	if d.err == "" {
		d.err = fmt.Sprintf(format, args...)
	}
	return lua.LNil
}

func (d *decoder) expected(what string) lua.LValue {
	return d.fail("Expected %s but found %s at character %d", what, d.token(), d.at+1)
}

// token names what comes next, for an error.
func (d *decoder) token() string {
	if d.at >= len(d.in) {
		return "T_END"
	}
	switch c := d.in[d.at]; {
	case c == '{':
		return "T_OBJ_BEGIN"
	case c == '}':
		return "T_OBJ_END"
	case c == '[':
		return "T_ARR_BEGIN"
	case c == ']':
		return "T_ARR_END"
	case c == ',':
		return "T_COMMA"
	case c == ':':
		return "T_COLON"
	case c == '"':
		return "T_STRING"
	case c == '-' || c >= '0' && c <= '9':
		return "T_NUMBER"
	}
	for word, name := range map[string]string{"true": "T_BOOLEAN", "false": "T_BOOLEAN", "null": "T_NULL"} {
		if strings.HasPrefix(d.in[d.at:], word) {
			return name
		}
	}
	return "invalid token"
}

func (d *decoder) blank() {
	for d.at < len(d.in) && strings.IndexByte(" \t\n\r", d.in[d.at]) >= 0 {
		d.at++
	}
}

// peek is the next byte that is not blank; 0 at the end.
func (d *decoder) peek() byte {
	d.blank()
	if d.at < len(d.in) {
		return d.in[d.at]
	}
	return 0
}

func (d *decoder) word(w string) bool {
	if strings.HasPrefix(d.in[d.at:], w) {
		d.at += len(w)
		return true
	}
	return false
}

func (d *decoder) value(depth int) lua.LValue {
	switch c := d.peek(); {
	case c == '{':
		return d.object(depth + 1)
	case c == '[':
		return d.array(depth + 1)
	case c == '"':
		s, _ := d.string()
		return lua.LString(s)
	case d.word("true"):
		return lua.LTrue
	case d.word("false"):
		return lua.LFalse
	case d.word("null"):
		return d.m.null
	}
	return d.number()
}

// number reads what C's strtod reads: hexadecimal numbers, infinities and NaN, too.
func (d *decoder) number() lua.LValue {
	end := d.at
	for end < len(d.in) && numberByte(d.in[end]) {
		end++
	}
	if c := d.peek(); c != '+' {
		for ; end > d.at; end-- { // the longest prefix that is a number
			if f, fine := parseNumber(d.in[d.at:end]); fine {
				d.at = end
				return lua.LNumber(f)
			}
		}
	}
	return d.expected("value")
}

func numberByte(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '+' || c == '.'
}

// deeper tells whether a value may be nested so deep.
func (d *decoder) deeper(depth int) bool {
	if depth > deepestJSON {
		d.fail("Found too many nested data structures (%d)", depth)
	}
	return d.err == ""
}

func (d *decoder) array(depth int) lua.LValue {
	t := d.m.l.CreateTable(0, 0)
	d.at++
	if !d.deeper(depth) || d.peek() == ']' {
		d.at++
		return t
	}
	for d.err == "" {
		t.Append(d.value(depth))
		switch d.peek() {
		case ',':
			d.at++
		case ']':
			d.at++
			return t
		default:
			d.expected("comma or array end")
		}
	}
	return t
}

func (d *decoder) object(depth int) lua.LValue {
	t := d.m.l.CreateTable(0, 0)
	d.at++
	if !d.deeper(depth) || d.peek() == '}' {
		d.at++
		return t
	}
	for d.err == "" {
		if d.peek() != '"' {
			return d.expected("object key string")
		}
		key, fine := d.string()
		if !fine {
			return t
		}
		if d.peek() != ':' {
			return d.expected("colon")
		}
		d.at++
		t.RawSetString(key, d.value(depth))
		switch d.peek() {
		case ',':
			d.at++
		case '}':
			d.at++
			return t
		default:
			d.expected("comma or object end")
		}
	}
	return t
}

var unescapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 't': '\t', 'n': '\n', 'f': '\f', 'r': '\r',
}

func (d *decoder) string() (string, bool) {
	var b []byte
	for i := d.at + 1; i < len(d.in); i++ {
		switch c := d.in[i]; c {
		case '"':
			d.at = i + 1
			return string(b), true
		case '\\':
			if i++; i >= len(d.in) {
				break
			}
			if plain, known := unescapes[d.in[i]]; known {
				b = append(b, plain)
				continue
			}
			r, size := unicodeEscape(d.in[i:])
			if size == 0 {
				d.fail("Expected value but found invalid escape code at character %d", i)
				return "", false
			}
			b = utf8.AppendRune(b, r)
			i += size - 1
		default:
			b = append(b, c)
		}
	}
	d.at = len(d.in)
	d.fail("Expected value but found unexpected end of string at character %d", d.at+1)
	return "", false
}

// unicodeEscape reads "u00e9", or a pair "ud83d\ude00"; size 0 if it is none.
func unicodeEscape(s string) (r rune, size int) {
	first, fine := hex4(s)
	if !fine {
		return 0, 0
	}
	if !utf16.IsSurrogate(first) {
		return first, 5
	}
	if len(s) < 6 || s[5] != '\\' {
		return 0, 0
	}
	second, fine := hex4(s[6:])
	r = utf16.DecodeRune(first, second)
	if !fine || r == utf8.RuneError {
		return 0, 0
	}
	return r, 11
}

func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:5], 16, 32)
	return rune(v), err == nil && !strings.ContainsAny(s[1:5], "_+-")
}
