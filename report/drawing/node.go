package drawing

import (
	"fmt"
	"strconv"
	"strings"

	"lockchaos/checker"
)

// node draws whose key the node holds: the height is what is left of its TTL.
func (p *picture) node(l *lane) {
	high, base := l.h-8, l.y+l.h-2
	for _, k := range p.t.Keys {
		if k.Node != l.name {
			continue
		}
		x, w, ok := p.box(k.Stretch)
		if !ok {
			continue
		}
		var d strings.Builder
		fmt.Fprintf(&d, "M%s %s", px(x), px(base))
		for i, full := range k.Full {
			end := k.To
			if i+1 < len(k.Full) {
				end = k.Full[i+1]
			}
			for _, at := range p.s.knots(p.clip(full), p.clip(end)) {
				left := 1 - float64(at-full)/float64(max(p.t.TTL, 1))
				fmt.Fprintf(&d, "L%s %s", px(p.s.at(at)), px(base-high*min(max(left, 0), 1)))
			}
		}
		fmt.Fprintf(&d, "L%s %sZ", px(x+w), px(base))
		c := p.colour[k.Host]
		p.titled(fmt.Sprintf("%s holds the key of %s from %s to %s; %s", k.Node, k.Host, Time(k.From), Time(k.To), ended(k)), "path", "d", d.String(), "class", "left "+c)
		if textWidth(k.Host) < w-8 {
			p.text(x+4, base-4, "host "+c, k.Host)
		}
		if k.Ended == checker.KeyUnknown {
			p.text(x+w+3, base-4, "host "+c, "?")
		}
	}
}

// clock draws how far the node's clock is off.
func (p *picture) clock(l *lane) {
	last := gutter
	for _, c := range p.t.Clocks {
		x, w, ok := p.box(c.Stretch)
		if c.Node != l.name || !ok {
			continue
		}
		words := clockWords(c)
		p.titled(fmt.Sprintf("the clock of %s from %s: %s", c.Node, Time(c.From), words), "rect", "x", x, "y", l.y-2, "width", w, "height", 3.0, "class", "clock")
		words = "clock " + words
		if x = max(min(x+3, width-margin-textWidth(words)), gutter); x >= last { // or it would cover the one before it
			p.text(x, l.y+12, "halo clockname", words)
			last = x + textWidth(words)
		}
	}
}

// clockWords tell how far a clock is off, and how it runs.
func clockWords(c checker.Clock) string {
	s := ""
	if c.Offset != 0 || c.Rate == 0 {
		s = Time(c.Offset)
		if c.Offset > 0 {
			s = "+" + s
		}
	}
	if c.Rate != 0 {
		s = strings.TrimSpace(s + " ×" + strconv.FormatFloat(c.Rate, 'g', 4, 64))
	}
	return s
}

func ended(k checker.Key) string {
	switch k.Ended {
	case checker.KeyTaken:
		return "another got it before its time was over"
	case checker.KeyUnknown:
		return "a fault struck, and nobody saw what the node still had"
	case "":
		return "held until the end of the run"
	}
	return k.Ended
}
