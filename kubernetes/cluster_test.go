package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// cluster is the cluster file of --on remote, as far as manifests have to do with it.
type cluster struct {
	Nodes []struct {
		Name  string   `json:"name"`
		Agent string   `json:"agent"`
		Roles []string `json:"roles"`
	} `json:"nodes"`
}

// nodesOf are how many nodes of each role all scenarios together need.
var nodesOf = map[string]int{"lock": 5, "master": 1, "replica": 2, "sentinel": 3, "resource": 1, "tokens": 1, "postgres": 1}

// clusterFile: it names the pods that there are, by the names that they have, each
// with the role that its StatefulSet is called by.
func clusterFile(s *set) []string {
	var want []string
	count := map[string]int{}
	for _, p := range s.pods {
		for _, name := range p.names {
			role := p.labels["app.kubernetes.io/component"]
			want = append(want, fmt.Sprintf("%s.%s:%d %s", name, p.service, agentPort, role))
			count[role]++
		}
	}
	if len(want) == 0 && len(s.configs) == 0 {
		return nil // no nodes in this build
	}
	var bad said
	for role, n := range nodesOf {
		if count[role] != n {
			bad.add("%d nodes are %s, expected %d", count[role], role, n)
		}
	}
	var got, names []string
	for _, c := range s.configs {
		var file cluster
		if err := yaml.UnmarshalStrict([]byte(c.Data["cluster.yaml"]), &file); err != nil {
			bad.add("ConfigMap %s: %v", c.Name, err)
		}
		for _, n := range file.Nodes {
			got = append(got, n.Agent+" "+strings.Join(n.Roles, ","))
			names = append(names, n.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		bad.add("cluster.yaml: it has\n%s\nand the pods are\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) != len(names) {
		bad.add("cluster.yaml: two nodes of one name in %v", names)
	}
	return bad
}

// The container that waits for the agents asks each of the cluster file, and asks
// again where one does not answer yet. Its script is run, with a chaos that answers
// the second time.
func TestWait(t *testing.T) {
	for _, build := range []string{"overlays/suite", "overlays/nightly"} {
		t.Run(build, func(t *testing.T) {
			files := manifests(t)
			script := waitScript(t, files, build)
			dir := t.TempDir()
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("cluster.yaml", files["base/cluster.yaml"])
			write("sleep", "#!/bin/sh\n")
			write("chaos", "#!/bin/sh\necho \"$@\" >>"+dir+"/calls\ntest -e "+dir+"/$3 || { touch "+dir+"/$3; exit 70; }\n")
			cmd := exec.Command("sh", "-euc", strings.ReplaceAll(script, "/etc/chaos/cluster", dir))
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var want strings.Builder
			for _, m := range regexp.MustCompile(`agent: "(.*?)"`).FindAllStringSubmatch(files["base/cluster.yaml"], -1) {
				want.WriteString(strings.Repeat("node --check "+m[1]+" --token-file /etc/chaos/token/token\n", 2))
			}
			got, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil || string(got) != want.String() || want.Len() == 0 {
				t.Errorf("asked, %v:\n%s\nwant:\n%s", err, got, want.String())
			}
		})
	}
}

func waitScript(t *testing.T, files map[string]string, dir string) string {
	t.Helper()
	s := setOf(t, files, dir)
	for _, p := range s.pods {
		for _, c := range p.spec.InitContainers {
			if slices.Equal(c.Command, []string{"sh", "-euc"}) && len(c.Args) == 1 {
				return c.Args[0]
			}
		}
	}
	t.Fatal("no container waits")
	return ""
}
