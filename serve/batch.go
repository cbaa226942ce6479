package serve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"lockchaos/checker"
	"lockchaos/results"
)

// batch is one call of chaos run, as far as a list of runs needs it.
type batch struct {
	Name   string
	When   time.Time
	Suite  string
	World  string
	Shard  string // which part of a call it is; "" for all
	Doubts int
	Runs   []run
	Sweep  *sweep // in place of runs
	// Problem says why nothing is known of its runs; "" where it is known.
	Problem string
}

// run is one line of the list.
type run struct {
	results.Key
	System     string
	Mark       string // safe, violated, inconclusive, error
	Unexpected bool
	Faults     []string
	Link       string // "" where there is no way to it
}

// cached is a batch, and the state of the file that it was read from.
type cached struct {
	at    time.Time
	size  int64
	batch *batch
}

// mostSummary is how large a summary may be, in bytes.
const mostSummary = 64 << 20

// names are the batches, the newest first.
func (s *server) names(root *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && part.MatchString(e.Name()) { // a link is not followed
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(b, a) })
	s.forget(names)
	return names, nil
}

// forget drops from the cache what is gone. names are sorted downwards.
func (s *server) forget(names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.cache {
		if _, ok := slices.BinarySearchFunc(names, name, func(a, b string) int { return cmp.Compare(b, a) }); !ok {
			delete(s.cache, name)
		}
	}
}

// load reads a batch, or takes it from the cache while its summary is the same.
// Of a sweep, the file that it is saved in is the summary.
func (s *server) load(root *os.Root, name string) *batch {
	file := path.Join(name, results.SummaryFile)
	info, err := root.Lstat(file)
	if absent(err) {
		file = path.Join(name, results.SweepFile)
		info, err = root.Lstat(file)
	}
	if err != nil {
		b := &batch{Name: name, When: started(name, root), Problem: "under way, or broken off: it has no summary"}
		if !absent(err) {
			b.Problem = "its summary cannot be read"
		}
		return b
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.cache[name]; ok && c.at.Equal(info.ModTime()) && c.size == info.Size() {
		return c.batch
	}
	b, err := read(root, file, info)
	if err != nil {
		b = &batch{Problem: unreadable(err)}
	}
	b.Name, b.When = name, started(name, root)
	for i := range b.Runs {
		b.Runs[i].Link = link(name, b.Runs[i].Path())
	}
	s.cache[name] = cached{info.ModTime(), info.Size(), b}
	return b
}

// unreadable is an error of a summary in words that name no path of this machine.
func unreadable(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return "its summary cannot be read: " + err.Error()
}

// summary is what a list needs of a summary file: much of it is never decoded.
type summary struct {
	Version int            `json:"version"`
	Suite   string         `json:"suite"`
	World   string         `json:"world"`
	Shard   *results.Shard `json:"shard"`
	Doubts  []string       `json:"doubts"`
	Runs    []struct {
		results.Key
		System     string `json:"system"`
		AsExpected bool   `json:"as_expected"`
		Error      string `json:"error"`
		Verdict    *struct {
			Outcome checker.Outcome `json:"outcome"`
			Faults  []struct {
				Name string `json:"name"`
			} `json:"faults"`
		} `json:"verdict"`
	} `json:"runs"`
}

var outcomes = []string{string(checker.Safe), string(checker.Violated), string(checker.Inconclusive)}

func read(root *os.Root, file string, info fs.FileInfo) (*batch, error) {
	if !info.Mode().IsRegular() || info.Size() > mostSummary {
		return nil, fmt.Errorf("it is no file of at most %d MiB", mostSummary>>20)
	}
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostSummary))
	if err != nil {
		return nil, err
	}
	if path.Base(file) == results.SweepFile {
		return readSweep(b)
	}
	var sum summary
	if err := json.Unmarshal(b, &sum); err != nil {
		return nil, err
	}
	if sum.Version < 1 || sum.Version > results.SummaryVersion {
		return nil, fmt.Errorf("summary version %d, this program reads up to %d", sum.Version, results.SummaryVersion)
	}
	x := &batch{Suite: sum.Suite, World: sum.World, Shard: shardWords(sum.Shard), Doubts: len(sum.Doubts)}
	for _, r := range sum.Runs {
		y := run{Key: r.Key, System: r.System, Mark: "error", Unexpected: !r.AsExpected}
		if v := r.Verdict; v != nil {
			if o := string(v.Outcome); r.Error == "" && slices.Contains(outcomes, o) {
				y.Mark = o
			}
			for _, f := range v.Faults {
				if !slices.Contains(y.Faults, f.Name) {
					y.Faults = append(y.Faults, f.Name)
				}
			}
		}
		x.Runs = append(x.Runs, y)
	}
	return x, nil
}

// stamp is what the name of a batch begins with.
const stamp = "20060102-150405"

// started is when a batch was, by its name; by its directory where that does not say.
func started(name string, root *os.Root) time.Time {
	if t, err := time.ParseInLocation(stamp, name[:min(len(name), len(stamp))], time.Local); err == nil {
		return t
	}
	if info, err := root.Lstat(name); err == nil {
		return info.ModTime()
	}
	return time.Time{}
}

// part is what one part of a path may be: nothing hidden, and no way up.
var part = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,254}$`)

// local tells whether a path leads down, by names that may be.
func local(p string) bool {
	parts := strings.Split(p, "/")
	return len(parts) <= 8 && !slices.ContainsFunc(parts, func(s string) bool { return !part.MatchString(s) })
}

// link is the way to a run; "" where its name allows none.
func link(batch, p string) string {
	if p = path.Join(batch, p); !local(p) || !strings.HasPrefix(p, batch+"/") {
		return ""
	}
	return "/runs/" + p + "/"
}
