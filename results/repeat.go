package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"lockchaos/history"
	"lockchaos/scenario"
)

// worlds are those that a run can be of.
var worlds = []string{scenario.Local, scenario.Remote, scenario.Simulation}

// Repeatable reads what is needed to do a run again: its manifest, and its scenario
// as it is to be run. What the manifest says is held against the scenario and the
// history beside it: what was changed in one of them would be another run, and must
// not pass for that one. The error is a *FileError, or of the file system.
func Repeatable(dir string) (*Manifest, *scenario.Scenario, error) {
	m, err := manifest(dir)
	if err != nil {
		return nil, nil, err
	}
	wrong := func(err error) (*Manifest, *scenario.Scenario, error) {
		return nil, nil, &FileError{filepath.Join(dir, ManifestFile), err}
	}
	if err := m.possible(); err != nil {
		return wrong(err)
	}
	s, err := scenario.Load(filepath.Join(dir, ScenarioFile))
	if err != nil {
		return nil, nil, err
	}
	if s.Name == strings.TrimSuffix(ScenarioFile, filepath.Ext(ScenarioFile)) {
		s.Name = m.Scenario // that of the file that it was read from at first
	}
	if err := m.fits(s); err != nil {
		return wrong(err)
	}
	if m.Control {
		s = s.WithoutFaults()
	}
	if err := m.sameOptions(s); err != nil {
		return wrong(err)
	}
	// A history that cannot be read says for itself what is wrong with it.
	if h, err := history.OpenHeader(filepath.Join(dir, HistoryFile)); err == nil {
		if err := m.sameRun(h); err != nil {
			return wrong(err)
		}
	}
	return m, s, nil
}

// possible refuses what no run has.
func (m *Manifest) possible() error {
	switch {
	case !slices.Contains(worlds, m.World):
		return fmt.Errorf("the world is %q, expected one of %s", m.World, strings.Join(worlds, ", "))
	case m.Trial < 1:
		return fmt.Errorf("the trial is %d, expected 1 or more", m.Trial)
	}
	return nil
}

// fits refuses what the scenario cannot be run with.
func (m *Manifest) fits(s *scenario.Scenario) error {
	switch {
	case m.Scenario != s.Name:
		return fmt.Errorf("the scenario is %q, and %s is %q", m.Scenario, ScenarioFile, s.Name)
	case m.System != s.Lock.System:
		return fmt.Errorf("the system is %q, and its scenario has %s", m.System, s.Lock.System)
	case !slices.Contains(s.Guards, m.Guard):
		return fmt.Errorf("the guard is %q, and its scenario has %s", m.Guard, strings.Join(s.Guards, ", "))
	case m.Control && s.Control == scenario.NoControl:
		return fmt.Errorf("it is a control, and its scenario has none")
	case !s.RunsOn(m.World):
		return fmt.Errorf("the world is %q, and its scenario is not for that", m.World)
	}
	return nil
}

// judged are the options that change nothing of a run, but what is said of it. A
// suite's canary has only a part of its scenario's.
var judged = []string{"about", "guards", "expect", "control"}

// sameOptions refuses a scenario whose options, with all defaults, are not those of the run.
func (m *Manifest) sameOptions(s *scenario.Scenario) error {
	b, err := s.JSON()
	if err != nil {
		return err
	}
	var was, now map[string]any
	if err := json.Unmarshal(m.Options, &was); err != nil {
		return fmt.Errorf("options: %w", err)
	}
	if err := json.Unmarshal(b, &now); err != nil {
		return err
	}
	for _, key := range judged {
		delete(was, key)
		delete(now, key)
	}
	if at, x, y := difference("options", was, now); at != "" {
		return fmt.Errorf("%s is %s, and by %s it is %s: one of them was changed, or was written by another version", at, x, ScenarioFile, y)
	}
	return nil
}

// difference finds the first place at which two values of JSON differ; "" where
// they do not.
func difference(at string, a, b any) (where, x, y string) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differentKey(at, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				if where, x, y = difference(fmt.Sprintf("%s[%d]", at, i), a[i], b[i]); where != "" {
					return where, x, y
				}
			}
			return "", "", ""
		}
	}
	if reflect.DeepEqual(a, b) {
		return "", "", ""
	}
	return at, short(a), short(b)
}

func differentKey(at string, a, b map[string]any) (where, x, y string) {
	keys := make([]string, 0, len(a)+len(b))
	for _, m := range []map[string]any{a, b} {
		for key := range m {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys) // the same place each time
	for _, key := range slices.Compact(keys) {
		if where, x, y = difference(at+"."+key, a[key], b[key]); where != "" {
			return where, x, y
		}
	}
	return "", "", ""
}

// short is a value of JSON in a message.
func short(v any) string {
	if v == nil {
		return "absent"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if b = bytes.ToValidUTF8(b, nil); len(b) > 100 {
		return string(bytes.ToValidUTF8(b[:100], nil)) + "…"
	}
	return string(b)
}

// sameRun refuses a history that says it is of another run.
func (m *Manifest) sameRun(h history.Header) error {
	for _, c := range []struct {
		what     string
		was, now any
	}{
		{"scenario", m.Scenario, h.Scenario},
		{"world", m.World, h.World},
		{"guard", m.Guard, h.Guard},
		{"seed", m.Seed, h.Seed},
		{"system", m.System, h.System},
	} {
		if c.was != c.now {
			return fmt.Errorf("the %s is %s, and in %s it is %s", c.what, short(c.was), HistoryFile, short(c.now))
		}
	}
	return nil
}

// Unlike says in what a machine and the program on it differ from another, of what
// a history in virtual time may hang on.
func (m Machine) Unlike(now Machine) []string {
	var all []string
	add := func(what, was, is string) {
		if was != is {
			all = append(all, fmt.Sprintf("%s %s, now %s", what, orNone(was), orNone(is)))
		}
	}
	add("commit", m.Commit, now.Commit)
	add("Go", m.Go, now.Go)
	for _, name := range modules {
		add(name, m.Modules[name], now.Modules[name])
	}
	return all
}

func orNone(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}
