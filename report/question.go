package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lockchaos/checker"
	"lockchaos/history"
)

// ask groups the cells by scenario.
func (d *Digest) ask() {
	by := map[string]*Question{}
	for i := range d.Rows {
		for _, c := range d.Rows[i].Cells {
			if c == nil {
				continue
			}
			for _, t := range c.Runs { // the control of many scenarios is one cell
				key := t.World + " " + t.Scenario
				q := by[key]
				if q == nil {
					q = newQuestion(t)
					by[key] = q
					d.Questions = append(d.Questions, q)
				}
				switch {
				case c.Column == controlColumn:
					q.control(t)
				case !slices.Contains(q.Cells, c):
					q.Cells = append(q.Cells, c)
				}
			}
		}
	}
	for _, q := range d.Questions {
		q.Fence = q.fence()
	}
	slices.SortStableFunc(d.Questions, func(a, b *Question) int { return a.urgency() - b.urgency() })
}

// Quiet says that there is nothing to tell: all is safe, and nothing failed.
func (q *Question) Quiet() bool { return q.urgency() == quiet }

const quiet = 6 // more than any run's urgency

// urgency orders questions by how much there is to tell.
func (q *Question) urgency() int {
	least := quiet
	for _, c := range q.Cells {
		switch u := c.Shown.urgency(); {
		case c.Unexpected:
			return -1
		case u < 5:
			least = min(least, u)
		}
	}
	return least
}

// control takes in a run without the faults; the worst of them is told.
func (q *Question) control(t *Told) {
	if q.Control == "" || t.Mark != string(checker.Safe) {
		q.Control = t.Mark
	}
}

// options is what a report reads of a manifest's options.
type options struct {
	About string `json:"about"`
	Lock  struct {
		TTL string `json:"ttl"`
	} `json:"lock"`
	Workload struct {
		Discipline string `json:"discipline"`
	} `json:"workload"`
}

// Options reads what a report says of the scenario; what is not there is empty.
func (t *Told) Options() (about, ttl, discipline string) {
	var o options
	if t.Manifest == nil || json.Unmarshal(t.Manifest.Options, &o) != nil {
		return "", "", ""
	}
	return o.About, o.Lock.TTL, o.Workload.Discipline
}

func newQuestion(t *Told) *Question {
	q := &Question{Scenario: t.Scenario, System: t.System, World: WorldWords(t)}
	about, ttl, _ := t.Options()
	q.Asked = fmt.Sprintf("Does the lock of %s", t.System)
	if ttl != "" {
		q.Asked += fmt.Sprintf(" (lease %s)", ttl)
	}
	q.Asked += " keep to one holder at a time, and the counter behind it right"
	if about != "" {
		q.Asked += ", when " + strings.TrimSuffix(about, ".")
	}
	q.Asked += "?"
	return q
}

// WorldWords say where a run was done.
func WorldWords(t *Told) string {
	switch t.World {
	case "sim":
		return "in the simulation (sim): the real lock libraries in virtual time, over simulated Redis nodes"
	case "local", "remote":
		s := "on real servers of one machine (local)"
		if t.World == "remote" {
			s = "on real servers behind agents, over a network (remote)"
		}
		if m := t.Manifest; m != nil && m.Machine.Redis != "" {
			words := strings.Fields(m.Machine.Redis)
			s += ": " + strings.Join(words[:min(len(words), 3)], " ")
		}
		return s
	}
	return "on " + t.World
}

// fence says whether a guard stopped what happened without one: what the runs
// with a guard show, not what one might think of them.
func (q *Question) fence() string {
	bare := slices.IndexFunc(q.Cells, func(c *Cell) bool { return c.Guard == history.GuardNone })
	var held, broke []string
	for i, c := range q.Cells {
		if i == bare || c.Rate.Of == 0 {
			continue
		}
		stale := 0
		for _, t := range c.Runs {
			if t.Verdict != nil {
				stale += t.Verdict.Counts.Stale
			}
		}
		switch {
		case c.Mark == string(checker.Violated):
			broke = append(broke, c.Guard)
		case c.Mark == string(checker.Safe):
			held = append(held, fmt.Sprintf("%s (stale operations refused: %d)", c.Guard, stale))
		}
	}
	var parts []string
	if bare >= 0 && q.Cells[bare].Mark == string(checker.Violated) {
		if len(held) > 0 {
			parts = append(parts, "with a guard at the resource it did no damage: "+strings.Join(held, ", "))
		}
		if len(broke) > 0 {
			parts = append(parts, "it was violated in spite of the guard: "+strings.Join(broke, ", "))
		}
		if len(parts) == 0 {
			parts = append(parts, "no run had a guard at the resource, so these runs do not say whether a fence would have stopped it")
		}
	} else if len(broke) > 0 {
		parts = append(parts, "it was violated in spite of the guard: "+strings.Join(broke, ", "))
	} else if bare < 0 && len(held) > 0 {
		parts = append(parts, "the resource stayed right behind its guard: "+strings.Join(held, ", "))
	}
	return strings.Join(parts, "; ")
}
