package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"lockchaos/internal/excerpt"
)

// History is a history read back.
type History struct {
	Header Header
	Events []Event
	// Truncated is set when the last line was cut off, as after a crash. The
	// events before it are good.
	Truncated bool
	// Complete is set when the last event is End.
	Complete bool
}

// LineError says which line of a history cannot be read, and why.
type LineError struct {
	File string
	Line int
	Text string
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %v: %s", e.File, e.Line, e.Err, excerpt.Of(e.Text))
}

func (e *LineError) Unwrap() error { return e.Err }

// ErrNotBegun is what the error of a history is that ends before its header
// does, as where the run was broken off in its first moments.
var ErrNotBegun = errors.New("the history has no header")

// notBegun says in its own words that a history has not begun.
type notBegun string

func (e notBegun) Error() string        { return string(e) }
func (e notBegun) Is(target error) bool { return target == ErrNotBegun }

// beginning is how every header that this program writes begins.
const beginning = `{"format":"` + Format + `"`

// headerCut is the error of a first line without its end.
func headerCut(line []byte) error {
	if strings.HasPrefix(string(line), beginning[:min(len(line), len(beginning))]) {
		return notBegun("the header is cut off")
	}
	return errors.New("not a history: one line without an end")
}

// Open reads the history in a file.
func Open(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadAll(f, path)
}

// OpenHeader reads the header of the history in a file, and nothing after it.
func OpenHeader(path string) (Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return Header{}, err
	}
	defer f.Close()
	line, err := readLine(bufio.NewReader(f))
	if err != nil {
		return Header{}, &LineError{path, 1, string(line), err}
	}
	h := &History{}
	if err := h.parse(line, 1); err != nil {
		return Header{}, &LineError{path, 1, string(line), err}
	}
	return h.Header, nil
}

// ReadAll reads a whole history. name stands for the file in errors. A last
// line without its line end is left out and marks the history as truncated;
// any other line that does not parse, or is out of sequence, is a LineError.
func ReadAll(r io.Reader, name string) (*History, error) {
	h := &History{}
	br := bufio.NewReaderSize(r, 256<<10)
	for n := 1; ; n++ {
		line, err := readLine(br)
		if errors.Is(err, errLong) {
			return nil, &LineError{name, n, string(line), err}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if len(line) == 0 {
			break
		}
		if err != nil { // no line end: cut off
			if n == 1 {
				return nil, &LineError{name, n, string(line), headerCut(line)}
			}
			h.Truncated = true
			break
		}
		if perr := h.parse(line, n); perr != nil {
			return nil, &LineError{name, n, string(line), perr}
		}
	}
	if h.Header.Format == "" {
		return nil, &LineError{name, 1, "", notBegun("empty file, expected a history header")}
	}
	if n := len(h.Events); n > 0 {
		h.Complete = h.Events[n-1].Kind == End
	}
	return h, nil
}

// MaxLine is the longest line of a history, in bytes. The longest that are
// written name every link of a large cluster, and stay far below it.
const MaxLine = 1 << 20

var errLong = fmt.Errorf("a line of over %d bytes: this is no history", MaxLine)

// readLine reads a line with its end; what is not a history may have none.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxLine {
			return line[:MaxLine], errLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (h *History) parse(line []byte, n int) error {
	if n == 1 {
		return h.parseHeader(line)
	}
	var e Event
	if err := strict(line, &e); err != nil {
		return err
	}
	if err := e.validate(); err != nil {
		return err
	}
	if want := int64(len(h.Events)) + 1; e.Seq != want {
		return fmt.Errorf("sequence number %d, expected %d", e.Seq, want)
	}
	if k := len(h.Events); k > 0 && e.T < h.Events[k-1].T {
		return fmt.Errorf("time %d is before that of the line above", e.T)
	}
	h.Events = append(h.Events, e)
	return nil
}

func (h *History) parseHeader(line []byte) error {
	// Not strict: a greater version must be named as such, not as an unknown field.
	if err := json.Unmarshal(line, &h.Header); err != nil {
		return err
	}
	switch {
	case h.Header.Format != Format:
		return fmt.Errorf("not a history: format is %q, expected %q", h.Header.Format, Format)
	case h.Header.Version < 1 || h.Header.Version > Version:
		return fmt.Errorf("history version %d, this program reads up to %d", h.Header.Version, Version)
	case h.Header.TTL <= 0:
		return fmt.Errorf("ttl is %d, expected nanoseconds above 0", h.Header.TTL)
	}
	return nil
}

var kinds = map[Kind]bool{
	Call: true, Return: true, Fault: true, Trace: true, Lost: true, Exit: true,
	Ledger: true, Final: true, Stall: true, Note: true, End: true,
}

var dos = map[Do]bool{Acquire: true, Extend: true, Check: true, Release: true, Read: true, Write: true}

var results = map[Result]bool{OK: true, Refused: true, Gone: true, Failed: true, Unknown: true}

func (e *Event) validate() error {
	if !kinds[e.Kind] {
		return fmt.Errorf("unknown kind %q", e.Kind)
	}
	switch e.Kind {
	case Call, Return, Ledger:
		if !dos[e.Do] {
			return fmt.Errorf("unknown operation %q in a %s", e.Do, e.Kind)
		}
		if e.Op <= 0 {
			return fmt.Errorf("a %s without its op", e.Kind)
		}
	case Fault:
		if e.Fault == nil {
			return errors.New("a fault without its step")
		}
	}
	if (e.Kind == Return || e.Kind == Ledger) && !results[e.Result] {
		return fmt.Errorf("unknown result %q in a %s", e.Result, e.Kind)
	}
	return nil
}

func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	// Not More: it takes a stray } or ] for an end.
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value on the line")
	}
	return nil
}
