package scenario

import (
	"errors"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// allowed says which keys could stand in the place of an unknown one, the source
// being read into a type; "" where err is another error.
func allowed(source []byte, err error, into reflect.Type) string {
	var unknown *yaml.UnknownFieldError
	if !errors.As(err, &unknown) || unknown.GetToken() == nil {
		return ""
	}
	f, perr := parser.ParseBytes(source, 0)
	if perr != nil || len(f.Docs) == 0 {
		return ""
	}
	t := holder(f.Docs[0].Body, into, unknown.GetToken().Position)
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	return ", expected one of " + strings.Join(keys(t), ", ")
}

// holder is the type that the mapping with a key at that place is read into, n
// being read into t; nil if no key is there.
func holder(n ast.Node, t reflect.Type, at *token.Position) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			if found := holder(v, t, at); found != nil {
				return found
			}
		}
	case *ast.MappingValueNode:
		key := n.Key.GetToken()
		if key.Position.Line == at.Line && key.Position.Column == at.Column {
			return t
		}
		return holder(n.Value, valueType(t, key.Value), at)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			if found := holder(v, elemType(t), at); found != nil {
				return found
			}
		}
	case *ast.AnchorNode:
		return holder(n.Value, t, at)
	case *ast.TagNode:
		return holder(n.Value, t, at)
	}
	return nil
}

// valueType is the type of the value under a key of t.
func valueType(t reflect.Type, key string) reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return elemType(t)
	}
	for i := range t.NumField() {
		name, inline := keyOf(t.Field(i))
		if inline {
			if v := valueType(t.Field(i).Type, key); v != nil {
				return v
			}
		}
		if name != "" && name == key {
			return t.Field(i).Type
		}
	}
	return nil
}

func elemType(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Map || t.Kind() == reflect.Slice) {
		return t.Elem()
	}
	return nil
}

// keys lists the keys that a type is read from, in the order of its fields.
func keys(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		switch name, inline := keyOf(t.Field(i)); {
		case inline:
			all = append(all, keys(t.Field(i).Type)...)
		case name != "":
			all = append(all, name)
		}
	}
	return all
}

// keyOf is the key of a field, or "" where it has none of its own.
func keyOf(f reflect.StructField) (name string, inline bool) {
	name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	switch {
	case options == "inline":
		return "", true
	case name == "-" || !f.IsExported():
		return "", false
	case name == "":
		return strings.ToLower(f.Name), false
	}
	return name, false
}
