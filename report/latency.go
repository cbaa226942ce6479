package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/results"
)

// mostWaits is for how many cells it is told what their runs had to wait for.
const mostWaits = 12

// latencies tells on one line for each cell with faults what its first run had
// to wait for, where there are few such cells.
func latencies(b *strings.Builder, m *matrix) {
	var lines []string
	for _, r := range m.rows {
		for _, c := range m.columns {
			cell := m.cells[r][c]
			if cell == nil {
				continue
			}
			if i := slices.IndexFunc(cell.runs, faulty); i >= 0 {
				a := cell.runs[i]
				lines = append(lines, fmt.Sprintf("  %s, guard %s: %s\n", a.Scenario, a.Guard, Waited(a.Verdict)))
			}
		}
	}
	if len(lines) > 0 && len(lines) <= mostWaits {
		b.WriteString("Time to answer in ms, median/max, before → during → after the faults:\n" + strings.Join(lines, "") + "\n")
	}
}

func faulty(a *results.Assessment) bool {
	return a.Verdict != nil && slices.ContainsFunc(a.Verdict.Latencies, func(l checker.PhaseLatency) bool { return l.Phase != checker.Before })
}

// Waited is how long a run's operations took, in words: "acquire 3/9 → 1500/1500 → 3/4, …".
func Waited(v *checker.Verdict) string {
	var parts []string
	for _, do := range []history.Do{history.Acquire, history.Extend, history.Release} {
		cells, any := []string{"–", "–", "–"}, false
		for _, l := range v.Latencies {
			if l.Do == do {
				cells[slices.Index([]string{checker.Before, checker.During, checker.After}, l.Phase)] = millis(l.Median) + "/" + millis(l.Max)
				any = true
			}
		}
		if any {
			parts = append(parts, string(do)+" "+strings.Join(cells, " → "))
		}
	}
	return strings.Join(parts, ", ")
}

// millis is a time in milliseconds with two figures or more.
func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	if ms < 10 {
		return fmt.Sprintf("%.1f", ms)
	}
	return fmt.Sprintf("%.0f", ms)
}
