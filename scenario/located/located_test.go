package located_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"lockchaos/scenario/located"
)

// word is any word but "bad".
type word string

var errBad = errors.New("that word is bad")

func (w *word) UnmarshalText(b []byte) error {
	if string(b) == "bad" {
		return errBad
	}
	*w = word(b)
	return nil
}

func (w *word) UnmarshalYAML(n ast.Node) error { return located.Text(n, w) }

func TestText(t *testing.T) {
	for _, c := range []struct {
		text, want string
		err        string // with its place
	}{
		{"w: good", "good", ""},
		{"w: 'two words'", "two words", ""},
		{"w: 17", "17", ""},
		{"w: true", "true", ""},
		{"w: |\n  long", "long", ""},
		{"x: &a good\nw: *a", "good", ""},
		{"w: >\n  long\n  er\n", "long er", ""},
		{"w: &a good", "good", ""},
		{"w: !!str good", "good", ""},
		{"w:", "", ""},
		{"x: 1\nw: bad", "", "[2:4] that word is bad"},
		{"x: 1\ny: 2\nw: [good]", "", "[3:4] expected a word, not a Sequence"},
		{"w: {a: b}", "", "[1:4] expected a word, not a Mapping"},
	} {
		var v struct {
			X, Y any
			W    word
		}
		err := yaml.Unmarshal([]byte(c.text), &v)
		got := ""
		if err != nil {
			got, _, _ = strings.Cut(err.Error(), "\n")
		}
		if got != c.err || strings.TrimSpace(string(v.W)) != c.want {
			t.Errorf("%q: %q, %q, want %q, %q", c.text, v.W, got, c.want, c.err)
		}
	}
}
