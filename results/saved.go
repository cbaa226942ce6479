package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"lockchaos/checker"
	"lockchaos/history"
)

// Saved is a run, read back without judging it.
type Saved struct {
	*Assessment
	Manifest *Manifest
	// Timeline is nil where the run was judged before there were any.
	Timeline *checker.Timeline
	// Pages are the names of Porcupine's pages in the run's directory.
	Pages []string
}

// OpenRun reads a run directory. The verdict is the saved one.
func OpenRun(dir string) (*Saved, error) {
	m, err := manifest(dir)
	if err != nil {
		return nil, err
	}
	s := &Saved{Manifest: m, Assessment: &Assessment{}}
	switch err := Load(dir, VerdictFile, s.Assessment); {
	case errors.Is(err, fs.ErrNotExist) && m.Error != "":
		s.Assessment = &Assessment{Run: m.Run, Key: m.Key, World: m.World, System: m.System, Repeat: m.Repeat, Error: m.Error}
	case errors.Is(err, fs.ErrNotExist):
		return nil, &FileError{dir, errors.New("not judged yet: chaos check does that")}
	case err != nil:
		return nil, err
	}
	s.Dir = dir
	var t checker.Timeline
	switch err := Load(dir, TimelineFile, &t); {
	case err == nil && (t.Version < 1 || t.Version > checker.TimelineVersion):
		return nil, &FileError{filepath.Join(dir, TimelineFile),
			fmt.Errorf("timeline version %d, this program reads up to %d", t.Version, checker.TimelineVersion)}
	case err == nil:
		s.Timeline = &t
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	for _, p := range properties {
		if Regular(filepath.Join(dir, page(p))) == nil {
			s.Pages = append(s.Pages, page(p))
		}
	}
	return s, nil
}

// properties are those that Porcupine may draw.
var properties = []string{checker.PropertyMutex, checker.PropertyBeliefs, checker.PropertyTokens, checker.PropertyCounter}

func page(property string) string { return "porcupine-" + property + ".html" }

// MaxPage is the largest page of Porcupine's that is kept, in bytes.
const MaxPage = 2 << 20

// pageLimit is how long Porcupine may take to find and draw it.
const pageLimit = 2 * time.Second

// examine judges a history, and saves what reports draw of it.
func examine(dir string, h *history.History) (*checker.Verdict, error) {
	v, t, err := checker.Examine(h)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", TimelineFile, err)
	}
	if err := SaveBytes(dir, TimelineFile, append(b, '\n')); err != nil {
		return nil, err
	}
	for _, o := range v.Oracles {
		if err := savePage(dir, h, o); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// savePage keeps Porcupine's picture of what it found illegal, unless that is
// too large, and takes away one of an earlier judging.
func savePage(dir string, h *history.History, o checker.OracleReport) error {
	name := page(o.Property)
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if o.Porcupine != checker.AnswerIllegal {
		return nil
	}
	var b bytes.Buffer
	drawn, err := checker.Visualise(h, o.Property, checker.Options{PorcupineLimit: pageLimit}, &b)
	if err != nil || !drawn || b.Len() > MaxPage {
		return err
	}
	return SaveBytes(dir, name, b.Bytes())
}
