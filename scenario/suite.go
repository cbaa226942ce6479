package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"lockchaos/history"
)

// Suite is a list of scenarios that are run together, with a canary. A file is
// one by its top-level key "suite".
type Suite struct {
	Name string `yaml:"suite"`
	// About is one line for chaos list.
	About     string  `yaml:"about"`
	Scenarios []Entry `yaml:"scenarios"`
	// Canary is a run that must be violated: a suite that does not find that proves
	// nothing. The stale holder without a guard, where a suite says nothing.
	Canary Canary `yaml:"canary,omitempty"`

	file     string
	source   []byte
	embedded bool
}

// Entry names one scenario or more. In a file it may be the name alone.
type Entry struct {
	// Scenario is a name of the catalogue, a pattern over them, or a file (.yaml)
	// by its path from that of the suite.
	Scenario string `yaml:"scenario"`
	// Guards are the only ones to run with, Trials how often (1).
	Guards []string `yaml:"guards,omitempty"`
	Trials int      `yaml:"trials,omitempty"`
}

// UnmarshalYAML reads a name, or the keys of an Entry.
func (e *Entry) UnmarshalYAML(n ast.Node) error {
	type keys Entry
	*e = Entry{Trials: 1}
	return nameOr(n, &e.Scenario, (*keys)(e))
}

// Canary is one run of a scenario. In a file it may be the name alone.
type Canary struct {
	Scenario string `yaml:"scenario"`
	Guard    string `yaml:"guard,omitempty"` // none where absent
}

// DefaultCanary is that of a suite which names none.
var DefaultCanary = Canary{"single/pause-after-acquire", history.GuardNone}

// UnmarshalYAML reads a name, or the keys of a Canary.
func (c *Canary) UnmarshalYAML(n ast.Node) error {
	type keys Canary
	*c = Canary{Guard: history.GuardNone}
	return nameOr(n, &c.Scenario, (*keys)(c))
}

func nameOr(n ast.Node, name *string, keys any) error {
	if s, ok := n.(*ast.StringNode); ok {
		*name = s.Value
		return nil
	}
	return yaml.NodeToValue(n, keys, yaml.Strict())
}

// isSuite tells a suite from a scenario.
func isSuite(source []byte, file string) bool {
	found := false
	err := guarded(file, func() error {
		if err := bounded(source, file); err != nil {
			return err
		}
		f, err := parser.ParseBytes(source, 0)
		if err != nil || len(f.Docs) == 0 {
			return err
		}
		if top, ok := f.Docs[0].Body.(ast.MapNode); ok {
			for i := top.MapRange(); i.Next(); {
				found = found || i.Key().String() == "suite"
			}
		}
		return nil
	})
	return found && err == nil
}

// ParseSuite reads and validates a suite. file stands for it in errors.
func ParseSuite(source []byte, file string) (*Suite, error) {
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	s := &Suite{Canary: DefaultCanary, file: file, source: source}
	err := parse(source, file, s, s.validate)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// at gives a problem its place in the file.
func (s *Suite) at(p *problem) error {
	if p == nil {
		return nil
	}
	return p.locate(s.source, s.file)
}

// MostTrials is how often one call may do a run.
const MostTrials = 10_000

func (s *Suite) validate() *problem {
	if p := first(
		must(nameForm.MatchString(s.Name) && !strings.Contains(s.Name, "/"), "suite", "%q, expected a name of small letters, digits and -", s.Name),
		must(!strings.ContainsFunc(s.About, unicode.IsControl), "about", "%q, expected one line", s.About),
		must(len(s.Scenarios) > 0, "scenarios", "none given, expected names, patterns or files of scenarios"),
		must(s.Canary.Scenario != "", "canary", "no scenario given"),
		oneOf("canary.guard", s.Canary.Guard, guards),
	); p != nil {
		return p
	}
	for i, e := range s.Scenarios {
		path := fmt.Sprintf("scenarios[%d]", i)
		if p := first(
			must(e.Scenario != "", path, "no scenario given"),
			must(e.Trials >= 1 && e.Trials <= MostTrials, path+".trials", "%d, expected 1 to %d", e.Trials, MostTrials),
			must(!repeats(e.Guards), path+".guards", "a guard stands twice"),
		); p != nil {
			return p
		}
		for k, g := range e.Guards {
			if p := oneOf(fmt.Sprintf("%s.guards[%d]", path, k), g, guards); p != nil {
				return p
			}
		}
	}
	return nil
}

// SuitePrefix stands before the file name of an embedded suite.
const SuitePrefix = "suites:"

// FindSuite resolves an argument that names a suite: the name of one of files,
// which are the embedded ones, or a file on disk. It returns nil where the
// argument does not name a suite. suites/x.yaml is the embedded suite x where
// there is no such file.
func FindSuite(arg string, files fs.FS) (*Suite, error) {
	name := arg + ".yaml"
	if ext := path.Ext(arg); ext == ".yaml" || ext == ".yml" {
		source, err := read(arg)
		if err == nil && isSuite(source, arg) {
			return ParseSuite(source, arg)
		}
		dir, base := path.Split(path.Clean(filepath.ToSlash(arg)))
		if !errors.Is(err, os.ErrNotExist) || dir != "suites/" {
			return nil, nil // what is wrong with it is told of it as a scenario
		}
		name = base
	}
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, nil
	}
	s, err := ParseSuite(source, SuitePrefix+name)
	if err == nil {
		s.embedded = true
	}
	return s, err
}

// SuiteNames lists the embedded suites.
func SuiteNames(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "*.yaml")
	for i := range names {
		names[i] = strings.TrimSuffix(names[i], ".yaml")
	}
	return names, err
}

// Selection is what a suite comes to.
type Selection struct {
	Scenarios []*Scenario // with the guards that are asked for
	Trials    map[string]int
	Canary    *Scenario // with one guard
}

// Select looks up all scenarios of a suite. What a later entry says of a scenario
// takes the place of what one before it said.
func (s *Suite) Select(c Catalogue) (*Selection, error) {
	sel := &Selection{Trials: map[string]int{}}
	for i, e := range s.Scenarios {
		found, err := s.entry(c, fmt.Sprintf("scenarios[%d]", i), e)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			k := slices.IndexFunc(sel.Scenarios, func(o *Scenario) bool { return o.Name == one.Name })
			if k < 0 {
				k = len(sel.Scenarios)
				sel.Scenarios = append(sel.Scenarios, one)
			}
			if have := sel.Scenarios[k]; have.File != one.File {
				return nil, s.at(&problem{fmt.Sprintf("scenarios[%d]", i), fmt.Sprintf("two scenarios are called %s: %s and %s", one.Name, have.File, one.File)})
			}
			sel.Scenarios[k], sel.Trials[one.Name] = one, e.Trials
		}
	}
	canary, err := s.entry(c, "canary", Entry{Scenario: s.Canary.Scenario, Guards: []string{s.Canary.Guard}})
	if err != nil {
		return nil, err
	}
	if len(canary) != 1 {
		return nil, s.at(&problem{"canary", fmt.Sprintf("%q stands for %d scenarios, expected one", s.Canary.Scenario, len(canary))})
	}
	sel.Canary = canary[0]
	return sel, nil
}

// entry looks up one entry, which stands at a path in the file.
func (s *Suite) entry(c Catalogue, at string, e Entry) ([]*Scenario, error) {
	arg := e.Scenario
	if ext := path.Ext(arg); ext == ".yaml" || ext == ".yml" {
		if s.embedded {
			return nil, s.at(&problem{at, fmt.Sprintf("%q: an embedded suite has no files beside it", arg)})
		}
		if !filepath.IsAbs(arg) {
			arg = filepath.Join(filepath.Dir(s.file), arg)
		}
		if source, err := read(arg); err == nil && isSuite(source, arg) {
			return nil, s.at(&problem{at, fmt.Sprintf("%s is a suite, and suites do not nest: name scenarios", arg)})
		}
	}
	found, err := c.Find(arg)
	if errors.Is(err, ErrUnknown) {
		return nil, s.at(&problem{at, err.Error()})
	}
	if err != nil || len(e.Guards) == 0 {
		return found, err
	}
	var fit []*Scenario
	for _, one := range found {
		if narrow := one.only(e.Guards); len(narrow.Guards) > 0 {
			fit = append(fit, narrow)
		}
	}
	if len(fit) == 0 {
		return nil, s.at(&problem{at, fmt.Sprintf("%s has not the guard %s", e.Scenario, strings.Join(e.Guards, ", "))})
	}
	return fit, nil
}

// only is the scenario with those of its guards that are among some.
func (s *Scenario) only(some []string) *Scenario {
	c := *s
	c.Guards, c.Expect = nil, map[string]Expect{}
	for _, g := range s.Guards {
		if slices.Contains(some, g) {
			c.Guards = append(c.Guards, g)
			c.Expect[g] = s.Expect[g]
		}
	}
	return &c
}
