package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"lockchaos/results"
)

type junitSuites struct {
	XMLName  xml.Name      `xml:"testsuites"`
	Name     string        `xml:"name,attr"`
	Tests    int           `xml:"tests,attr"`
	Failures int           `xml:"failures,attr"`
	Errors   int           `xml:"errors,attr"`
	Suites   []*junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`

	seconds float64
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitTrouble `xml:"failure,omitempty"`
	Error   *junitTrouble `xml:"error,omitempty"`
	Out     string        `xml:"system-out,omitempty"`
}

type junitTrouble struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit writes one test case a run: it passes where the run is as expected, a
// violation that is expected included. A run that proves nothing, or in which
// the harness failed, is an error, what is otherwise not as expected a failure.
func JUnit(w io.Writer, d *Digest) error {
	all := junitSuites{Name: "lockchaos"}
	by := map[string]*junitSuite{}
	for _, t := range d.Runs {
		s := by[t.Scenario]
		if s == nil {
			s = &junitSuite{Name: Short(t.Scenario, mostWords)}
			by[t.Scenario], all.Suites = s, append(all.Suites, s)
		}
		c := newJunitCase(t)
		s.Tests, all.Tests = s.Tests+1, all.Tests+1
		if c.Failure != nil {
			s.Failures, all.Failures = s.Failures+1, all.Failures+1
		}
		if c.Error != nil {
			s.Errors, all.Errors = s.Errors+1, all.Errors+1
		}
		s.seconds += t.Took.Seconds()
		s.Cases = append(s.Cases, c)
	}
	if d.Missing != "" { // what was not run must not look like what passed
		trouble := &junitTrouble{Message: Short(d.Missing, mostWords), Type: "missing"}
		all.Suites = append(all.Suites, &junitSuite{Name: "shards", Tests: 1, Errors: 1,
			Cases: []junitCase{{Class: "shards", Name: "all shards are there", Time: "0.000", Error: trouble}}})
		all.Tests, all.Errors = all.Tests+1, all.Errors+1
	}
	for _, s := range all.Suites {
		s.Time = fmt.Sprintf("%.3f", s.seconds)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func newJunitCase(t *Told) junitCase {
	c := junitCase{
		Class: Short(t.World+"."+t.Scenario, mostWords), Name: Short(strings.TrimPrefix(t.Key.String(), t.Scenario+" "), mostWords),
		Time: fmt.Sprintf("%.3f", t.Took.Seconds()),
	}
	var out []string
	say := func(format string, args ...any) { out = append(out, Short(fmt.Sprintf(format, args...), mostWords)) }
	say("outcome: %s", t.Mark)
	if t.Blame != "" {
		say("broken by: %s", t.Blame)
	}
	if t.Story != "" {
		say("%s%s: %s", t.Held(), t.Kinds, t.Story)
	}
	for _, p := range Problems(t) {
		say("%s", p)
	}
	if t.Repeat != "" {
		say("repeat: %s", t.Repeat)
	}
	text := strings.Join(out, "\n")
	if t.AsExpected {
		c.Out = text
		return c
	}
	message := t.Mark
	if p := Problems(t); len(p) > 0 {
		message = p[0]
	}
	trouble := &junitTrouble{Message: Short(message, mostWords), Text: text}
	switch t.ExitCode() {
	case results.ExitUnexpected, results.ExitAvailability, results.ExitExpected:
		trouble.Type = "not as expected"
		c.Failure = trouble
	default:
		trouble.Type = t.Mark
		c.Error = trouble
	}
	return c
}
