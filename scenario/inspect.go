package scenario

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// mostCopied is how many YAML nodes the aliases of a scenario may stand for.
const mostCopied = 10_000

// wholeNumbers are the keys of a scenario that count something. The YAML
// library would read 1.5 as 1 there.
var wholeNumbers = []string{
	"hosts", "rounds", "writes", "refused", "tries", "max_retries", "wait", "min_replicas", "lock.nodes", "attempts", "grants", "trials",
}

// inspect refuses what the decoder would take: a part of a host, and what a few
// lines of anchors and aliases can blow up without bound. An error of the YAML
// itself is left to the decoder.
func inspect(source []byte, file string) error {
	f, err := parser.ParseBytes(source, 0)
	if err != nil {
		return nil
	}
	i := &inspector{sizes: map[string]int{}, file: file}
	for _, doc := range f.Docs {
		if doc.Body != nil {
			ast.Walk(i, doc.Body)
		}
	}
	return i.err
}

// inspector counts the nodes that aliases stand for.
type inspector struct {
	file  string
	sizes map[string]int // of anchors, in nodes
	total int
	err   error
}

// Visit is called for each node in the order of the file, so an anchor comes
// before its aliases.
func (i *inspector) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.AnchorNode:
		var size count
		ast.Walk(&size, n.Value)
		i.sizes[n.Name.String()] = size.nodes
		if size.alias != nil {
			i.refuse(size.alias, "an alias inside an anchor, expected plain values there")
		}
	case *ast.AliasNode:
		i.total += i.sizes[n.Value.String()]
		if i.total > mostCopied {
			i.refuse(n, fmt.Sprintf("the aliases stand for over %d values", mostCopied))
		}
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		if counts(n.GetPath()) {
			i.refuse(n, fmt.Sprintf("%s, expected a whole number", n))
		}
	}
	if i.err != nil {
		return nil
	}
	return i
}

// counts tells whether a whole number is due at a path as in "$.lock.tries".
func counts(path string) bool {
	for _, key := range wholeNumbers {
		if strings.HasSuffix(path, "."+key) {
			return !strings.HasPrefix(path, "$.lock.settings.")
		}
	}
	return strings.HasPrefix(path, "$.hammer.weights.")
}

func (i *inspector) refuse(n ast.Node, message string) {
	if i.err == nil {
		i.err = atToken(i.file, n.GetToken(), message)
	}
}

// count counts nodes, and keeps the last alias among them.
type count struct {
	nodes int
	alias ast.Node
}

// Visit counts one.
func (c *count) Visit(n ast.Node) ast.Visitor {
	c.nodes++
	if a, ok := n.(*ast.AliasNode); ok {
		c.alias = a
	}
	return c
}
