package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"lockchaos/checker"
	"lockchaos/report"
	"lockchaos/report/page"
	"lockchaos/results"
	"lockchaos/scenario"
	"lockchaos/serve/play"
)

// playPage is the playground with what came of a choice.
type playPage struct {
	play.Choice
	Title                        string
	Systems, Guards, Disciplines []string
	Ways                         []string
	Examples                     []example
	Outcome                      outcome
}

type example struct{ Name, Link string }

// outcome is what came of a choice. Problem says why nothing did.
type outcome struct {
	Problem  string
	Mark     string
	Headline string
	Run      template.HTML
	YAML     string
	Command  string
	Link     string // to the scenario file
	Took     string // of the simulation
	End      int64  // of the run, in milliseconds
}

// played is a choice that has been run.
type played struct {
	scenario *scenario.Scenario // that expects what came out
	answer   *play.Answer
	took     time.Duration
}

// play runs a choice.
func (s *server) play(ctx context.Context, c play.Choice) (*played, error) {
	text, err := c.Scenario(nil)
	if err != nil {
		return nil, choiceError(err)
	}
	start := time.Now()
	a, err := s.Simulator.Run(ctx, play.Task{Scenario: text, Guard: c.Guard, Seed: int64(c.Seed)})
	if err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	p := &played{answer: a, took: time.Since(start)}
	if text, err = c.Scenario(a.Verdict); err != nil {
		return nil, err
	}
	p.scenario, err = scenario.Parse(text, play.File)
	return p, err
}

// choiceError leaves out the excerpt of a file that nobody has written.
func choiceError(err error) error {
	var e *scenario.Error
	if errors.As(err, &e) {
		return errors.New(e.Message)
	}
	return err
}

// told makes of what came out what a report tells of a saved run.
func (s *server) told(c play.Choice, p *played) (*report.Told, error) {
	options, err := p.scenario.JSON()
	if err != nil {
		return nil, err
	}
	k := results.Key{Scenario: p.scenario.Name, Guard: c.Guard, Trial: 1}
	now := time.Now()
	m := &results.Manifest{
		Version: results.ManifestVersion, Run: "not saved", Key: k, World: scenario.Simulation, Seed: int64(c.Seed),
		Started: now.Add(-p.took), Ended: &now, Repeat: c.Command(), System: c.Lock, Options: options,
		Expect: p.scenario.Expected(c.Guard, false), Machine: s.Machine,
	}
	a := &results.Assessment{Key: k, World: m.World, System: c.Lock, Repeat: m.Repeat, AsExpected: true, Verdict: p.answer.Verdict}
	return report.NewDigest([]*results.Saved{{Assessment: a, Manifest: m, Timeline: p.answer.Timeline}}).Runs[0], nil
}

// outcome runs a choice, and tells what came out. The code is that of an answer
// that is nothing but this.
func (s *server) outcome(ctx context.Context, c play.Choice) (o outcome, code int) {
	p, err := s.play(ctx, c)
	var t *report.Told
	if err == nil {
		t, err = s.told(c, p)
	}
	if err != nil {
		return outcome{Problem: err.Error()}, codeOf(err)
	}
	var b bytes.Buffer
	if err := page.WriteRun(&b, t); err != nil {
		return outcome{Problem: err.Error()}, http.StatusInternalServerError
	}
	return outcome{
		Mark: t.Mark, Headline: headline(t, p.answer.Verdict), Run: template.HTML(b.String()), YAML: string(p.scenario.Source),
		Command: c.Command(), Link: "/playground/" + play.File + "?" + c.Query(), Took: fmt.Sprintf("%d ms", p.took.Milliseconds()),
		End: p.answer.Timeline.End.Milliseconds(),
	}, http.StatusOK
}

// headline says in one line what came out.
func headline(t *report.Told, v *checker.Verdict) string {
	switch {
	case v.Outcome == checker.Violated:
		return "violated, broken by: " + t.Blame
	case v.Outcome == checker.Safe && v.Lock == checker.Violated:
		return fmt.Sprintf("safe: the lock failed, and the guard at the resource held (stale operations refused: %d)", v.Counts.Stale)
	}
	return string(v.Outcome)
}

func codeOf(err error) int {
	switch {
	case errors.Is(err, play.ErrBusy), errors.Is(err, play.ErrClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, play.ErrSlow), errors.Is(err, play.ErrBroken):
		return http.StatusInternalServerError
	}
	return http.StatusUnprocessableEntity
}

// playground is the whole page; it needs no script.
func (s *server) playground(w http.ResponseWriter, r *http.Request) {
	p := &playPage{Title: "Playground", Systems: play.Systems(), Guards: play.Guards(), Disciplines: play.Disciplines(), Ways: play.Ways(), Examples: examples()}
	c, err := play.FromQuery(r.URL.Query())
	code := http.StatusUnprocessableEntity
	if err != nil {
		p.Outcome = outcome{Problem: err.Error()}
	} else {
		p.Outcome, code = s.outcome(r.Context(), c)
	}
	p.Choice = c
	show(w, code, "playground.tmpl", p)
}

// result is the part of the page that changes with the choice, for the script.
// What is wrong with a choice is its content, not a failure.
func (s *server) result(w http.ResponseWriter, r *http.Request) {
	c, err := play.FromQuery(r.URL.Query())
	o, code := outcome{}, http.StatusOK
	if err != nil {
		o.Problem = err.Error()
	} else if o, code = s.outcome(r.Context(), c); code == http.StatusUnprocessableEntity {
		code = http.StatusOK
	}
	show(w, code, "outcome", o)
}

// scenario is the choice as a file, which expects what came of it here.
func (s *server) scenario(w http.ResponseWriter, r *http.Request) {
	c, err := play.FromQuery(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	p, err := s.play(r.Context(), c)
	if err != nil {
		refuse(w, codeOf(err), err)
		return
	}
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="`+play.File+`"`)
	_, _ = w.Write(p.scenario.Source)
}

// examples are choices to begin with.
func examples() []example {
	of := func(name string, change func(*play.Choice)) example {
		c := play.StaleHolder()
		change(&c)
		return example{name, "/playground?" + c.Query()}
	}
	return []example{
		of("The stale holder", func(*play.Choice) {}),
		of("… with a fence", func(c *play.Choice) { c.Guard = "fence" }),
		of("A holder that checks its lease", func(c *play.Choice) { c.Discipline = "checks-lease" }),
		of("A watchdog that is cut off", func(c *play.Choice) { c.Watchdog, c.Pause.On, c.Cut.On, c.Work = true, false, true, 500 }),
		of("The server's clock jumps", func(c *play.Choice) { c.Pause.On, c.Jump.On, c.Work = false, true, 60 }),
		of("A failover that forgets the lock", func(c *play.Choice) {
			c.Lock, c.Guard, c.Pause.On, c.Fail.On, c.Unheard = "sentinel", "fence", false, true, true
			c.TTL, c.Hosts, c.Rounds, c.Work = 5000, 2, 1, 3000
		}),
		of("Two masters", func(c *play.Choice) {
			c.Lock, c.Pause.On, c.Fail.On, c.How = "sentinel", false, true, "isolate"
		}),
		of("Redlock, with a token from a majority", func(c *play.Choice) { c.Lock, c.Guard = "redlock", "fence" }),
	}
}
