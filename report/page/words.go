package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/report"
	"lockchaos/report/drawing"
)

// facts are the manifest, as far as a reader of the report needs it.
func facts(t *report.Told) []fact {
	m := t.Manifest
	if m == nil {
		return nil
	}
	about, ttl, discipline := t.Options()
	all := []fact{
		{"run", m.Run}, {"scenario", about}, {"world", t.World}, {"lock system", t.System}, {"lease", ttl}, {"holders", discipline},
		{"guard", t.Guard}, {"seed", fmt.Sprint(m.Seed)}, {"started", m.Started.UTC().Format(time.RFC3339)},
	}
	if t.Took > 0 {
		all = append(all, fact{"took", took(t.Took)})
	}
	if m.Spoilt > 0 {
		all = append(all, fact{"spoilt", fmt.Sprintf("done %d times before, when the machine was too busy for it; those histories are beside this one, as spoilt-1.jsonl and so on", m.Spoilt)})
	}
	var set []string
	for _, name := range slices.Sorted(maps.Keys(m.LockOptions)) {
		set = append(set, fmt.Sprintf("%s: %v", name, m.LockOptions[name]))
	}
	all = append(all, fact{"lock options", strings.Join(set, ", ")}, fact{"redis", m.Machine.Redis})
	var modules []string
	for _, name := range slices.Sorted(maps.Keys(m.Machine.Modules)) {
		modules = append(modules, name+" "+m.Machine.Modules[name])
	}
	commit := m.Machine.Commit
	if m.Machine.Dirty {
		commit += " (with changes)"
	}
	all = append(all, fact{"libraries", strings.Join(modules, ", ")}, fact{"program", strings.TrimSpace(commit + " " + m.Machine.Go)},
		fact{"machine", fmt.Sprintf("%s, kernel %s, %d processors", m.Machine.OS, m.Machine.Kernel, m.Machine.CPUs)})
	return slices.DeleteFunc(all, func(f fact) bool { return f.Value == "" })
}

// trust says what was assumed, and what was checked.
func trust(t *report.Told) []string {
	all := []string{
		"All times are on the one clock of the harness, and a promise counts from the call that asked for it to no more than its lease: a slow harness can hide a violation, and cannot invent one.",
	}
	if _, _, d := t.Options(); d == history.ChecksLease {
		all = append(all, "The holders look at the end of their lease before they write.")
	} else {
		all = append(all, "The holders trust the lock: they do not look at the end of their lease before they write.")
	}
	if v := t.Verdict; v != nil {
		for _, o := range v.Oracles {
			all = append(all, fmt.Sprintf("%s: the sweep says %s, Porcupine says %s (%d operations in %d parts).", o.Property, o.Sweep, o.Porcupine, o.Ops, o.Chunks))
		}
		c := v.Counts
		all = append(all, fmt.Sprintf("%d acquires were answered and %d granted; the resource accepted %d writes and refused %d reads and writes; the counter is at %d after %d increments.",
			c.Acquires, c.Grants, c.Writes, c.Refused, c.Final, c.Increment))
		if v.Stalled > 0 {
			all = append(all, fmt.Sprintf("The harness, or a host that nobody had stopped, stood still for %s: the machine was too busy.", drawing.Time(v.Stalled)))
		}
	}
	if t.Timeline == nil {
		return all
	}
	for i, f := range t.Timeline.Faults {
		if i == 8 {
			all = append(all, fmt.Sprintf("and %d more faults.", len(t.Timeline.Faults)-i))
			break
		}
		proof := "it was NOT seen to work"
		if f.Proved {
			proof = "seen to work: " + strings.Join(f.Proof, "; ")
		}
		all = append(all, fmt.Sprintf("%s of %s, %s to %s; %s.", f.Name, strings.Join(f.Targets, ", "), drawing.Time(f.From), drawing.Time(f.To), proof))
	}
	return all
}

// margin tells how close it was.
func margin(tl *checker.Timeline) string {
	c := tl.Closest
	switch {
	case c == nil:
		return ""
	case c.Gap < 0:
		return fmt.Sprintf("Margin: the beliefs of %s and %s overlapped for %s, at %s.", c.First, c.Second, drawing.Time(-c.Gap), drawing.Time(c.At))
	}
	return fmt.Sprintf("Margin: two beliefs came no closer than %s to each other (%s before %s, at %s).", drawing.Time(c.Gap), c.First, c.Second, drawing.Time(c.At))
}

// limits say what the run does not prove.
func limits(t *report.Told) []string {
	all := []string{
		"A safe run shows that this schedule, at these versions, broke nothing. It does not show that nothing can.",
		"A violated run shows that it can happen. How often it does is another question: repeat it with --trials.",
	}
	switch t.World {
	case "sim":
		all = append(all, "The servers and links are simulated: the lock library is the real one, Redis is not. Whether real servers do the same is shown by a run with --on local.")
	case "local":
		all = append(all, "Clients, servers and harness share one kernel and one clock; the links carry bytes through loopback.")
	case "remote":
		all = append(all, "Clients and harness share one machine, and so do the links, of which only the rest is network.")
	}
	if t.Guard != history.GuardNone {
		all = append(all, "With a guard at the resource the outcome is that of the resource. The lock may have failed: what it did is listed all the same.")
	}
	return all
}
