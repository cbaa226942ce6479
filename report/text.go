package report

import (
	"fmt"
	"strings"
	"unicode"
)

// Short makes text that came from outside one harmless line of at most so many
// letters: no control characters, nothing that turns the direction of writing,
// and where it is cut, how long it was.
func Short(s string, most int) string {
	var b strings.Builder
	n, cut := 0, -1
	for _, r := range s {
		if n == most-1 {
			cut = b.Len()
		}
		if n++; n <= most {
			b.WriteRune(harmless(r))
		}
	}
	if n <= most {
		return b.String()
	}
	if most < 40 {
		return b.String()[:cut] + "…"
	}
	return b.String()[:cut] + fmt.Sprintf("… (%d characters)", n)
}

func harmless(r rune) rune {
	switch {
	case r == '\n', r == '\t', r == '\r':
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return '?'
	}
	return r
}
