// Package located gives the errors of YAML values their place in the file.
package located

import (
	"encoding"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Text hands the text of a scalar to u. An error of u names the node's place.
func Text(n ast.Node, u encoding.TextUnmarshaler) error {
	s, ok := n.(ast.ScalarNode)
	if !ok {
		return at(n, fmt.Sprintf("expected a word, not a %s", n.Type()))
	}
	value := s.GetValue()
	if l, ok := n.(*ast.LiteralNode); ok { // whose own value has the | or > in it
		value = strings.TrimSuffix(l.Value.Value, "\n")
	}
	if err := u.UnmarshalText([]byte(fmt.Sprint(value))); err != nil {
		return at(n, err.Error())
	}
	return nil
}

func at(n ast.Node, message string) error {
	return &yaml.SyntaxError{Message: message, Token: n.GetToken()}
}
