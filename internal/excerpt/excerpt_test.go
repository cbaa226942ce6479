package excerpt

import (
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	for name, c := range map[string]struct{ line, want string }{
		"a line":           {"{\"seq\": 1}\n", `"{\"seq\": 1}"`},
		"nothing":          {"", `""`},
		"a terminal's":     {"\x1b[2Jä\x00", `"\x1b[2J\u00e4\x00"`},
		"no text":          {"\xff\xfe", `"\xff\xfe"`},
		"as long as shown": {strings.Repeat("x", most-2), `"` + strings.Repeat("x", most-2) + `"`},
		"longer":           {strings.Repeat("x", most-1), `"` + strings.Repeat("x", most-1) + "…"},
		"far longer":       {strings.Repeat("\x00", 1<<20), `"` + strings.Repeat(`\x00`, 29) + `\x0…`},
	} {
		if got := Of(c.line); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := Of([]byte(c.line)); got != c.want {
			t.Errorf("%s, as bytes: %s, want %s", name, got, c.want)
		}
	}
}
