package serve

import (
	"net/http"
	"net/url"
	"slices"
)

// The most batches and runs on one page, and the most batches that are looked
// through for it.
const (
	mostBatches = 30
	mostListed  = 400
	mostLooked  = 5000
	mostOffered = 200 // in each list to choose from
)

// filter is which runs are asked for; "" is all.
type filter struct{ Lock, Fault, Outcome, Suite string }

func (f filter) any() bool { return f != filter{} }

func (f filter) takes(r run) bool {
	return (f.Lock == "" || r.System == f.Lock) &&
		(f.Fault == "" || slices.Contains(r.Faults, f.Fault)) &&
		(f.Outcome == "" || r.Mark == f.Outcome || f.Outcome == unexpected && r.Unexpected)
}

// unexpected is the outcome of whatever is not as expected.
const unexpected = "unexpected"

var asked = append(slices.Clone(outcomes), "error", unexpected)

// listed is a batch in the list.
type listed struct {
	*batch
	Tally tally
	Shown []run // those that the filter takes
	More  int   // that it takes, and for which there was no room
}

type indexPage struct {
	filter
	Title                          string
	Filtered                       bool
	Locks, Faults, Outcomes, Names []string // to choose from
	Batches                        []listed
	Problem                        string
	Older                          string // where the list goes on
	Total                          int    // batches that there are
}

// index lists the newest runs.
func (s *server) index(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	p := &indexPage{Title: "Runs", filter: filter{q.Get("lock"), q.Get("fault"), q.Get("outcome"), q.Get("suite")}, Outcomes: asked}
	p.Filtered = p.any()
	root, err := s.open()
	if err != nil {
		p.Problem = "No runs here yet: chaos run makes some."
		if !absent(err) {
			p.Problem = "The directory of the results cannot be read."
		}
		show(w, http.StatusOK, "index.tmpl", p)
		return
	}
	defer root.Close()
	names, err := s.names(root)
	if err != nil {
		p.Problem = "The directory of the results cannot be read."
	}
	p.Total = len(names)
	if from := q.Get("from"); from != "" {
		names = slices.DeleteFunc(names, func(n string) bool { return n > from })
	}
	p.fill(names[:min(len(names), mostLooked)], func(name string) *batch { return s.load(root, name) })
	if p.Older != "" {
		q.Set("from", p.Older)
		p.Older = "/?" + q.Encode()
	}
	show(w, http.StatusOK, "index.tmpl", p)
}

// fill takes in batches until the page is full.
func (p *indexPage) fill(names []string, load func(string) *batch) {
	room := mostListed
	for _, name := range names {
		if len(p.Batches) == mostBatches {
			p.Older = name
			break
		}
		b := load(name)
		p.offer(b)
		if p.Suite != "" && b.Suite != p.Suite {
			continue
		}
		l := listed{batch: b, Tally: count(b.Runs)}
		for _, r := range b.Runs {
			switch {
			case !p.takes(r):
			case room == 0:
				l.More++
			default:
				room--
				l.Shown = append(l.Shown, r)
			}
		}
		if len(l.Shown)+l.More > 0 || !p.Filtered {
			p.Batches = append(p.Batches, l)
		}
	}
}

// offer adds what a batch has to what can be chosen.
func (p *indexPage) offer(b *batch) {
	add := func(list *[]string, s string) {
		if s == "" || s != word(s) || len(*list) == mostOffered { // what is hostile is shown, and not offered
			return
		}
		if i, ok := slices.BinarySearch(*list, s); !ok {
			*list = slices.Insert(*list, i, s)
		}
	}
	add(&p.Names, b.Suite)
	for _, r := range b.Runs {
		add(&p.Locks, r.System)
		for _, f := range r.Faults {
			add(&p.Faults, f)
		}
	}
}

// TrendOf is the way to the trend of a suite.
func (p *indexPage) TrendOf(suite, world string) string {
	return "/trend?" + url.Values{"suite": {suite}, "world": {world}}.Encode()
}
