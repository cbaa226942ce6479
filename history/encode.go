package history

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// appendEvent writes e as one line of JSON, exactly as json.Marshal would. It
// is by hand because a run writes thousands of events a second in the process
// that also carries the hosts' bytes.
func appendEvent(b []byte, e *Event) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, e.Seq, 10)
	b = append(b, `,"t":`...)
	b = strconv.AppendInt(b, int64(e.T), 10)
	b = append(b, `,"kind":`...)
	b = appendString(b, string(e.Kind))
	b = text(b, "do", string(e.Do))
	b = text(b, "host", e.Host)
	b = text(b, "node", e.Node)
	b = text(b, "lock", e.Lock)
	b = number(b, "op", e.Op)
	b = number(b, "grant", e.Grant)
	b = text(b, "owner", e.Owner)
	b = number(b, "token", e.Token)
	b = number(b, "validity", int64(e.Validity))
	b = number(b, "value", e.Value)
	b = number(b, "before", e.Before)
	b = text(b, "result", string(e.Result))
	b = text(b, "code", e.Code)
	b = text(b, "text", e.Text)
	b = number(b, "backed", int64(e.Backed))
	b = number(b, "took", int64(e.Took))
	if e.Fault != nil {
		b = append(b, `,"fault":`...)
		step, _ := json.Marshal(e.Fault) // strings and numbers that a scenario can have: it cannot fail
		b = append(b, step...)
	}
	return append(b, "}\n"...)
}

func number(b []byte, name string, v int64) []byte {
	if v == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return strconv.AppendInt(b, v, 10)
}

func text(b []byte, name, v string) []byte {
	if v == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendString(b, v)
}

// appendString quotes plain text at once and leaves the rest to encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string cannot fail
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
