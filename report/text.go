package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"lockchaos/results"
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

// The most letters of what comes from outside, in a report for a terminal.
const (
	mostName = 80
	mostText = 4000 // of an error, which may have many lines
)

// shortened are copies of assessments with nothing in them that is too long for
// a terminal.
func shortened(as []*results.Assessment) []*results.Assessment {
	all := make([]*results.Assessment, len(as))
	for i, was := range as {
		a := *was
		a.Scenario, a.System, a.Guard = limit(a.Scenario, mostName), limit(a.System, mostName), limit(a.Guard, mostName)
		a.Repeat, a.Error, a.Dir = limit(a.Repeat, mostWords), limit(a.Error, mostText), limit(a.Dir, mostWords)
		a.Differences = slices.Clone(a.Differences)
		for j := range a.Differences {
			a.Differences[j].Text = limit(a.Differences[j].Text, mostWords)
		}
		if a.Verdict != nil {
			v := *a.Verdict
			v.Findings, v.Reasons = slices.Clone(v.Findings), slices.Clone(v.Reasons)
			for j := range v.Findings {
				f := &v.Findings[j]
				f.Words, f.Blame = limit(f.Words, mostWords), limit(f.Blame, mostName)
			}
			for j := range v.Reasons {
				v.Reasons[j] = limit(v.Reasons[j], mostWords)
			}
			a.Verdict = &v
		}
		all[i] = &a
	}
	return all
}

// limit is Short for what has that length or is cut: lines stay lines.
func limit(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Short(s, most)
}
