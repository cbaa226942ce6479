// Package serve is a local web page over saved runs, and a playground for the
// simulation. It only reads, and judges nothing: what it shows of a run is the
// page that chaos report makes. All but dragging works without script.
package serve

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"lockchaos/internal/secret"
	"lockchaos/report"
	"lockchaos/report/page"
	"lockchaos/results"
	"lockchaos/serve/play"
)

//go:embed web
var files embed.FS

var tmpl = template.Must(template.New("").Funcs(template.FuncMap{
	"plain": plain, "word": word, "when": when, "field": newField,
}).ParseFS(files, "web/*.tmpl"))

// The lengths to which what comes from outside is cut.
func plain(s string) string { return report.Short(s, 1000) }
func word(s string) string  { return report.Short(s, 80) }

func when(t time.Time) string { return t.Format("2006-01-02 15:04:05") }

// field is a number of a form.
type field struct {
	Name string
	play.Limit
	Value int
}

func newField(name string, value int) field { return field{name, play.Limits[name], value} }

// Simulator runs a task of the playground.
type Simulator interface {
	Run(ctx context.Context, t play.Task) (*play.Answer, error)
}

// Options are what a server is told.
type Options struct {
	// Root is the directory of the results. It need not be there yet.
	Root string
	// Hosts are the names by which the server may be called, beside addresses and
	// localhost.
	Hosts []string
	// Public allows calls by other addresses than those of loopback.
	Public bool
	// Token, where there is one, must be given by every caller: a browser asks its
	// reader for it as a password, with any name.
	Token secret.Token
	// Simulator runs the playground.
	Simulator Simulator
	// Machine is what the playground says that it ran on.
	Machine results.Machine
}

// server answers all calls.
type server struct {
	Options
	mu    sync.Mutex
	cache map[string]cached // by batch
}

// New makes the handler of all pages.
func New(o Options) http.Handler {
	s := &server{Options: o, cache: map[string]cached{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.index)
	mux.HandleFunc("GET /trend", s.trend)
	mux.HandleFunc("GET /runs/{path...}", s.runs)
	mux.HandleFunc("GET /playground", s.playground)
	mux.HandleFunc("GET /playground/result", s.result)
	mux.HandleFunc("GET /playground/"+play.File, s.scenario)
	mux.HandleFunc("GET /static/style.css", style)
	mux.HandleFunc("GET /static/playground.js", script)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return s.guarded(mux)
}

// open opens the directory of the results. Nothing outside it can be reached by
// what it returns.
func (s *server) open() (*os.Root, error) { return os.OpenRoot(s.Root) }

func style(w http.ResponseWriter, _ *http.Request) {
	b, err := files.ReadFile("web/style.css")
	if err != nil {
		panic(err) // it is in the program
	}
	w.Header().Set("Content-Type", "text/css; charset=utf-8")
	fmt.Fprint(w, page.CSS(), string(b))
}

func script(w http.ResponseWriter, _ *http.Request) {
	b, err := files.ReadFile("web/playground.js")
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	_, _ = w.Write(b)
}

// show renders a template, whole or not at all.
func show(w http.ResponseWriter, code int, name string, data any) {
	var b bytes.Buffer
	if err := tmpl.ExecuteTemplate(&b, name, data); err != nil {
		http.Error(w, "render: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write(b.Bytes()) // a reader who is gone needs no error
}

// refuse shows an error as a page.
func refuse(w http.ResponseWriter, code int, err error) {
	show(w, code, "error.tmpl", map[string]string{"Title": http.StatusText(code), "Words": err.Error()})
}

// errNothing is shown where there is no such run, or where it may not be looked at.
var errNothing = errors.New("there is nothing of this name among the results")

// absent tells whether an error is that something is not there.
func absent(err error) bool { return errors.Is(err, fs.ErrNotExist) }
