package node

import (
	"encoding"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Error is an error reply, without the leading "-": "WRONGTYPE Operation …".
type Error string

func (e Error) Error() string { return string(e) }

// Status is a simple string reply: OK, PONG, the answer of TYPE.
type Status string

// Replies that are always the same.
const (
	ok = Status("OK")

	// ErrDown is what a node that is down answers: a link makes a refused
	// connection of it.
	ErrDown = Error("DOWN the simulated node is not running")

	errWrongType    = Error("WRONGTYPE Operation against a key holding the wrong kind of value")
	errSyntax       = Error("ERR syntax error")
	errNotInteger   = Error("ERR value is not an integer or out of range")
	errNotIntHash   = Error("ERR hash value is not an integer")
	errOverflow     = Error("ERR increment or decrement would overflow")
	errDecrOverflow = Error("ERR decrement would overflow")
	errNoScript     = Error("NOSCRIPT No matching script. Please use EVAL.")
	errBadTimeout   = Error("ERR timeout is not an integer or out of range")
	errNegTimeout   = Error("ERR timeout is negative")
	errNegKeys      = Error("ERR Number of keys can't be negative")
	errManyKeys     = Error("ERR Number of keys can't be greater than number of args")
	errScriptFlush  = Error("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
	errExpireNX     = Error("ERR NX and XX, GT or LT options at the same time are not compatible")
	errExpireGTLT   = Error("ERR GT and LT options at the same time are not compatible")
)

func errArity(command string) Error {
	return Error("ERR wrong number of arguments for '" + command + "' command")
}

func errExpireTime(command string) Error {
	return Error("ERR invalid expire time in '" + strings.ToLower(command) + "' command")
}

// Redis cuts names and arguments in its error messages at this length.
const longestQuote = 128

func errUnknownCommand(argv []string) Error {
	var args strings.Builder
	for _, a := range argv[1:] {
		if args.Len() >= longestQuote {
			break
		}
		args.WriteString("'" + cString(a, longestQuote-args.Len()) + "' ")
	}
	return oneLine("ERR unknown command '" + cString(argv[0], longestQuote) + "', with args beginning with: " + args.String())
}

func errUnknownSubcommand(c *command, argv []string) Error {
	return oneLine("ERR unknown subcommand '" + cString(argv[1], longestQuote) + "'. Try " + strings.ToUpper(c.name) + " HELP.")
}

// cString is what C prints of s with "%.*s": up to the first zero byte.
func cString(s string, most int) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		s = s[:i]
	}
	return s[:min(len(s), most)]
}

// oneLine makes an error of s that fits into one line of the protocol.
func oneLine(s string) Error { return Error(noBreaks(strings.TrimRight(s, "\r\n"))) }

// noBreaks turns line breaks into blanks.
func noBreaks(s string) string {
	if !strings.ContainsAny(s, "\r\n") {
		return s
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(s)
}

// text is the string that go-redis would send for an argument.
func text(a any) string {
	switch v := a.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case uint64:
		return strconv.FormatUint(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10)
	case bool:
		if v {
			return "1"
		}
		return "0"
	case nil:
		return ""
	case encoding.BinaryMarshaler:
		if b, err := v.MarshalBinary(); err == nil {
			return string(b)
		}
	}
	return fmt.Sprint(a)
}

// integer parses as Redis' string2ll: no sign but a minus, no leading zeros,
// no blanks.
func integer(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(s) > 1 {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}
