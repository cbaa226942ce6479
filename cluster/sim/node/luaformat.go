package node

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// spec is one conversion of string.format: %<flags><width>.<precision><verb>.
type spec struct {
	flags     string
	width     int
	precision int // -1 where there is none
	verb      byte
}

// longestFormatted is from which length on string.format inserts a string as it
// is: shorter ones go through C's sprintf and end at a zero byte.
const longestFormatted = 100

// format is string.format, as C's printf does it.
func (m *machine) format(l *lua.LState) int {
	f := argString(l, 1)
	var out strings.Builder
	out.Grow(2 * len(f))
	arg := 1
	for {
		plain, rest, more := strings.Cut(f, "%")
		out.WriteString(plain)
		if !more {
			break
		}
		if strings.HasPrefix(rest, "%") {
			out.WriteByte('%')
			f = rest[1:]
			continue
		}
		var s spec
		s, f = parseSpec(l, rest)
		if arg++; arg > l.GetTop() {
			l.ArgError(arg, "no value")
		}
		out.WriteString(s.convert(l, arg))
		if out.Len() > longestString {
			l.RaiseError(errTooLong)
		}
	}
	l.Push(lua.LString(out.String()))
	return 1
}

// parseSpec reads a conversion behind its "%" and returns what follows it.
func parseSpec(l *lua.LState, f string) (spec, string) {
	s := spec{precision: -1}
	end := len(f) - len(strings.TrimLeft(f, "-+ #0"))
	s.flags, f = f[:end], f[end:]
	if len(s.flags) > 5 {
		l.RaiseError("invalid format (repeated flags)")
	}
	s.width, f = digits(l, f)
	if strings.HasPrefix(f, ".") {
		s.precision, f = digits(l, f[1:])
	}
	if f == "" {
		l.RaiseError("invalid option '%%' to 'format'")
	}
	s.verb = f[0]
	return s, f[1:]
}

// digits reads at most two digits.
func digits(l *lua.LState, f string) (int, string) {
	n, v := 0, 0
	for n < len(f) && f[n] >= '0' && f[n] <= '9' {
		if n++; n > 2 {
			l.RaiseError("invalid format (width or precision too long)")
		}
		v = 10*v + int(f[n-1]-'0')
	}
	return v, f[n:]
}

func (s spec) convert(l *lua.LState, arg int) string {
	switch s.verb {
	case 'c':
		c := truncate(argNumber(l, arg))
		if c != int64(int32(c)) {
			c = 0 // as C on x86
		}
		str := s.pad(string([]byte{byte(c)}))
		return cString(str, len(str))
	case 'd', 'i':
		return s.integer(truncate(argNumber(l, arg)), 'd')
	case 'u', 'o', 'x', 'X':
		verb := s.verb
		if verb == 'u' {
			verb = 'd'
		}
		s.flags = strings.NewReplacer("+", "", " ", "").Replace(s.flags) // for signed numbers only
		v := unsigned(argNumber(l, arg))
		if v == 0 {
			s.flags = strings.ReplaceAll(s.flags, "#", "")
		}
		return s.integer(v, verb)
	case 'e', 'E', 'f', 'g', 'G':
		return s.float(argNumber(l, arg))
	case 'q':
		return quoted(argString(l, arg))
	case 's':
		str := argString(l, arg)
		if s.precision < 0 && len(str) >= longestFormatted {
			return str
		}
		str = cString(str, len(str))
		if s.precision >= 0 && s.precision < len(str) {
			str = str[:s.precision]
		}
		return s.pad(str)
	}
	l.RaiseError("invalid option '%%%s' to 'format'", string(s.verb))
	return ""
}

// pad brings a string to the width.
func (s spec) pad(str string) string {
	if len(str) >= s.width {
		return str
	}
	blank := strings.Repeat(" ", s.width-len(str))
	if strings.Contains(s.flags, "-") {
		return str + blank
	}
	return blank + str
}

func (s spec) integer(v any, verb byte) string {
	flags := s.flags
	if s.precision >= 0 {
		flags = strings.ReplaceAll(flags, "0", "")
		return fmt.Sprintf("%"+flags+strconv.Itoa(s.width)+"."+strconv.Itoa(s.precision)+string(verb), v)
	}
	return fmt.Sprintf("%"+flags+s.widthText()+string(verb), v)
}

func (s spec) widthText() string {
	if s.width == 0 {
		return ""
	}
	return strconv.Itoa(s.width)
}

func (s spec) float(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		str := notFinite(f)
		if s.verb == 'E' || s.verb == 'G' {
			str = strings.ToUpper(str)
		}
		if !math.Signbit(f) && strings.Contains(s.flags, "+") {
			str = "+" + str
		}
		return s.pad(str)
	}
	precision := s.precision
	if precision < 0 {
		precision = 6
	} else if precision == 0 && s.verb|0x20 == 'g' {
		precision = 1
	}
	return fmt.Sprintf("%"+s.flags+s.widthText()+"."+strconv.Itoa(precision)+string(s.verb), f)
}

// quoted is %q: a string that Lua reads back.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
