package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"lockchaos/checker"
	"lockchaos/results"
)

// headWidth is how wide the head of a column is before it is broken at a hyphen.
const headWidth = 15

// Terminal writes the matrix, the stories and what was not as expected, for a
// terminal of the given width.
func Terminal(w io.Writer, as []*results.Assessment, dir string, width int) error {
	var b strings.Builder
	as = shortened(as)
	m := newMatrix(as)
	m.write(&b, width)
	stories(&b, m)
	listed(&b, m, "The lock failed and the guard at the resource held:", withstood)
	listed(&b, m, "Nobody holds the lock and nobody can get it:", wedged)
	latencies(&b, m)
	surprises(&b, as)
	distrust(&b, as)
	standing(&b, as)
	summary(&b, as, dir)
	_, err := io.WriteString(w, Clean(b.String()))
	return err
}

// write prints the matrix in bands of as many columns as fit.
func (m *matrix) write(b *strings.Builder, width int) {
	left := len("lock system × guard")
	for _, r := range m.rows {
		left = max(left, len(r.system)+len(r.guard)+3)
	}
	for rest := m.columns; len(rest) > 0; {
		n, used := 0, left
		for n < len(rest) {
			wide := m.columnWidth(rest[n]) + 2
			if n > 0 && used+wide > width {
				break
			}
			used += wide
			n++
		}
		m.band(b, rest[:n], left)
		rest = rest[n:]
	}
}

func (m *matrix) columnWidth(c string) int {
	wide := 0
	for _, part := range head(c) {
		wide = max(wide, len(part))
	}
	for _, r := range m.rows {
		if cell := m.cells[r][c]; cell != nil {
			wide = max(wide, len(cell.text()))
		}
	}
	return wide
}

// head breaks a column's name into lines at hyphens and slashes.
func head(name string) []string {
	var lines []string
	line := ""
	for _, word := range strings.SplitAfter(name, "-") {
		if line != "" && len(line)+len(word) > headWidth {
			lines = append(lines, line)
			line = ""
		}
		line += word
	}
	return append(lines, line)
}

func (m *matrix) band(b *strings.Builder, columns []string, left int) {
	heads, tall := make([][]string, len(columns)), 0
	for i, c := range columns {
		heads[i] = head(c)
		tall = max(tall, len(heads[i]))
	}
	for line := range tall {
		first := ""
		if line == tall-1 {
			first = "lock system × guard"
		}
		cells := make([]string, len(columns))
		for i := range columns {
			if k := line - (tall - len(heads[i])); k >= 0 {
				cells[i] = heads[i][k]
			}
		}
		m.line(b, columns, left, first, cells)
	}
	for _, r := range m.rows {
		cells, any := make([]string, len(columns)), false
		for i, c := range columns {
			cells[i] = "·"
			if cell := m.cells[r][c]; cell != nil {
				cells[i], any = cell.text(), true
			}
		}
		if any {
			m.line(b, columns, left, r.system+" × "+r.guard, cells)
		}
	}
	b.WriteByte('\n')
}

func (m *matrix) line(b *strings.Builder, columns []string, left int, first string, cells []string) {
	var l strings.Builder
	l.WriteString(pad(first, left))
	for i, c := range columns {
		l.WriteString("  " + pad(cells[i], m.columnWidth(c)))
	}
	b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// stories tells each violated cell in one sentence, with the command that repeats it.
func stories(b *strings.Builder, m *matrix) {
	for _, r := range m.rows {
		for _, c := range m.columns {
			cell := m.cells[r][c]
			if cell == nil {
				continue
			}
			for _, a := range cell.runs {
				if a.Verdict == nil || a.Verdict.Outcome != checker.Violated {
					continue
				}
				story(b, a)
				break
			}
		}
	}
}

func story(b *strings.Builder, a *results.Assessment) {
	f := Story(a.Verdict)
	if f == nil {
		return
	}
	fmt.Fprintf(b, "%s, guard %s: %s (%s, on %s)\n  %s\n", a.Scenario, a.Guard, kinds(a.Verdict), Blamed(a.Verdict), a.World, f.Words)
	for _, reason := range a.Verdict.Reasons {
		fmt.Fprintf(b, "  but: %s\n", reason)
	}
	fmt.Fprintf(b, "  repeat: %s\n\n", a.Repeat)
}

// listed writes a heading and under it a line for each cell that has one, of the
// first of its runs that does.
func listed(b *strings.Builder, m *matrix, heading string, line func(*results.Assessment) string) {
	found := false
	for _, r := range m.rows {
		for _, c := range m.columns {
			cell := m.cells[r][c]
			if cell == nil {
				continue
			}
			for _, a := range cell.runs {
				text := line(a)
				if text == "" {
					continue
				}
				if !found {
					b.WriteString(heading + "\n")
					found = true
				}
				fmt.Fprintf(b, "  %s\n", text)
				break
			}
		}
	}
	if found {
		b.WriteByte('\n')
	}
}

// wedged tells of a lock that was free and that nobody could get any more.
func wedged(a *results.Assessment) string {
	if a.Verdict == nil {
		return ""
	}
	for _, f := range a.Verdict.Findings {
		if f.ID == checker.Wedge {
			return fmt.Sprintf("%s, guard %s: %s", a.Scenario, a.Guard, f.Words)
		}
	}
	return ""
}

// withstood says what a guard made harmless in a safe run.
func withstood(a *results.Assessment) string {
	if a.Verdict == nil || a.Verdict.Outcome != checker.Safe {
		return ""
	}
	what := tally(a.Verdict, func(f checker.Finding) bool { return f.Contained })
	if what == "" {
		return ""
	}
	return fmt.Sprintf("%s, guard %s: %s; stale operations refused: %d", a.Scenario, a.Guard, what, a.Verdict.Counts.Stale)
}

// kinds lists the deciding findings with their number.
func kinds(v *checker.Verdict) string { return tally(v, decides) }

func tally(v *checker.Verdict, which func(checker.Finding) bool) string {
	count := map[string]int{}
	var order []string
	for _, f := range v.Findings {
		if !which(f) {
			continue
		}
		name := f.Kind()
		if count[name] == 0 {
			order = append(order, name)
		}
		count[name] += f.Number()
	}
	for i, name := range order {
		if n := count[name]; n > 1 {
			order[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	return strings.Join(order, ", ")
}

// Blamed says who broke it, in words.
func Blamed(v *checker.Verdict) string {
	who := map[string]bool{}
	for _, f := range v.Findings {
		if decides(f) {
			who[f.Blame] = true
		}
	}
	return "blame: " + strings.Join(slices.Sorted(maps.Keys(who)), ", ")
}

// surprises lists the runs that are not as expected.
func surprises(b *strings.Builder, as []*results.Assessment) {
	for _, a := range as {
		if a.AsExpected {
			continue
		}
		fmt.Fprintf(b, "NOT AS EXPECTED: %s\n", a.Key)
		if a.Error != "" {
			fmt.Fprintf(b, "  error: %s\n", strings.ReplaceAll(a.Error, "\n", "\n  "))
		}
		for _, d := range a.Differences {
			fmt.Fprintf(b, "  %s\n", d.Text)
		}
		if a.Verdict != nil {
			for _, reason := range a.Verdict.Reasons {
				fmt.Fprintf(b, "  inconclusive: %s\n", reason)
			}
			if f := Story(a.Verdict); f != nil && a.Verdict.Outcome != checker.Violated {
				fmt.Fprintf(b, "  %s: %s\n", f.ID, f.Words)
			}
			aroundAll(b, a.Verdict)
		}
		if a.Dir != "" {
			fmt.Fprintf(b, "  evidence: %s\n", a.Dir)
		}
		if a.Repeat != "" {
			fmt.Fprintf(b, "  repeat: %s\n", a.Repeat)
		}
		b.WriteByte('\n')
	}
}

// count gives a number of things, which form their plural with an s.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func summary(b *strings.Builder, as []*results.Assessment, dir string) {
	outcomes := map[checker.Outcome]int{}
	worlds := map[string]bool{}
	failed, surprising, doubted := 0, 0, 0
	for _, a := range as {
		worlds[a.World] = true
		if a.Verdict == nil || a.Error != "" {
			failed++
		} else {
			outcomes[a.Verdict.Outcome]++
		}
		if !a.AsExpected {
			surprising++
		}
		if !a.Trusted() {
			doubted++
		}
	}
	fmt.Fprintf(b, "%s on %s: %d safe, %d violated, %d inconclusive",
		count(len(as), "run"), strings.Join(slices.Sorted(maps.Keys(worlds)), ", "), outcomes[checker.Safe], outcomes[checker.Violated], outcomes[checker.Inconclusive])
	if failed > 0 {
		fmt.Fprintf(b, ", %d failed", failed)
	}
	switch {
	case surprising > 0:
		fmt.Fprintf(b, "; %d NOT as expected (marked !)", surprising)
	case doubted > 0:
		b.WriteString("; as expected, BUT")
	default:
		b.WriteString("; all as expected")
	}
	if doubted > 0 {
		fmt.Fprintf(b, ", %d NOT to be trusted (marked ?)", doubted)
	}
	b.WriteString(".\n")
	if dir != "" {
		fmt.Fprintf(b, "results: %s\n", dir)
	}
}
