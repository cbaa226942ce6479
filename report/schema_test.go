package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"lockchaos/checker"
)

// schema compiles one of the published schemas.
func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	for _, file := range []string{"verdict.schema.json", "report.schema.json", "sweep.schema.json", "compare.schema.json"} {
		doc, err := jsonschema.SchemeURLLoader{"file": jsonschema.FileLoader{}}.Load("file://" + abs(t, "../docs/"+file))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("https://lockchaos.example/"+file, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("https://lockchaos.example/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func abs(t *testing.T, path string) string {
	t.Helper()
	a, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func value(t *testing.T, b []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// What is written keeps to the published schemas, and they are not so wide that
// they take anything.
func TestSchema(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, NewDigest(some())); err != nil {
		t.Fatal(err)
	}
	reports, verdicts := schema(t, "report.schema.json"), schema(t, "verdict.schema.json")
	if err := reports.Validate(value(t, b.Bytes())); err != nil {
		t.Errorf("report: %v", err)
	}
	for _, s := range some() {
		one, err := json.Marshal(s.Assessment)
		if err != nil {
			t.Fatal(err)
		}
		if err := verdicts.Validate(value(t, one)); err != nil {
			t.Errorf("verdict of %s: %v", s.Key, err)
		}
	}
	for _, id := range checker.IDs() {
		a := *some()[0].Assessment
		v := *a.Verdict
		v.Findings, a.Verdict = []checker.Finding{{ID: id, Count: 3, More: 3}}, &v
		one, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := verdicts.Validate(value(t, one)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for was, now := range map[string]string{
		`"outcome": "violated"`: `"outcome": "unlucky"`, `"format": "lockchaos-report"`: `"format": "x"`,
		`"id": "lost-update"`: `"id": "lost-cause"`, `"trial": 1`: `"trial": 0`, `"of": 1`: `"of": -1`, `"kind": "proof"`: `"kind": 7`,
	} {
		if !bytes.Contains(b.Bytes(), []byte(was)) {
			t.Fatalf("the report has no %s", was)
		}
		if reports.Validate(value(t, bytes.ReplaceAll(b.Bytes(), []byte(was), []byte(now)))) == nil {
			t.Errorf("the schema takes %s", now)
		}
	}
}

func TestCompareSchema(t *testing.T) {
	var b bytes.Buffer
	a := NewDigest(append(trials("better", 18, 20), trials("gone", 0, 1)...))
	if err := NewComparison(a, NewDigest(trials("better", 1, 20))).JSON(&b); err != nil {
		t.Fatal(err)
	}
	s := schema(t, "compare.schema.json")
	if err := s.Validate(value(t, b.Bytes())); err != nil {
		t.Errorf("comparison: %v", err)
	}
	for was, now := range map[string]string{
		`"format": "lockchaos-comparison"`: `"format": "x"`, `"n": 18`: `"n": -1`, `"significant": true`: `"significant": 1`,
		`"b": null`: `"b": 7`, `"p": `: `"q": `, `"outcome": "violated"`: `"outcome": "unlucky"`,
	} {
		if !bytes.Contains(b.Bytes(), []byte(was)) {
			t.Fatalf("the comparison has no %s:\n%s", was, b.Bytes())
		}
		if s.Validate(value(t, bytes.ReplaceAll(b.Bytes(), []byte(was), []byte(now)))) == nil {
			t.Errorf("the schema takes %s", now)
		}
	}
}
