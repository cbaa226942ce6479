// Package page renders a report as one HTML page that needs nothing else: no
// script, no font, no picture from elsewhere.
package page

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/report"
	"lockchaos/report/drawing"
	"lockchaos/results"
)

//go:embed page.tmpl compare.tmpl page.css
var files embed.FS

var tmpl = template.Must(template.New("page.tmpl").Funcs(template.FuncMap{
	"plain": plain, "time": drawing.Time, "css": func() template.CSS { return template.CSS(CSS()) }, "word": word, "took": took,
}).ParseFS(files, "page.tmpl", "compare.tmpl"))

// File is the name of the page in a directory of results.
const File = "report.html"

// mostWords is how long a text from outside may be.
const mostWords = 1000

// Write renders d. base is the directory that the page will lie in, so that it
// can link to the runs' files; "" where it lies nowhere.
func Write(w io.Writer, d *report.Digest, base string) error {
	v := &view{Digest: d, Base: base}
	v.Single = len(d.Runs) == 1
	for _, r := range d.Rows {
		for _, c := range r.Cells {
			if c != nil {
				v.Cells = append(v.Cells, v.cell(c))
			}
		}
	}
	slices.SortStableFunc(v.Cells, func(a, b *cellView) int { return control(a) - control(b) })
	for _, q := range d.Questions {
		if q.Quiet() && !v.Single && len(q.Cells) > 0 {
			v.Quiet = append(v.Quiet, q)
		}
	}
	return tmpl.Execute(w, v)
}

// control puts the controls behind what they are the controls of.
func control(c *cellView) int {
	if c.Shown.Control {
		return 1
	}
	return 0
}

type view struct {
	*report.Digest
	Base   string
	Single bool
	Cells  []*cellView
	Quiet  []*report.Question // of which there is nothing to tell
}

type cellView struct {
	*report.Cell
	Shown *runView
	Other []linked // the trials, each with its own page
}

type linked struct {
	Name, Mark, Link string
}

type runView struct {
	*report.Told
	ID       string
	Story    []piece
	Timeline template.HTML
	Latency  template.HTML
	Moments  []checker.Moment
	Margin   string
	Rest     []checker.Finding
	More     int // findings that are not shown
	Problems []string
	Links    []linked
	Facts    []fact
	Trust    []string
	Limits   []string
}

// piece is a part of a story: words, or the number of a moment.
type piece struct {
	Words string
	N     int
}

type fact struct{ Name, Value string }

// mostRest is how many findings are told under the one that is drawn.
const mostRest = 12

func (v *view) cell(c *report.Cell) *cellView {
	x := &cellView{Cell: c, Shown: v.run(c.Shown, c.ID)}
	if len(c.Runs) > 1 {
		for _, t := range c.Runs[:min(len(c.Runs), 500)] {
			x.Other = append(x.Other, linked{fmt.Sprintf("trial %d", t.Trial), t.Mark, v.link(t, File)})
		}
	}
	return x
}

func (v *view) run(t *report.Told, id string) *runView {
	r := &runView{Told: t, ID: id, Problems: report.Problems(t), Facts: facts(t), Trust: trust(t), Limits: limits(t)}
	r.Rest = t.Rest[:min(len(t.Rest), mostRest)]
	r.More = len(t.Rest) - len(r.Rest)
	r.Story = []piece{{Words: t.Story}}
	if tl := t.Timeline; tl != nil {
		r.Moments, r.Margin = tl.Moments, margin(tl)
		r.Story = number(t, tl)
		if len(tl.Hosts) > 0 && (v.Single || telling(t)) {
			r.Timeline = template.HTML(drawing.Timeline(tl, id))
			r.Latency = template.HTML(drawing.Latency(tl))
		}
	}
	for _, name := range t.Pages {
		property := strings.TrimSuffix(strings.TrimPrefix(name, "porcupine-"), ".html")
		r.Links = append(r.Links, linked{Name: "Porcupine's picture of what it finds illegal: " + property, Link: v.link(t, name)})
	}
	for _, name := range []string{results.HistoryFile, results.VerdictFile, results.ManifestFile, results.ScenarioFile} {
		r.Links = append(r.Links, linked{Name: name, Link: v.link(t, name)})
	}
	if !v.Single {
		r.Links = append(r.Links, linked{Name: "the page of this run", Link: v.link(t, File)})
	}
	r.Links = slices.DeleteFunc(r.Links, func(l linked) bool { return l.Link == "" })
	return r
}

// telling says whether a run is drawn among many others.
func telling(t *report.Told) bool {
	return t.Mark != string(checker.Safe) || !t.AsExpected || t.Story != ""
}

// link is the way from the page to a file of a run, if there is one.
func (v *view) link(t *report.Told, name string) string {
	if v.Base == "" || t.Dir == "" {
		return ""
	}
	path := filepath.Join(t.Dir, name)
	if _, err := os.Stat(path); err != nil && name != File {
		return ""
	}
	base, err1 := filepath.Abs(v.Base)
	abs, err2 := filepath.Abs(path)
	if err1 != nil || err2 != nil {
		return ""
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil {
		return ""
	}
	return "./" + filepath.ToSlash(rel)
}

var instants = regexp.MustCompile(`\b(?:at|until) (-?[0-9.]+ ms)`)

// number puts the numbers of moments behind the times in a story that are
// theirs. Of moments at one time those come first that the story itself names,
// then those of whom it speaks just before.
func number(t *report.Told, tl *checker.Timeline) []piece {
	var named []int64
	if v := t.Verdict; v != nil && tl.Finding >= 0 && tl.Finding < len(v.Findings) {
		named = v.Findings[tl.Finding].Events
	}
	find := func(at, clause string) (best int) {
		most := -1
		for _, m := range tl.Moments {
			fit := 0
			if slices.Contains(named, m.Seq) {
				fit += 2
			}
			if slices.Contains(strings.Fields(clause), m.Lane) {
				fit++
			}
			if drawing.Time(m.T) == at && fit > most {
				best, most = m.N, fit
			}
		}
		return best
	}
	var pieces []piece
	last := 0
	for _, at := range instants.FindAllStringSubmatchIndex(t.Story, -1) {
		before := breaks.Split(t.Story[:at[0]], -1)
		if n := find(t.Story[at[2]:at[3]], before[len(before)-1]); n > 0 {
			pieces = append(pieces, piece{Words: t.Story[last:at[3]]}, piece{N: n})
			last = at[3]
		}
	}
	return append(pieces, piece{Words: t.Story[last:]})
}

// breaks are where one thing that a story tells ends, and the next begins.
var breaks = regexp.MustCompile(`; |, | and |: `)

func plain(s string) string { return report.Short(s, mostWords) }

// word is plain for a name that stands in a heading or a table.
func word(s string) string { return report.Short(s, 120) }

func took(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// CSS is the style sheet of the page and of the pictures in it.
func CSS() string {
	b, err := files.ReadFile("page.css")
	if err != nil {
		panic(err) // it is in the program
	}
	return string(b) + drawing.CSS
}

// Compare renders two sets of runs side by side.
func Compare(w io.Writer, x *report.Comparison) error {
	return tmpl.ExecuteTemplate(w, "compare.tmpl", x)
}

// WriteRun renders what the page tells of one run, as a part of another page that
// has the style sheet CSS.
func WriteRun(w io.Writer, t *report.Told) error {
	v := &view{Single: true}
	return tmpl.ExecuteTemplate(w, "run", v.run(t, "run"))
}
