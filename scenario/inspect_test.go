package scenario

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Each int of a scenario is one of the keys at which only whole numbers are read.
func TestWholeNumbersAreAllInts(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var visit func(path string, typ reflect.Type)
	visit = func(path string, typ reflect.Type) {
		if reflect.PointerTo(typ).Implements(text) {
			return
		}
		switch typ.Kind() {
		case reflect.Int:
			if !counts(path) {
				t.Errorf("%s is an int, and not in wholeNumbers", path)
			}
		case reflect.Pointer, reflect.Slice:
			visit(path, typ.Elem())
		case reflect.Map:
			visit(path+".x", typ.Elem())
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			for i := range typ.NumField() {
				f := typ.Field(i)
				name, rest, _ := strings.Cut(f.Tag.Get("yaml"), ",")
				switch {
				case name == "-" || !f.IsExported():
				case slices.Contains(strings.Split(rest, ","), "inline"):
					visit(path, f.Type)
				default:
					visit(path+"."+name, f.Type)
				}
			}
		}
	}
	visit("$", reflect.TypeFor[Scenario]())
	if !seen[reflect.TypeFor[Expect]()] || !counts("$.lock.nodes") || counts("$.lock.settings.hosts") || counts("$.faults[0].nodes[0]") {
		t.Error("the test does not see what it should")
	}
}

var text = reflect.TypeFor[interface{ UnmarshalText([]byte) error }]()
