package history

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// docs/history.md must name every field, kind, operation and result.
func TestDocs(t *testing.T) {
	b, err := os.ReadFile("../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, v := range []any{Event{}, Header{}, FaultStep{}, Phases{}, Ops{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			words = append(words, name)
		}
	}
	for k := range kinds {
		words = append(words, string(k))
	}
	for d := range dos {
		words = append(words, string(d))
	}
	for r := range results {
		words = append(words, string(r))
	}
	for _, w := range words {
		if !strings.Contains(string(b), "`"+w+"`") {
			t.Errorf("docs/history.md does not name `%s`", w)
		}
	}
}
