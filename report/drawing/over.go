package drawing

import (
	"fmt"
	"slices"
	"strings"

	"lockchaos/checker"
)

// What lies across the lanes: fault bands, and the numbers of moments.

// placeFaults gives the label of each fault a row in which it covers no other.
func (p *picture) placeFaults() {
	var ends [mostFaults]float64
	p.rows = make([]int, len(p.t.Faults))
	for i, f := range p.t.Faults {
		p.rows[i] = -1
		x, _, ok := p.box(f.Stretch)
		if !ok {
			continue
		}
		for row := range ends {
			if ends[row] <= x {
				p.rows[i], ends[row] = row, x+textWidth(faultLabel(f))+12
				break
			}
		}
	}
}

func faultLabel(f checker.Strike) string {
	label := f.Name + " " + targets(f.Targets)
	if !f.Proved {
		label += " (not seen to work)"
	}
	if r := []rune(label); len(r) > mostLetters {
		label = string(r[:mostLetters-1]) + "…"
	}
	return label
}

// targets names targets; of links from each of some hosts to each of some
// nodes, the hosts and the nodes.
func targets(all []string) string {
	var near, far []string
	for _, t := range all {
		a, b, link := strings.Cut(t, ">")
		if !link {
			return strings.Join(all, ", ")
		}
		if !slices.Contains(near, a) {
			near = append(near, a)
		}
		if !slices.Contains(far, b) {
			far = append(far, b)
		}
	}
	if len(near)*len(far) != len(all) || len(all) == 0 {
		return strings.Join(all, ", ")
	}
	return strings.Join(near, ", ") + " > " + strings.Join(far, ", ")
}

func (p *picture) bands() {
	for i, f := range p.t.Faults {
		x, w, ok := p.box(f.Stretch)
		if !ok {
			continue
		}
		title := faultLabel(f) + ", " + Time(f.From) + " to " + Time(f.To) + "; " + strings.Join(f.Proof, "; ")
		p.titled(title, "rect", "x", x, "y", p.top, "width", w, "height", p.bottom-p.top, "class", "band")
		for _, edge := range []float64{x, x + w} {
			p.tag("path", "d", fmt.Sprintf("M%s %sV%s", px(edge), px(p.top), px(p.bottom)), "class", "bandedge")
		}
		if p.rows[i] >= 0 {
			label := faultLabel(f)
			x = max(min(x, width-margin-textWidth(label)), gutter)
			p.text(x, p.top-5-faultRow*float64(p.rows[i]), "faultname", label)
		}
	}
}

// doing is what a fault does to the lane that it strikes.
var doing = map[string]string{
	"pause-host": "stopped", "pause-node": "stopped", "kill-host": "killed", "crash-node": "down",
	"restart-node": "restarted", "power-loss": "power lost",
}

// struck hatches the lanes that faults strike.
func (p *picture) struck() {
	for _, f := range p.t.Faults {
		x, w, ok := p.box(f.Stretch)
		if !ok {
			continue
		}
		for _, l := range p.lanes {
			if !slices.Contains(f.Targets, l.name) {
				continue
			}
			words := doing[f.Name]
			if words == "" {
				words = f.Name
			}
			p.titled(l.name+" "+words+"; "+strings.Join(f.Proof, "; "), "rect", "x", x, "y", l.y, "width", w, "height", l.h, "fill", "url(#"+p.id+"-hatch)")
			p.fits(x, w, l.y+l.h-4, "halo", words)
		}
	}
}

// badge is a number and where it stands.
type badge struct {
	m     checker.Moment
	x, at float64
	lane  lane
}

// moments draws the numbers, each above its lane, moved aside where they would
// cover one another.
func (p *picture) moments() {
	const apart = 21.0
	byLane := map[string][]*badge{}
	var order []string
	for _, m := range p.t.Moments {
		if m.T < p.t.From || m.T > p.t.To {
			continue
		}
		i := slices.IndexFunc(p.lanes, func(l lane) bool { return l.name == m.Lane })
		if i < 0 {
			continue
		}
		x := p.s.at(m.T)
		if byLane[m.Lane] == nil {
			order = append(order, m.Lane)
		}
		byLane[m.Lane] = append(byLane[m.Lane], &badge{m, x, x, p.lanes[i]})
		p.tag("path", "d", fmt.Sprintf("M%s %sV%s", px(x), px(p.top), px(p.bottom)), "class", "moment")
	}
	for _, name := range order {
		all := byLane[name]
		spread(all, apart)
		for _, b := range all {
			y := b.lane.y - 11
			p.tag("path", "d", fmt.Sprintf("M%s %sL%s %sV%s", px(b.x), px(y+8), px(b.at), px(b.lane.y), px(b.lane.y+10)), "class", "stem")
			p.titled(fmt.Sprintf("%d: %s, %s", b.m.N, b.m.Words, Time(b.m.T)), "circle", "cx", b.x, "cy", y, "r", 9.0, "class", "badge")
			p.text(b.x, y+4, "badgeno", fmt.Sprint(b.m.N))
		}
	}
}

// spread moves badges, which are in order, until none covers another: each
// group that is too dense is spread evenly about its middle.
func spread(all []*badge, apart float64) {
	for range len(all) {
		moved := false
		for i := 1; i < len(all); i++ {
			if short := apart - (all[i].x - all[i-1].x); short > 0.01 {
				all[i].x += short / 2
				all[i-1].x -= short / 2
				moved = true
			}
		}
		if !moved {
			break
		}
	}
	for i, b := range all { // what is left over goes to the right
		if i > 0 {
			b.x = max(b.x, all[i-1].x+apart)
		}
	}
	if n := len(all); n > 0 {
		for i := n - 1; i >= 0; i-- {
			limit := width - margin/2 - apart*float64(n-1-i)
			all[i].x = min(all[i].x, limit)
		}
	}
}
