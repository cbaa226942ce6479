package drawing

import (
	"fmt"
	"math"
	"time"

	"lockchaos/checker"
)

// The measures of the latency picture.
const (
	latWidth = 1180.0
	latTall  = 84.0
	latGap   = 14.0
)

// Latency draws how long operations took over the whole run, a row for each
// kind, on a logarithmic scale, with the faults behind.
func Latency(t *checker.Timeline) string {
	c := &canvas{}
	high := float64(len(t.Latency))*(latTall+latGap) + 30
	c.open("svg", "xmlns", "http://www.w3.org/2000/svg", "class", "pic lat", "role", "img", "viewBox", fmt.Sprintf("0 0 %s %s", px(latWidth), px(high)),
		"width", latWidth, "height", high, "aria-label", "how long operations took")
	c.WriteString(">\n")
	left, wide := gutter, latWidth-gutter-margin
	x := func(d time.Duration) float64 {
		return left + wide*float64(min(max(d, 0), t.End))/float64(max(t.End, 1))
	}
	for i, l := range t.Latency {
		c.row(t, l, 4+float64(i)*(latTall+latGap), x)
	}
	step := nice(float64(t.End) / 9)
	for d := time.Duration(0); d <= t.End; d += step {
		c.text(x(d), high-10, "mute mid", Time(d))
	}
	c.WriteString("</svg>\n")
	return c.String()
}

func (c *canvas) row(t *checker.Timeline, l checker.Latency, y float64, x func(time.Duration) float64) {
	least := l.Max
	for _, b := range l.Bars {
		least = min(least, b.Median)
	}
	lo := math.Floor(math.Log10(float64(max(least, 1))))
	hi := max(math.Ceil(math.Log10(float64(max(l.Max, 1)))), lo+1)
	up := func(d time.Duration) float64 {
		share := (math.Log10(float64(max(d, 1))) - lo) / (hi - lo)
		return y + latTall - (latTall-6)*min(max(share, 0.02), 1)
	}
	from, to := x(0), x(t.End)
	c.tag("rect", "x", from-4, "y", y, "width", to-from+8, "height", latTall, "rx", 4.0, "class", "lane")
	for _, f := range t.Faults[:min(len(t.Faults), 60)] {
		c.tag("rect", "x", x(f.From), "y", y, "width", max(x(f.To)-x(f.From), 1.6), "height", latTall, "class", "band")
	}
	every := math.Ceil((hi - lo) / 3)
	for e := lo; e <= hi; e += every {
		at := up(time.Duration(math.Pow(10, e)))
		c.tag("path", "d", fmt.Sprintf("M%s %sH%s", px(from), px(at), px(to)), "class", "rule")
		c.text(from-8, at+4, "mute end", Time(time.Duration(math.Pow(10, e))))
	}
	for _, b := range l.Bars {
		w := max(x(b.To)-x(b.From)-1, 1)
		title := fmt.Sprintf("%s, %s to %s: %d, median %s, longest %s", l.Name, Time(b.From), Time(b.To), b.N, Time(b.Median), Time(b.Max))
		c.titled(title, "rect", "x", x(b.From), "y", up(b.Max), "width", w, "height", y+latTall-up(b.Max), "class", "bar")
		c.tag("rect", "x", x(b.From), "y", up(b.Median), "width", w, "height", y+latTall-up(b.Median), "class", "bar2")
	}
	c.text(from+2, y+14, "halo", l.Name)
}
