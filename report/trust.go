package report

import (
	"fmt"
	"strings"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/results"
)

// standing tells what stands behind a green run: the canary that was found, the
// controls that were safe, and how little was going on around a fault.
func standing(b *strings.Builder, as []*results.Assessment) {
	n := b.Len()
	for _, a := range as {
		if a.Canary && a.Verdict != nil && a.Verdict.Outcome == checker.Violated && a.Verdict.FoundByBoth() {
			fmt.Fprintf(b, "canary: %s is violated, as it must be, and both oracles found it\n", a.Key)
		}
	}
	controls, good := 0, 0
	for _, a := range as {
		if a.Control {
			controls++
			if a.AsExpected {
				good++
			}
		}
	}
	if controls > 0 {
		fmt.Fprintf(b, "controls, the same without faults: %d of %d as expected\n", good, controls)
	}
	if least, where := quietest(as); where != nil {
		fmt.Fprintf(b, "fewest operations around one fault: %s (%s)\n", around(*least), where.Key)
	}
	b.WriteString(again(as))
	if b.Len() > n {
		b.WriteByte('\n')
	}
}

// again names the runs that were done more than once, and how often.
func again(as []*results.Assessment) string {
	const most = 5
	var names []string
	for _, a := range as {
		if a.Spoilt > 0 {
			names = append(names, fmt.Sprintf("%s (%s)", a.Key, count(a.Spoilt, "time")))
		}
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names); n > most {
		names, more = names[:most], fmt.Sprintf(" and %d more", n-most)
	}
	return fmt.Sprintf("done again, as the machine was too busy; the first histories are kept as %s: %s%s\n",
		fmt.Sprintf(results.SpoiltFiles, 1), strings.Join(names, ", "), more)
}

// quietest finds the fault that met the fewest acquires while it lasted, then
// that with the fewest grants before and after it.
func quietest(as []*results.Assessment) (least *checker.FaultOps, where *results.Assessment) {
	for _, a := range as {
		if a.Verdict == nil {
			continue
		}
		for i := range a.Verdict.Faults {
			f := &a.Verdict.Faults[i]
			if f.Lasts && (least == nil || fewer(f.Phases, least.Phases)) {
				least, where = f, a
			}
		}
	}
	return least, where
}

func fewer(a, b history.Phases) bool {
	if a.During.Attempts != b.During.Attempts {
		return a.During.Attempts < b.During.Attempts
	}
	return min(a.Before.Grants, a.After.Grants) < min(b.Before.Grants, b.After.Grants)
}

// around tells how many acquires there were around a fault.
func around(f checker.FaultOps) string {
	return fmt.Sprintf("operations before/during/after %s (%s): %s / %s / %s", f.ID, f.Name, ops(f.Before), ops(f.During), ops(f.After))
}

func ops(o history.Ops) string { return fmt.Sprintf("%d, %d granted", o.Attempts, o.Grants) }

// aroundAll tells it of each fault of a run.
func aroundAll(b *strings.Builder, v *checker.Verdict) {
	const most = 5
	for i, f := range v.Faults {
		if i == most {
			fmt.Fprintf(b, "  and so on for %s more\n", count(len(v.Faults)-most, "fault"))
			return
		}
		fmt.Fprintf(b, "  %s\n", around(f))
	}
}

// distrust says why runs are not to be trusted, and how many.
func distrust(b *strings.Builder, as []*results.Assessment) {
	for _, doubt := range results.Doubts(as) {
		n := 0
		for _, a := range as {
			if a.Trust != nil && strings.Contains(strings.Join(a.Trust.Doubts, "\n"), doubt) {
				n++
			}
		}
		fmt.Fprintf(b, "NOT TO BE TRUSTED: %s (marked ?)\n  %s\n\n", count(n, "run"), strings.ReplaceAll(doubt, "\n", "\n  "))
	}
}
