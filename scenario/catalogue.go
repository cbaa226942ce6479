package scenario

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// CataloguePrefix stands before the file name of a scenario of the catalogue.
const CataloguePrefix = "catalogue:"

// Catalogue is a set of scenarios by name.
type Catalogue struct{ files fs.FS }

// NewCatalogue reads scenarios from files; single/x.yaml is the scenario single/x.
func NewCatalogue(files fs.FS) Catalogue { return Catalogue{files} }

// Names lists all scenarios in order.
func (c Catalogue) Names() ([]string, error) {
	var names []string
	err := fs.WalkDir(c.files, ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && path.Ext(p) == ".yaml" {
			names = append(names, strings.TrimSuffix(p, ".yaml"))
		}
		return err
	})
	slices.Sort(names)
	return names, err
}

// Get reads one scenario of the catalogue.
func (c Catalogue) Get(name string) (*Scenario, error) {
	file := name + ".yaml"
	b, err := fs.ReadFile(c.files, file)
	if err != nil {
		return nil, err
	}
	s, err := Parse(b, CataloguePrefix+file)
	if err == nil && s.Name != name {
		return nil, &Error{File: CataloguePrefix + file, Message: fmt.Sprintf("name: %q, expected %q as the file is called", s.Name, name)}
	}
	return s, err
}

// ErrUnknown is wrapped by the error of a name that is not in the catalogue.
var ErrUnknown = errors.New("unknown scenario")

// Find resolves an argument: a file (by its ending .yaml or .yml), a name, or a
// pattern over names as in "single/*".
func (c Catalogue) Find(arg string) ([]*Scenario, error) {
	if ext := path.Ext(arg); ext == ".yaml" || ext == ".yml" {
		s, err := Load(arg)
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w: no file %s", ErrUnknown, arg)
		}
		return []*Scenario{s}, err
	}
	names, err := c.Names()
	if err != nil {
		return nil, err
	}
	var found []*Scenario
	for _, name := range names {
		ok, err := path.Match(arg, name)
		if err != nil {
			return nil, fmt.Errorf("%w: pattern %q: %w", ErrUnknown, arg, err)
		}
		if !ok {
			continue
		}
		s, err := c.Get(name)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w %q, expected a file ending in .yaml or one of: %s", ErrUnknown, arg, strings.Join(names, ", "))
	}
	return found, nil
}
