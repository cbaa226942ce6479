package faults

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// docs/faults.md has a section for each kind, with a line of YAML that can be
// taken as it stands, and says how it is proved.
func TestFaultsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(page), "\n### ")[1:] {
		name, text, _ := strings.Cut(s, "\n")
		sections[name], _, _ = strings.Cut(text, "\n## ")
	}
	for _, k := range Kinds() {
		text, ok := sections[k.Name]
		if !ok {
			t.Errorf("%s has no section", k.Name)
			continue
		}
		delete(sections, k.Name)
		if !strings.Contains(text, "\n* Proof: ") {
			t.Errorf("the section of %s does not say how it is proved", k.Name)
		}
		k.checkExample(t, text)
	}
	for name := range sections {
		t.Errorf("%s is no kind of fault", name)
	}
}

// It says, too, which faults exclude each other at one target.
func TestFaultsPageOnOverlaps(t *testing.T) {
	page, err := os.ReadFile("../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	killed := (&failedOver{spec: Spec{How: howKill}}).holds()
	for _, what := range []aspect{process, writable, memory, clockSpeed, clockShown, speed, mastership, replicating} {
		var names []string
		for _, k := range Kinds() {
			if slices.Contains(k.holds, what) || k.Name == failover.Name && slices.Contains(killed, what) {
				names = append(names, k.Name)
			}
		}
		if row := fmt.Sprintf("\n| %s | %s |\n", what, strings.Join(names, ", ")); !strings.Contains(string(page), row) {
			t.Errorf("it has no row %q", row)
		}
	}
}

func (k Kind) checkExample(t *testing.T, text string) {
	t.Helper()
	_, after, _ := strings.Cut(text, "```yaml\n")
	example, _, ok := strings.Cut(after, "```")
	if !ok {
		t.Errorf("%s has no example", k.Name)
		return
	}
	var specs []Spec
	if err := yaml.UnmarshalWithOptions([]byte(example), &specs, yaml.Strict()); err != nil {
		t.Errorf("the example of %s: %v", k.Name, err)
	}
	for _, s := range specs {
		if s.Kind != k.Name {
			t.Errorf("the example of %s is of %s", k.Name, s.Kind)
		}
		if s.Direction == "" {
			s.Direction = "both"
		}
		if err := k.Check(s); err != nil {
			t.Errorf("the example of %s: %v", k.Name, err)
		}
		if ends := s.For > 0 || !s.Until.IsZero(); ends != k.Heals {
			t.Errorf("the example of %s: it ends: %t, the kind does: %t", k.Name, ends, k.Heals)
		}
	}
}
