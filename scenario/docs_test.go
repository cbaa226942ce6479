package scenario_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/faults"
	"lockchaos/internal/golden"
	"lockchaos/locks"
	"lockchaos/workloads"
)

// docs/scenarios.md is made from the types that a scenario file is read into,
// so that it cannot say anything else than they do.
func TestDocs(t *testing.T) {
	d := reference{types: map[string]*ast.TypeSpec{}, seen: map[string]bool{}}
	for _, pkg := range []string{"scenario", "faults", "locks", "history"} {
		d.load(t, pkg)
	}
	example, err := os.ReadFile("../scenarios/single/pause-after-acquire.yaml")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&d, docsHead, example)
	d.structure("scenario.Scenario", "The file", "")
	d.faults()
	d.systems()
	d.guards()
	d.findings()
	golden.Check(t, "../docs/scenarios.md", d.String())
}

const docsHead = `# Scenario files

<!-- Made from the Go types by "go test ./scenario -run TestDocs -update". -->

A scenario is a YAML file: which lock is put under test, what is done under it, what goes wrong and when, and what must
come out. There is one run for each guard, and one for the control: the same without faults. A name of the catalogue
(` + "`chaos list`" + `) and a file are run in the same way: ` + "`./chaos run single/pause-after-acquire`, `./chaos run my.yaml`" + `.
Unknown keys are errors, and each error names the file, the line and what is allowed there.

This is the scenario of the catalogue that shows most, single/pause-after-acquire:

` + "```yaml\n%s```" + `

Times are written as ` + "`300ms` or `2s`" + `. A 0 that would mean nothing, as in ` + "`retry: 0s`" + `, is an error, and never taken for a key that is absent. Hosts are called w1, w2, …; lock nodes n1, n2, …; the node with the counter is
` + "`resource`" + `.

A **trigger** is a time since the start of the run, ` + "`at 200ms`" + `, or a step of a host, ` + "`before w2 writes` or `after w1 acquired 3`" + `:
acquires/acquired, reads/read, checks/checked, writes/wrote, extends/extended, releases/released, and a number for a later
one. At a start it counts from the start of the run, at an end from when its fault was seen to work. An **order** makes a step wait for a
trigger: ` + "`w2 acquires after w1 acquired`" + `.
`

// reference writes the page.
type reference struct {
	strings.Builder
	types map[string]*ast.TypeSpec // by package.Name
	seen  map[string]bool
	next  []func()
}

func (d *reference) load(t *testing.T, pkg string) {
	files, err := filepath.Glob("../" + pkg + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of %s: %v", pkg, err)
	}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			g, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					if s.Doc == nil {
						s.Doc = g.Doc
					}
					d.types[pkg+"."+s.Name.Name] = s
				}
			}
		}
	}
}

// structure writes a table of the keys of one type, and then those of the types in it.
func (d *reference) structure(name, title, at string) {
	s := d.types[name]
	body, ok := s.Type.(*ast.StructType)
	if !ok || d.seen[name] {
		return
	}
	d.seen[name] = true
	fmt.Fprintf(d, "\n## %s\n\n%s\n\n| key | value | what it says |\n| --- | --- | --- |\n", title, prose(s.Doc.Text()))
	d.rows(name, body, at)
	next := d.next
	d.next = nil
	for _, f := range next {
		f()
	}
}

func (d *reference) rows(name string, body *ast.StructType, at string) {
	pkg, _, _ := strings.Cut(name, ".")
	doc := ""
	for _, f := range body.Fields.List {
		tag := ""
		if f.Tag != nil {
			tag = reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("yaml")
		}
		key, inline, _ := strings.Cut(tag, ",")
		inner, label := typeOf(f.Type, pkg)
		if key == "-" || tag == "" {
			continue
		}
		if text := f.Doc.Text() + f.Comment.Text(); text != "" {
			doc = text
		}
		if inline == "inline" {
			if s, ok := d.types[inner].Type.(*ast.StructType); ok {
				d.rows(inner, s, at)
			}
			continue
		}
		if s, ok := d.types[inner]; ok && strings.HasPrefix(label, "keys") {
			if _, ok := s.Type.(*ast.StructType); ok {
				d.next = append(d.next, func() { d.structure(inner, "`"+at+key+"`", at+key+".") })
			}
		}
		text := doc
		if len(f.Names) > 0 && f.Doc == nil && f.Comment == nil && !strings.Contains(doc, f.Names[0].Name) {
			text = "" // the comment before is about others
			if s, ok := d.types[inner]; ok {
				text = s.Doc.Text()
			}
		}
		fmt.Fprintf(d, "| `%s` | %s | %s |\n", at+key, label, cell(text))
	}
}

// typeOf names the type within lists, maps and pointers, and says what stands in a file.
func typeOf(e ast.Expr, pkg string) (name, label string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeOf(e.X, pkg)
	case *ast.ArrayType:
		name, label = typeOf(e.Elt, pkg)
		if strings.HasPrefix(label, "keys") {
			return name, "keys, a list of them"
		}
		return name, "list of " + label
	case *ast.MapType:
		name, label = typeOf(e.Value, pkg)
		return name, strings.TrimSuffix(label, " of their own") + ", by name"
	case *ast.SelectorExpr:
		return typeOf(e.Sel, e.X.(*ast.Ident).Name)
	case *ast.InterfaceType:
		return "", "anything"
	case *ast.Ident:
		plain := map[string]string{
			"string": "word", "int": "number", "float64": "number", "bool": "true or false", "any": "anything",
			"Duration": "time", "Trigger": "trigger", "Order": "order",
		}
		if label, ok := plain[e.Name]; ok {
			return "", label
		}
		return pkg + "." + e.Name, "keys of their own"
	}
	return "", "?"
}

func (d *reference) faults() {
	d.WriteString("\n## Kinds of fault\n\n| fault | done to | ends | own keys | what it does |\n| --- | --- | --- | --- | --- |\n")
	for _, k := range faults.Kinds() {
		to := map[[2]bool]string{{true, false}: "hosts", {false, true}: "nodes", {true, true}: "links: hosts × nodes"}[[2]bool{k.Hosts, k.Nodes}]
		ends := "at once"
		if k.Heals {
			ends = "`until` or `for`"
		}
		fmt.Fprintf(d, "| `%s` | %s | %s | %s | %s |\n", k.Name, to, ends, code(k.Takes), k.About)
	}
}

func (d *reference) systems() {
	d.WriteString("\n## Lock systems\n\n| system | nodes | token | own options | what it is |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range locks.Systems() {
		mints := "none"
		if s.Mints {
			mints = "yes"
		}
		fmt.Fprintf(d, "| `%s` | %d | %s | %s | %s |\n", s.Name, s.Nodes, mints, code(s.Options), s.About)
	}
	fmt.Fprintf(d, "| `%s` | 1 or 5 | as the host says | `command`, `nodes`, `settings` | any program that speaks the [host protocol](host-protocol.md) |\n", locks.External)
}

func (d *reference) guards() {
	d.WriteString("\n## Guards at the resource\n\n| guard | what it does |\n| --- | --- |\n")
	for _, g := range workloads.Guards() {
		fmt.Fprintf(d, "| `%s` | %s |\n", g.Name, g.About)
	}
}

func (d *reference) findings() {
	fmt.Fprintf(d, "\n## What can be expected\n\nAn outcome is %s, %s or %s; `any` of a hammer. The findings:\n\n", checker.Safe, checker.Violated, checker.Inconclusive)
	d.WriteString("| finding | about |\n| --- | --- |\n")
	for _, id := range checker.IDs() {
		about := "liveness, or the run itself"
		if checker.Safety(id) {
			about = "safety"
		}
		fmt.Fprintf(d, "| `%s` | %s |\n", id, about)
	}
	fmt.Fprintf(d, "\nA `%s` may name its cause, as in `%s/%s`: %s.\n", checker.DoubleGrant, checker.DoubleGrant, checker.CauseStateLoss, code(checker.Causes()))
}

func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

// prose is a comment as a paragraph.
func prose(s string) string { return strings.TrimSpace(s) }

// cell is a comment as one line of a table.
func cell(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "\\|")
}
