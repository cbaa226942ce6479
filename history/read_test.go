package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"lockchaos/history"
	"lockchaos/internal/golden"
)

const headLine = `{"format":"lockchaos-history","version":1,"scenario":"s","world":"local","system":"single","ttl":1000,` +
	`"quorum":1,"workload":"counter","guard":"none","discipline":"trusting","faults":0}` + "\n"

func note(seq, at int) string { return fmt.Sprintf(`{"seq":%d,"t":%d,"kind":"note"}`+"\n", seq, at) }

// Each is one thing wrong; the golden file has what is said of it.
var broken = []struct{ name, text string }{
	{"empty file", ""},
	{"an empty line only", "\n"},
	{"header cut off", headLine[:40]},
	{"header is no JSON", "hello\n"},
	{"header is null", "null\n"},
	{"another format", `{"format":"jepsen","version":1,"ttl":1}` + "\n"},
	{"an event for a header", note(1, 0)},
	{"version of the future", `{"format":"lockchaos-history","version":2,"ttl":1,"new":{"field":1}}` + "\n"},
	{"version 0", `{"format":"lockchaos-history","ttl":1}` + "\n"},
	{"no ttl", `{"format":"lockchaos-history","version":1}` + "\n"},
	{"negative ttl", `{"format":"lockchaos-history","version":1,"ttl":-5}` + "\n"},
	{"ttl in words", `{"format":"lockchaos-history","version":1,"ttl":"300ms"}` + "\n"},
	{"garbage in the middle", headLine + note(1, 0) + "\x00\xff\xfe\n" + note(2, 0)},
	{"empty line in the middle", headLine + note(1, 0) + "\n" + note(2, 0)},
	{"line cut in the middle", headLine + note(1, 0)[:12] + "\n" + note(2, 0)},
	{"long line", headLine + `{"seq":1,"text":"` + strings.Repeat("é", 500) + "\n"},
	{"a stray brace", headLine + `{"seq":1,"t":0,"kind":"note"}}` + "\n"},
	{"two events on a line", headLine + `{"seq":1,"t":0,"kind":"note"} {"seq":2,"t":0,"kind":"note"}` + "\n"},
	{"event is null", headLine + "null\n"},
	{"event is a list", headLine + "[]\n"},
	{"unknown field", headLine + `{"seq":1,"t":0,"kind":"note","colour":"red"}` + "\n"},
	{"unknown field of a fault", headLine + `{"seq":1,"t":0,"kind":"fault","fault":{"id":"f1","why":""}}` + "\n"},
	{"unknown kind", headLine + `{"seq":1,"t":0,"kind":"rumour"}` + "\n"},
	{"no kind", headLine + `{"seq":1,"t":0}` + "\n"},
	{"unknown operation", headLine + `{"seq":1,"t":0,"kind":"call","do":"steal","op":1}` + "\n"},
	{"call without op", headLine + `{"seq":1,"t":0,"kind":"call","do":"acquire"}` + "\n"},
	{"negative op", headLine + `{"seq":1,"t":0,"kind":"ledger","do":"write","op":-1,"result":"ok"}` + "\n"},
	{"unknown result", headLine + `{"seq":1,"t":0,"kind":"return","do":"acquire","op":1,"result":"maybe"}` + "\n"},
	{"return without result", headLine + `{"seq":1,"t":0,"kind":"return","do":"acquire","op":1}` + "\n"},
	{"ledger without result", headLine + `{"seq":1,"t":0,"kind":"ledger","do":"write","op":1}` + "\n"},
	{"fault without step", headLine + `{"seq":1,"t":0,"kind":"fault"}` + "\n"},
	{"does not start at 1", headLine + note(2, 0)},
	{"gap in the sequence", headLine + note(1, 0) + note(3, 0)},
	{"number twice", headLine + note(1, 0) + note(1, 0)},
	{"time goes back", headLine + note(1, 5) + note(2, 4)},
	{"number too large", headLine + `{"seq":1,"t":99999999999999999999,"kind":"note"}` + "\n"},
}

func TestBrokenHistories(t *testing.T) {
	var b strings.Builder
	for _, c := range broken {
		h, err := history.ReadAll(strings.NewReader(c.text), "history.jsonl")
		var le *history.LineError
		switch {
		case err == nil:
			t.Errorf("%s: read as %+v", c.name, h)
			continue
		case !errors.As(err, &le):
			t.Errorf("%s: %v is no LineError", c.name, err)
			continue
		}
		lines := strings.SplitAfter(c.text, "\n")
		if le.File != "history.jsonl" || le.Text != lines[le.Line-1] || le.Unwrap() == nil {
			t.Errorf("%s: file %q, line %d, text %q", c.name, le.File, le.Line, le.Text)
		}
		fmt.Fprintf(&b, "%s\n    %v\n", c.name, err)
	}
	golden.Check(t, "testdata/broken.txt", b.String())
}

func TestTruncatedTail(t *testing.T) {
	whole := headLine + note(1, 0) + note(2, 7)
	end := len(headLine) + len(note(1, 0))
	for cut := end; cut <= len(whole); cut++ {
		h, err := history.ReadAll(strings.NewReader(whole[:cut]), "h")
		if err != nil {
			t.Errorf("cut at %d: %v", cut, err)
			continue
		}
		atLine := cut == end || cut == len(whole)
		events := 1
		if cut == len(whole) {
			events = 2
		}
		if len(h.Events) != events || h.Truncated == atLine || h.Complete {
			t.Errorf("cut at %d: %d events, truncated %v, complete %v", cut, len(h.Events), h.Truncated, h.Complete)
		}
	}
}

func TestReaderError(t *testing.T) {
	lost := errors.New("the disk is gone")
	_, err := history.ReadAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(headLine))), "h")
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v, want %v", err, iotest.ErrTimeout)
	}
	if _, err := history.ReadAll(iotest.ErrReader(lost), "h"); !errors.Is(err, lost) || !strings.Contains(err.Error(), "read h:") {
		t.Errorf("got %v, want read h: %v", err, lost)
	}
}

// write is the obvious writer of what has been read.
func write(t *testing.T, h *history.History) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	if err := e.Encode(h.Header); err != nil {
		t.Fatal(err)
	}
	for _, ev := range h.Events {
		if err := e.Encode(ev); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func FuzzReadAll(f *testing.F) {
	for _, c := range broken {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(headLine + note(1, 0) + note(2, 7) + `{"seq":3`))
	var all bytes.Buffer
	r, err := history.NewRecorder(&all, head)
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range one {
		r.Add(e)
	}
	if err := r.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(all.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := history.ReadAll(bytes.NewReader(b), "fuzz")
		if err != nil {
			var le *history.LineError
			if !errors.As(err, &le) || le.Line < 1 || h != nil {
				t.Fatalf("%v with %v", err, h)
			}
			return
		}
		again, err := history.ReadAll(bytes.NewReader(write(t, h)), "again")
		if err != nil {
			t.Fatal(err)
		}
		h.Truncated = false
		for _, x := range []*history.History{h, again} { // an empty list is left out
			for i := range x.Events {
				if s := x.Events[i].Fault; s != nil && len(s.Targets) == 0 {
					s.Targets = nil
				}
			}
		}
		if !reflect.DeepEqual(h, again) {
			t.Fatalf("read %+v, written and read again %+v", h, again)
		}
	})
}

// What is no history may have no line ends, and no end.
func TestLongLine(t *testing.T) {
	endless := io.MultiReader(strings.NewReader(strings.Repeat("x", 2*history.MaxLine)), neverRead{t})
	_, err := history.ReadAll(endless, "zero")
	var line *history.LineError
	if !errors.As(err, &line) || line.Line != 1 || len(err.Error()) > 500 {
		t.Errorf("got %.300v, want a LineError for line 1", err)
	}
}

type neverRead struct{ t *testing.T }

func (n neverRead) Read([]byte) (int, error) {
	n.t.Error("it reads on after a line that is too long")
	return 0, io.EOF
}
