package serve

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"lockchaos/report"
	"lockchaos/report/page"
	"lockchaos/results"
)

// Limits of what one page shows: runs, and the size of each file of one.
const (
	mostDrawn = 250
	mostFile  = 64 << 20
)

var errMany = errors.New("more runs lie below than fit on one page: choose one of them in the list of runs")

// own are the files of a run that are handed out as they are, as text.
var own = []string{results.HistoryFile, results.VerdictFile, results.ManifestFile, results.ScenarioFile, results.TimelineFile,
	results.SummaryFile, results.SweepFile, results.ShardFile}

var picture = regexp.MustCompile(`^porcupine-[a-z-]+\.html$`)

// runs shows what lies at a path of the results: the report of a run or of all
// runs below a directory, or a file of a run.
func (s *server) runs(w http.ResponseWriter, r *http.Request) {
	p := strings.TrimSuffix(r.PathValue("path"), "/")
	if !local(p) {
		refuse(w, http.StatusNotFound, errNothing)
		return
	}
	root, err := s.open()
	if err != nil {
		refuse(w, http.StatusNotFound, errNothing)
		return
	}
	defer root.Close()
	if dir, name := path.Split(p); name == page.File {
		p = strings.TrimSuffix(dir, "/")
	}
	info, err := plainly(root, p)
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, errNothing)
	case info.IsDir() && !strings.HasSuffix(r.URL.Path, "/") && path.Base(r.URL.Path) != page.File:
		http.Redirect(w, r, "/runs/"+p+"/", http.StatusMovedPermanently) // its links are relative
	case info.IsDir():
		s.report(w, root, p)
	default:
		s.file(w, r, root, p, info)
	}
}

// plainly looks at what is at a path, if no part of it is a link.
func plainly(root *os.Root, p string) (fs.FileInfo, error) {
	var info fs.FileInfo
	parts := strings.Split(p, "/")
	for i := range parts {
		var err error
		if info, err = root.Lstat(path.Join(parts[:i+1]...)); err != nil {
			return nil, err
		}
		if last := i == len(parts)-1; !info.IsDir() && !(last && info.Mode().IsRegular()) {
			return nil, fs.ErrNotExist
		}
	}
	return info, nil
}

// file hands out a file of a run.
func (s *server) file(w http.ResponseWriter, r *http.Request, root *os.Root, p string, info fs.FileInfo) {
	name := path.Base(p)
	drawn := picture.MatchString(name)
	if !drawn && !slices.Contains(own, name) {
		refuse(w, http.StatusNotFound, errNothing)
		return
	}
	f, err := root.Open(p)
	if err != nil {
		refuse(w, http.StatusNotFound, errNothing)
		return
	}
	defer f.Close()
	kind := "text/plain; charset=utf-8"
	if drawn {
		kind = "text/html; charset=utf-8"
		w.Header().Set("Content-Security-Policy", policyPicture)
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), f)
}

// report shows the page of the runs at or below a directory, as chaos report
// makes it from what is saved.
func (s *server) report(w http.ResponseWriter, root *os.Root, p string) {
	dirs, err := below(root, p)
	if err != nil {
		code := http.StatusNotFound
		if errors.Is(err, errMany) {
			code = http.StatusUnprocessableEntity
		}
		refuse(w, code, err)
		return
	}
	base := filepath.Join(s.Root, filepath.FromSlash(p))
	var all []*results.Saved
	for _, dir := range dirs {
		if x := s.saved(root, dir); x != nil {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		refuse(w, http.StatusNotFound, errors.New("no run in there has been judged yet"))
		return
	}
	var b bytes.Buffer
	if err := page.Write(&b, report.NewDigest(all), base); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Security-Policy", policyReport)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// below finds the run directories at or below p. Links are not followed.
func below(root *os.Root, p string) ([]string, error) {
	var dirs []string
	seen := 0
	err := fs.WalkDir(root.FS(), p, func(at string, d fs.DirEntry, err error) error {
		if seen++; err != nil || seen > 40*mostDrawn {
			return errors.Join(err, errMany)
		}
		if d.IsDir() && d.Name() == results.LogsDir {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && d.Name() == results.ManifestFile {
			dirs = append(dirs, path.Dir(at))
		}
		if len(dirs) > mostDrawn {
			return errMany
		}
		return nil
	})
	if err == nil && len(dirs) == 0 {
		err = errNothing
	}
	return dirs, err
}

// saved reads one run; nil where it has not been judged yet. One that cannot be
// read is shown as such.
func (s *server) saved(root *os.Root, dir string) *results.Saved {
	broken := func(words string) *results.Saved {
		return &results.Saved{Assessment: &results.Assessment{Key: results.Key{Scenario: dir, Guard: "unknown", Trial: 1}, Error: words}}
	}
	for _, name := range []string{results.ManifestFile, results.VerdictFile, results.TimelineFile} {
		info, err := root.Lstat(path.Join(dir, name))
		switch {
		case absent(err):
		case err != nil, !info.Mode().IsRegular(), info.Size() > mostFile:
			return broken(name + " is not a file that can be read")
		}
	}
	x, err := results.OpenRun(filepath.Join(s.Root, filepath.FromSlash(dir)))
	if err == nil {
		return x
	}
	if _, err := root.Lstat(path.Join(dir, results.VerdictFile)); absent(err) {
		return nil
	}
	var f *results.FileError
	if errors.As(err, &f) { // its path is one of this machine
		return broken(filepath.Base(f.Path) + ": " + f.Err.Error())
	}
	return broken("it cannot be read")
}
