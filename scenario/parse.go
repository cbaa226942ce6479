package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/token"
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
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(b, path)
}

// Parse reads and validates a scenario. file stands for it in errors.
func Parse(source []byte, file string) (*Scenario, error) {
	s := &Scenario{File: file, Source: source}
	if err := decode(source, s); err != nil {
		return nil, locate(err, file)
	}
	s.defaults()
	if p := s.validate(); p != nil {
		return nil, p.locate(source, file)
	}
	return s, nil
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
		return errors.New("more than one document (---) in the file, expected one scenario")
	}
	return nil
}

// locate turns an error of the YAML library into an Error.
func locate(err error, file string) error {
	var y yaml.Error
	if !errors.As(err, &y) || y.GetToken() == nil {
		return &Error{File: file, Message: err.Error()}
	}
	return atToken(file, y.GetToken(), y.GetMessage())
}

func atToken(file string, t *token.Token, message string) *Error {
	excerpt := yaml.FormatErrorWithToken("", t, false, true)
	// The library's own first line is "[line:column] "; ours says it already.
	if _, after, ok := bytes.Cut([]byte(excerpt), []byte("\n")); ok {
		excerpt = string(bytes.TrimRight(after, "\n "))
	}
	return &Error{File: file, Line: t.Position.Line, Message: message, Excerpt: excerpt}
}

// problem is something that the YAML cannot know to be wrong.
type problem struct {
	path    string // as yaml.PathString, without "$."
	message string
}

func (p *problem) locate(source []byte, file string) error {
	path, err := yaml.PathString("$." + p.path)
	if err == nil {
		if n, err := path.ReadNode(bytes.NewReader(source)); err == nil && n != nil {
			return atToken(file, n.GetToken(), p.path+": "+p.message)
		}
	}
	return &Error{File: file, Message: p.path + ": " + p.message}
}
