package compose

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"lockchaos/cluster/remote"
)

// file is what the tests look at of compose.yaml.
type file struct {
	Services map[string]struct {
		Image       string         `yaml:"image"`
		Command     any            `yaml:"command"`
		DependsOn   map[string]any `yaml:"depends_on"`
		Networks    []string       `yaml:"networks"`
		Ports       []string       `yaml:"ports"`
		Profiles    []string       `yaml:"profiles"`
		User        string         `yaml:"user"`
		Environment any            `yaml:"environment"`
	} `yaml:"services"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
}

func read(t *testing.T) *file {
	t.Helper()
	b, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f file
	// What stands beside a merge key is there twice for this reader.
	if err := yaml.UnmarshalWithOptions(b, &f, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	return &f
}

// The nodes of the cluster file are the agents of the stack, and the runner waits
// for each of them.
func TestClusterFile(t *testing.T) {
	m, err := remote.ReadMembers("cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f := read(t)
	waits := f.Services["chaos"].DependsOn
	for _, n := range m.Nodes {
		words, _ := f.Services[n.Name].Command.([]any)
		if len(words) == 0 || words[0] != "node" || n.Agent != n.Name+":7400" {
			t.Errorf("%s: %s is no agent of the stack: %v", n.Name, n.Agent, words)
		}
		if waits[n.Name] == nil {
			t.Errorf("the runner does not wait for %s", n.Name)
		}
		if nets := f.Services[n.Name].Networks; !slices.Equal(nets, []string{"nodes"}) || !f.Networks["nodes"].Internal {
			t.Errorf("%s is in the networks %v, expected only the internal one", n.Name, nets)
		}
	}
	if len(m.Nodes) != 14 || len(waits) != len(m.Nodes) {
		t.Errorf("%d nodes, and the runner waits for %d; expected 14", len(m.Nodes), len(waits))
	}
}

// Only the page publishes a port, to this machine only and when it is asked for;
// nothing is handed over in the environment; and every image has a version.
func TestComposeFile(t *testing.T) {
	for name, s := range read(t).Services {
		if s.Environment != nil {
			t.Errorf("%s has an environment, which docker inspect shows: %v", name, s.Environment)
		}
		if name == "page" {
			if len(s.Ports) != 1 || !strings.HasPrefix(s.Ports[0], "127.0.0.1:") || len(s.Profiles) != 1 {
				t.Errorf("page: ports %v, profiles %v", s.Ports, s.Profiles)
			}
		} else if len(s.Ports) > 0 {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
	}
	tags := regexp.MustCompile(`(?m)^(?:ARG \w+_IMAGE=|.*_IMAGE:-)([a-z]+)(?::([\w.-]+))?`)
	for _, name := range []string{"Dockerfile", "compose.yaml"} {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		found := tags.FindAllStringSubmatch(string(b), -1)
		if len(found) < 2 {
			t.Errorf("%s: images %v, expected two or more", name, found)
		}
		for _, m := range found {
			if m[2] == "" || strings.HasPrefix(m[2], "latest") {
				t.Errorf("%s: the image %s has no version: %q", name, m[1], m[2])
			}
		}
	}
}

// Each Compose of this machine understands the file.
func TestConfig(t *testing.T) {
	asked := 0
	for _, c := range [][]string{{"docker", "compose"}, {"docker-compose"}} {
		if exec.Command(c[0], append(c[1:], "version")...).Run() != nil {
			continue
		}
		asked++
		cmd := exec.Command(c[0], append(c[1:], "-f", "compose.yaml", "-f", "testdata/test.yaml", "config")...)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "/lockchaos/scenarios") {
			t.Errorf("%s config: %v\n%s", strings.Join(c, " "), err, out)
		}
	}
	if asked == 0 {
		excuse(t, "there is no Compose (apt-get install docker-compose)")
	}
}
