package drawing

import (
	"fmt"
	"slices"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
	"lockchaos/report"
)

// The measures of a timeline.
const (
	width     = 1180.0
	gutter    = 96.0 // for the names of lanes
	margin    = 18.0
	strip     = 24.0 // above each lane, for the numbers
	hostTall  = 52.0
	nodeTall  = 40.0
	storeTall = 58.0
	between   = 6.0
	axisTall  = 40.0
	faultRow  = 17.0
)

// The most lanes and rows that are drawn.
const (
	mostHosts  = 10
	mostNodes  = 9
	mostFaults = 5
)

type kind int

const (
	hostLane kind = iota
	nodeLane
	storeLane
)

type lane struct {
	name string
	kind kind
	y, h float64 // without the strip above it
}

// picture is a timeline that is being drawn.
type picture struct {
	canvas
	t      *checker.Timeline
	id     string
	s      *scale
	lanes  []lane
	colour map[string]string // of a host
	rows   []int             // row of the label of each fault; -1: none
	top    float64
	bottom float64
}

// Timeline draws t. id makes the names in it unique on a page.
func Timeline(t *checker.Timeline, id string) string {
	p := &picture{t: t, id: id, s: newScale(t, gutter, width-gutter-margin), colour: map[string]string{}}
	for i, h := range t.Hosts {
		p.colour[h] = fmt.Sprintf("h%d", i%8)
	}
	p.layout()
	p.begin()
	p.backs()
	p.bands()
	p.axis()
	for i := range p.lanes {
		switch l := &p.lanes[i]; l.kind {
		case hostLane:
			p.host(l)
		case nodeLane:
			p.node(l)
			p.clock(l)
		case storeLane:
			p.store(l)
		}
	}
	p.struck()
	p.moments()
	p.WriteString("</svg>\n")
	return p.String()
}

// layout gives each lane its place.
func (p *picture) layout() {
	p.placeFaults()
	p.top = 8 + faultRow*float64(1+slices.Max(append(p.rows, -1)))
	y := p.top
	add := func(name string, k kind, tall float64) {
		p.lanes = append(p.lanes, lane{name, k, y + strip, tall})
		y += strip + tall + between
	}
	for _, h := range first(p.t.Hosts, mostHosts, p.told) {
		add(h, hostLane, hostTall)
	}
	for _, n := range first(p.t.Nodes, mostNodes, p.told) {
		y -= strip - 4 // few moments are at nodes
		add(n, nodeLane, nodeTall)
	}
	add(checker.LaneResource, storeLane, storeTall)
	p.bottom = y
}

func (p *picture) told(lane string) bool {
	return slices.ContainsFunc(p.t.Moments, func(m checker.Moment) bool { return m.Lane == lane })
}

// first takes as many names as there is room for, those that are told of first.
func first(names []string, most int, told func(string) bool) []string {
	if len(names) <= most {
		return names
	}
	var some []string
	for _, n := range names {
		if told(n) && len(some) < most {
			some = append(some, n)
		}
	}
	for _, n := range names {
		if !told(n) && len(some) < most {
			some = append(some, n)
		}
	}
	slices.SortFunc(some, func(a, b string) int { return slices.Index(names, a) - slices.Index(names, b) })
	return some
}

func (p *picture) begin() {
	h := p.bottom + axisTall
	p.open("svg", "xmlns", "http://www.w3.org/2000/svg", "class", "pic", "role", "img", "viewBox", fmt.Sprintf("0 0 %s %s", px(width), px(h)),
		"width", width, "height", h, "aria-label", report.Short("timeline: "+p.t.Why, 200))
	p.WriteString(">\n")
	fmt.Fprintf(p, `<defs><pattern id="%s-hatch" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V7" class="hatchline"/></pattern></defs>`+"\n", p.id)
}

// backs draws the lanes and their names.
func (p *picture) backs() {
	for _, l := range p.lanes {
		p.tag("rect", "x", gutter-6, "y", l.y-2, "width", width-gutter-margin+12, "height", l.h+4, "rx", 4.0, "class", "lane")
		class := "name end"
		if c := p.colour[l.name]; l.kind == hostLane {
			class += " host " + c
		}
		name := report.Short(l.name, 11)
		switch l.kind {
		case hostLane:
			p.text(gutter-44, l.y+19, class, name)
			p.text(gutter-12, l.y+14, "mute end", "belief")
			p.text(gutter-12, l.y+30, "mute end", "lease")
			p.text(gutter-12, l.y+47, "mute end", "asks")
		case nodeLane:
			p.text(gutter-44, l.y+24, class, name)
			p.text(gutter-12, l.y+24, "mute end", "holds")
		default:
			p.text(gutter-12, l.y+22, class, name)
			p.text(gutter-12, l.y+41, "mute end", "token")
			p.text(gutter-12, l.y+53, "mute end", "value")
		}
	}
}

// axis draws the scale of time, and marks where it is shortened.
func (p *picture) axis() {
	y := p.bottom
	for _, part := range p.s.parts {
		if !part.short {
			p.tag("path", "d", "M"+px(part.x)+" "+px(y)+"H"+px(part.x+part.w), "class", "rule")
			continue
		}
		p.tag("rect", "x", part.x, "y", p.top, "width", part.w, "height", y-p.top, "class", "gap")
		for _, x := range []float64{part.x, part.x + part.w} {
			p.tag("path", "d", "M"+px(x)+" "+px(p.top)+"V"+px(y+8), "class", "zig")
		}
		p.text(part.x+part.w/2, y+4, "mute mid", "⋯ "+Time(part.to-part.from)+" ⋯")
	}
	for _, d := range p.s.ticks(76) {
		x := p.s.at(d)
		p.tag("path", "d", "M"+px(x)+" "+px(y)+"v6", "class", "rule")
		p.text(x, y+19, "mute mid", Time(d))
	}
}

// box gives the place of a stretch of time, if it is in the window.
func (p *picture) box(s checker.Stretch) (x, w float64, ok bool) {
	if s.To < p.t.From || s.From > p.t.To {
		return 0, 0, false
	}
	x = p.s.at(s.From)
	return x, max(p.s.at(s.To)-x, 1.6), true
}

func (p *picture) host(l *lane) {
	c := p.colour[l.name]
	for _, g := range p.t.Grants {
		if g.Host != l.name {
			continue
		}
		label := "holds"
		if g.Token > 0 {
			label = fmt.Sprintf("token %d", g.Token)
		}
		p.bars(g.Belief, l.y+3, 15, c+" belief", g.Host+" believes that it holds the lock", label, "on")
		p.bars(g.Promise, l.y+22, 10, c+" promise", "the lock is promised to "+g.Host, "", "")
	}
	p.asks(l)
	for _, x := range p.t.Exits {
		if x.Host == l.name {
			at := p.s.at(x.At)
			p.titled(x.Host+" ended at "+Time(x.At), "rect", "x", at, "y", l.y, "width", width-margin-at, "height", l.h, "class", "gone")
		}
	}
}

func (p *picture) bars(all []checker.Stretch, y, h float64, class, title, label, labelClass string) {
	for _, s := range all {
		x, w, ok := p.box(s)
		if !ok {
			continue
		}
		p.titled(fmt.Sprintf("%s, %s to %s", title, Time(s.From), Time(s.To)), "rect", "x", x, "y", y, "width", w, "height", h, "rx", 2.0, "class", class)
		if label != "" {
			p.fits(x, w, y+h-4, labelClass, label)
		}
	}
}

// asks draws what a host asked of the lock service: refused tries as ticks, and
// grants, extends and releases by their answers.
func (p *picture) asks(l *lane) {
	last := -10.0
	for _, a := range p.t.Asked {
		if a.Host != l.name {
			continue
		}
		x := p.s.at(p.clip(a.To))
		title := fmt.Sprintf("%s %s: %s, %s to %s", a.Host, a.Do, a.Result, Time(a.From), Time(a.To))
		switch {
		case a.Do == history.Acquire && a.Result != history.OK:
			if x-last < 2.5 { // one tick stands for all that would be drawn over it
				continue
			}
			last = x
			p.titled(title, "path", "d", fmt.Sprintf("M%s %sv8", px(x), px(l.y+40)), "class", "ask")
		case a.Do == history.Acquire:
			p.titled(title, "path", "d", fmt.Sprintf("M%s %sv12m0 -12l6 4l-6 4", px(x), px(l.y+38)), "class", "edge "+p.colour[l.name], "fill", "currentColor")
		case a.Do == history.Extend:
			p.titled(title, "path", "d", fmt.Sprintf("M%s %sl4 5l-4 5l-4 -5z", px(x), px(l.y+39)), "class", "promise "+p.colour[l.name])
		default:
			x = p.s.at(p.clip(a.From))
			p.titled(title, "path", "d", fmt.Sprintf("M%s %sv12m0 -12l-6 4l6 4", px(x), px(l.y+38)), "class", "edge "+p.colour[l.name], "fill", "none")
		}
	}
}

// store draws what reached the resource: at the latest instant at which it can
// have had its effect, which keeps the order of effect.
func (p *picture) store(l *lane) {
	y := l.y + 18
	last := -100.0
	for _, e := range p.t.Effects {
		if e.To > p.t.To || e.To < p.t.From {
			continue
		}
		x, c := p.s.at(e.To), p.colour[e.Host]
		title := effectWords(e)
		if from := p.s.at(e.From); x-from > 3 {
			p.tag("path", "d", fmt.Sprintf("M%s %sH%s", px(from), px(y), px(x)), "class", "way "+c)
		}
		switch {
		case !e.OK:
			p.titled(title, "circle", "cx", x, "cy", y, "r", 7.0, "class", "no")
			p.tag("path", "d", fmt.Sprintf("M%s %sl7 7m0 -7l-7 7", px(x-3.5), px(y-3.5)), "class", "cross")
		case e.Do == history.Write:
			p.titled(title, "circle", "cx", x, "cy", y, "r", 6.5, "class", "stored "+c)
			if e.Stale {
				p.tag("circle", "cx", x, "cy", y, "r", 9.5, "class", "harm")
			}
		default:
			p.titled(title, "circle", "cx", x, "cy", y, "r", 3.5, "class", "read "+c)
			continue
		}
		if told := slices.ContainsFunc(p.t.Moments, func(m checker.Moment) bool { return m.Op == e.Op }); x-last > 30 || told && x-last > 16 {
			last = x
			if e.Token > 0 {
				p.text(x, y+23, "mute mid", fmt.Sprintf("t%d", e.Token))
			}
			if e.OK {
				p.text(x, y+35, "mute mid", fmt.Sprintf("=%d", e.Value))
			} else {
				p.text(x, y+35, "mute mid", "refused")
			}
		}
	}
}

func effectWords(e checker.Effect) string {
	s := fmt.Sprintf("%s: %s of %d", e.Host, e.Do, e.Value)
	if e.Token > 0 {
		s += fmt.Sprintf(" with token %d", e.Token)
	}
	switch {
	case !e.OK:
		s += ", refused"
	case e.Do == history.Write:
		s += fmt.Sprintf(", accepted over %d", e.Before)
	}
	if e.Stale {
		s += "; its grant was superseded"
	}
	return s + fmt.Sprintf(", sent at %s, in effect by %s", Time(e.From), Time(e.To))
}

// clip keeps an instant within the window.
func (p *picture) clip(d time.Duration) time.Duration { return min(max(d, p.t.From), p.t.To) }
