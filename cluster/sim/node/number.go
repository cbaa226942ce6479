package node

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// Digits with which Lua and Redis print a double.
const (
	luaPrecision    = 14 // tostring, "..", cjson
	doublePrecision = 17 // arguments of redis.call
)

// exactInts are below this all digits of an integer fit into any precision.
const exactInts = 1e14

// formatG is C's "%.<precision>g".
func formatG(f float64, precision int) string {
	switch {
	case f == math.Trunc(f) && math.Abs(f) < exactInts && (f != 0 || !math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	case math.IsInf(f, 0) || math.IsNaN(f):
		return notFinite(f)
	}
	return strconv.FormatFloat(f, 'g', precision, 64)
}

// notFinite is how C prints an infinity or a NaN.
func notFinite(f float64) string {
	s := "inf"
	if math.IsNaN(f) {
		s = "nan"
	}
	if math.Signbit(f) {
		s = "-" + s
	}
	return s
}

// luaString is Lua's tostring, without metamethods. Addresses are not shown,
// as they differ from run to run.
func luaString(v lua.LValue) string {
	switch v := v.(type) {
	case lua.LString:
		return string(v)
	case lua.LNumber:
		return formatG(float64(v), luaPrecision)
	case lua.LBool, *lua.LNilType:
		return v.String()
	case *lua.LUserData:
		return "userdata: (nil)"
	}
	return v.Type().String() + ": 0x0000000000000000"
}

// blanks are what C's isspace accepts.
const blanks = " \t\n\v\f\r"

// toNumber is Lua's conversion of a number or a string to a number.
func toNumber(v lua.LValue) (float64, bool) {
	switch v := v.(type) {
	case lua.LNumber:
		return float64(v), true
	case lua.LString:
		return parseNumber(string(v))
	}
	return 0, false
}

// parseNumber is C's strtod for a whole string with blanks around it.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, blanks)
	if strings.ContainsRune(s, '_') {
		return 0, false
	}
	digits := strings.TrimLeft(s, "+-")
	if strings.EqualFold(digits, "nan") && len(s) == len("-nan") { // Go takes it without a sign only
		sign := 1.0
		if s[0] == '-' {
			sign = -1
		}
		return math.Copysign(math.NaN(), sign), true
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' && !strings.ContainsAny(digits, "pP") {
		s += "p0" // as Go wants it
	}
	f, err := strconv.ParseFloat(s, 64)
	if e, is := err.(*strconv.NumError); is && e.Err == strconv.ErrRange {
		return f, true
	}
	return f, err == nil
}

// parseBase is C's strtoul for a whole string with blanks around it.
func parseBase(s string, base int) (float64, bool) {
	s = strings.Trim(s, blanks)
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	if s == "" || s[0] == '+' || s[0] == '-' {
		return 0, false
	}
	u, err := strconv.ParseUint(s, base, 64)
	if e, is := err.(*strconv.NumError); is && e.Err == strconv.ErrRange {
		return math.MaxUint64, true
	}
	if negative {
		u = -u
	}
	return float64(u), err == nil
}

// drand is the generator behind math.random, Redis' copy of drand48. It starts
// with the server, always in the same state, and goes on from script to script.
type drand struct{ x uint64 }

const drandStart = 0x1234ABCD330E

const drandMask = 1<<48 - 1

func (d *drand) seed(n int64) { d.x = uint64(uint32(n))<<16 | 0x330E }

// next is in [0, 1).
func (d *drand) next() float64 {
	d.x = (d.x*0x5DEECE66D + 0xB) & drandMask
	return float64(d.x>>17%math.MaxInt32) / math.MaxInt32
}
