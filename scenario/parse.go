package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"lockchaos/locks"
)

// Error says what is wrong in a scenario file, and where.
type Error struct {
	File    string
	Line    int // 0 where no line can be named
	Message string
	Excerpt string // the lines around it, marked
}

func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place = fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	if e.Excerpt == "" {
		return place + ": " + e.Message
	}
	return place + ": " + e.Message + "\n" + e.Excerpt
}

// Load reads and validates a scenario file. Errors about its content are *Error.
func Load(path string) (*Scenario, error) {
	b, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(b, path)
}

// read reads a file, up to what is too large for one.
func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, mostBytes+1))
}

// The size of the largest scenario file, and how deep brackets nest in it. The
// YAML library takes a minute for what is far beyond them.
const (
	mostBytes = 64 << 10
	mostDepth = 200
)

// bounded refuses what the YAML library cannot cope with.
func bounded(source []byte, file string) error {
	if len(source) > mostBytes {
		return &Error{File: file, Message: fmt.Sprintf("over %d KiB, no scenario or suite is that large", mostBytes>>10)}
	}
	depth, line := 0, 1
	for _, c := range source {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > mostDepth {
			return &Error{File: file, Line: line, Message: fmt.Sprintf("over %d brackets are open", mostDepth)}
		}
	}
	return inspect(source, file)
}

// Parse reads and validates a scenario. file stands for it in errors.
func Parse(source []byte, file string) (*Scenario, error) {
	s := &Scenario{File: file, Source: source, Deadline: locks.Duration(DefaultDeadline)}
	source = bytes.TrimPrefix(source, []byte("\ufeff"))
	if err := s.read(source, file); err != nil {
		return nil, err
	}
	return s, nil
}

// read decodes and validates.
func (s *Scenario) read(source []byte, file string) error {
	return parse(source, file, s, func() *problem {
		w := writtenIn(source)
		s.defaults(w)
		return first(s.validateName(w), s.validateZeros(w), w.missing(s.validate()))
	})
}

// parse decodes a file with care, and validates what came of it.
func parse(source []byte, file string, into any, validate func() *problem) error {
	return guarded(file, func() error {
		if err := bounded(source, file); err != nil {
			return err
		}
		if err := decode(source, into); err != nil {
			return locate(err, source, file, reflect.TypeOf(into).Elem())
		}
		if p := validate(); p != nil {
			return p.locate(source, file)
		}
		return nil
	})
}

// ReadFile reads a YAML file that is no scenario with the same care, into what a
// pointer points to. check then tells what YAML cannot know to be wrong, and where:
// "nodes[2].name"; an empty message says that all is well. Errors about the
// content are *Error.
func ReadFile(path string, into any, check func() (at, message string)) error {
	source, err := read(path)
	if err != nil {
		return err
	}
	return parse(bytes.TrimPrefix(source, []byte("\ufeff")), path, into, func() *problem {
		at, message := check()
		if message == "" {
			return nil
		}
		return &problem{at, message}
	})
}

// guarded calls f. The YAML library panics on some broken files: that, too, is
// an error of the file.
func guarded(file string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Error{File: file, Message: escape(fmt.Sprintf("no YAML that can be read: %v", r))}
		}
	}()
	return f()
}

func decode(source []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(source), yaml.Strict())
	err := d.Decode(v)
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return err
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("more than one document (---) in the file, expected one")
	}
	return nil
}

// locate turns an error of the YAML library into an Error. t is what the file was
// to be read into.
func locate(err error, source []byte, file string, t reflect.Type) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return &Error{File: file, Message: escape(err.Error())}
	}
	return atToken(file, y.GetToken(), y.GetMessage()+allowed(source, err, t))
}

func atToken(file string, t *token.Token, message string) *Error {
	excerpt := yaml.FormatErrorWithToken("", t, false, true)
	// The library's own first line is "[line:column] "; ours says it already.
	if _, after, ok := bytes.Cut([]byte(excerpt), []byte("\n")); ok {
		excerpt = string(bytes.TrimRight(after, "\n "))
	}
	return &Error{File: file, Line: t.Position.Line, Message: escape(message), Excerpt: tame(excerpt)}
}

// tame makes an excerpt fit for a terminal: few lines of bounded length, and no
// control characters.
func tame(excerpt string) string {
	const most, mostLines = 160, 10
	lines := strings.Split(excerpt, "\n")
	lines = lines[:min(len(lines), mostLines)]
	for i, line := range lines {
		r := []rune(strings.ToValidUTF8(line, "\ufffd"))
		if len(r) > most {
			r = append(r[:most], '…')
		}
		for k := range r {
			switch {
			case r[k] == '\t':
				r[k] = ' '
			case unicode.IsControl(r[k]):
				r[k] = '\ufffd'
			}
		}
		lines[i] = string(r)
	}
	return strings.Join(lines, "\n")
}

// quoted is a value in a message, of which mostQuoted bytes are enough.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

const mostQuoted = 240

// escape writes control characters of a message as Go does, and cuts long values.
func escape(message string) string {
	message = quoted.ReplaceAllStringFunc(message, func(v string) string {
		if len(v) <= mostQuoted {
			return v
		}
		return strings.ToValidUTF8(v[:mostQuoted], "") + `…"`
	})
	if !strings.ContainsFunc(message, unicode.IsControl) {
		return message
	}
	escaped := strconv.Quote(message)
	return strings.ReplaceAll(escaped[1:len(escaped)-1], `\"`, `"`)
}

// problem is something that the YAML cannot know to be wrong.
type problem struct {
	path    string // as yaml.PathString, without "$."
	message string
}

// asks are the keys that ask for another, to point at where that is absent.
var asks = map[string]string{"expect": "guards", "guards": "expect"}

// locate finds the line of the path, or of what is around it where the file
// does not have it: that is the first line of all, in the end.
func (p *problem) locate(source []byte, file string) error {
	message := p.path + ": " + p.message
	for _, path := range []string{p.path, asks[p.path]} {
		if t := tokenAt(source, path); t != nil {
			return atToken(file, t, message)
		}
	}
	f, err := parser.ParseBytes(source, 0)
	if err == nil && len(f.Docs) > 0 && f.Docs[0].Body != nil {
		if top, ok := f.Docs[0].Body.(ast.MapNode); ok {
			if i := top.MapRange(); i.Next() {
				return atToken(file, i.Key().GetToken(), message)
			}
		}
	}
	return &Error{File: file, Message: escape(message)}
}

// tokenAt is what stands at a path, or around it; nil where nothing does.
func tokenAt(source []byte, path string) *token.Token {
	for at := path; at != ""; at = at[:max(0, strings.LastIndexAny(at, ".["))] {
		path, err := yaml.PathString("$." + at)
		if err != nil {
			continue
		}
		if n, err := path.ReadNode(bytes.NewReader(source)); err == nil && n != nil {
			return n.GetToken()
		}
	}
	return nil
}
