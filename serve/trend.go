package serve

import (
	"cmp"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// tally counts runs. All of them are in Expected, Unexpected, Inconclusive or Failed.
type tally struct {
	Total, Expected, Unexpected, Inconclusive, Failed int
	Violated                                          int // expected or not
}

func count(runs []run) tally {
	t := tally{Total: len(runs)}
	for _, r := range runs {
		if r.Mark == "violated" {
			t.Violated++
		}
		switch {
		case r.Mark == "error":
			t.Failed++
		case !r.Unexpected:
			t.Expected++
		case r.Mark == "inconclusive":
			t.Inconclusive++
		default:
			t.Unexpected++
		}
	}
	return t
}

// series is a suite in one world: what two worlds show is not one thing.
type series struct{ Suite, World string }

type trendPage struct {
	series
	Title   string
	All     []series
	Points  []point // the newest first
	Picture template.HTML
	Left    int // older batches that are not shown
}

type point struct {
	*batch
	Tally tally
	Link  string
}

// mostPoints is how many batches a trend shows.
const mostPoints = 60

// trend shows what came of a suite over time.
func (s *server) trend(w http.ResponseWriter, r *http.Request) {
	p := &trendPage{Title: "Trend"}
	var names []string
	root, err := s.open()
	if err == nil {
		defer root.Close()
		names, err = s.names(root)
	}
	if err != nil && !absent(err) {
		refuse(w, http.StatusInternalServerError, fmt.Errorf("the directory of the results cannot be read"))
		return
	}
	by := map[series][]*batch{}
	var newest *series
	for _, name := range names[:min(len(names), mostLooked)] {
		b := s.load(root, name)
		if b.Suite == "" || len(b.Runs) == 0 || b.Shard != "" { // a part of a suite is not what others are
			continue
		}
		k := series{b.Suite, b.World}
		if newest == nil {
			newest = &k
		}
		by[k] = append(by[k], b)
	}
	for k := range by {
		p.All = append(p.All, k)
	}
	slices.SortFunc(p.All, func(a, b series) int {
		return cmp.Or(cmp.Compare(a.Suite, b.Suite), cmp.Compare(a.World, b.World))
	})
	q := r.URL.Query()
	p.series = series{q.Get("suite"), q.Get("world")}
	if p.series == (series{}) && newest != nil {
		p.series = *newest
	}
	of := by[p.series]
	p.Left = max(0, len(of)-mostPoints)
	for _, b := range of[:len(of)-p.Left] {
		p.Points = append(p.Points, point{b, count(b.Runs), "/runs/" + b.Name + "/"})
	}
	p.Picture = template.HTML(bars(p.Points))
	show(w, http.StatusOK, "trend.tmpl", p)
}

// The measures of the picture of a trend.
const (
	trendWide = 1000.0
	trendTall = 180.0
	mostBar   = 40.0
)

// bars draws one bar a batch, the oldest first: the shares of its runs, and across
// them a line for the share that was violated, expected or not.
func bars(points []point) string {
	if len(points) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="trend" role="img" viewBox="0 0 %.0f %.0f" aria-label="shares of runs by batch">`, trendWide, trendTall)
	step := min(mostBar, trendWide/float64(len(points)))
	var line []string
	for i := range points {
		p := points[len(points)-1-i]
		x, y := float64(i)*step, trendTall
		fmt.Fprintf(&b, "<a href=\"%s\"><g><title>%s</title>", template.HTMLEscapeString(p.Link), template.HTMLEscapeString(p.words()))
		for _, s := range []struct {
			class string
			n     int
		}{{"expected", p.Tally.Expected}, {"unexpected", p.Tally.Unexpected}, {"inconclusive", p.Tally.Inconclusive}, {"failed", p.Tally.Failed}} {
			h := trendTall * float64(s.n) / float64(p.Tally.Total)
			if s.n > 0 {
				y -= h
				fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="%.2f" width="%.2f" height="%.2f"/>`, s.class, x+step*0.1, y, step*0.8, h)
			}
		}
		b.WriteString("</g></a>")
		line = append(line, fmt.Sprintf("%.2f,%.2f", x+step/2, trendTall*(1-float64(p.Tally.Violated)/float64(p.Tally.Total))))
	}
	fmt.Fprintf(&b, `<polyline class="violations" points="%s"/>`, strings.Join(line, " "))
	b.WriteString("</svg>")
	return b.String()
}

func (p point) words() string {
	t := p.Tally
	return fmt.Sprintf("%s: %d runs, %d as expected, %d not as expected, %d inconclusive, %d failed; %d violated in all",
		when(p.When), t.Total, t.Expected, t.Unexpected, t.Inconclusive, t.Failed, t.Violated)
}
