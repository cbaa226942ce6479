package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/cluster"
)

func TestReadMembers(t *testing.T) {
	t.Parallel()
	const hidden = "a-secret-that-nobody-may-read"
	for name, c := range map[string]struct{ text, says string }{
		"a token":       {"token: " + hidden + "\nnodes: []\n", `:1: unknown field "token"`},
		"a pass":        {"nodes:\n  - {name: a, server: \"h:1\", pass: " + hidden + ", roles: [lock]}\n", `:2: unknown field "pass"`},
		"no variable":   {"nodes:\n  - {name: a, server: \"h:1\", password_env: " + hidden + ", roles: [lock]}\n", ":2: nodes[0].password_env: expected the name of an environment variable"},
		"good":          {"nodes:\n  - {name: lock1, agent: \"lock1:7400\", roles: [lock, master]}\n", ""},
		"empty":         {"", "the file is empty"},
		"no nodes":      {"nodes: []\n", "none given"},
		"unknown key":   {"nodes:\n  - {name: a, adress: \"h:1\", roles: [lock]}\n", ":2: unknown field"},
		"bad name":      {"nodes:\n  - {name: A b, agent: \"h:1\", roles: [lock]}\n", `:2: nodes[0].name: "A b"`},
		"name twice":    {"nodes:\n  - {name: a, agent: \"h:1\", roles: [lock]}\n  - {name: a, agent: \"h:2\", roles: [lock]}\n", `:3: nodes[1].name: "a" stands twice`},
		"agent twice":   {"nodes:\n  - {name: a, agent: \"h:1\", roles: [lock]}\n  - {name: b, agent: \"h:1\", roles: [lock]}\n", ":3: nodes[1].agent: h:1 is that of a"},
		"no port":       {"nodes:\n  - {name: a, agent: h, roles: [lock]}\n", `:2: nodes[0].agent: "h", expected host:port`},
		"port too high": {"nodes:\n  - {name: a, agent: \"h:70000\", roles: [lock]}\n", `"h:70000", expected host:port`},
		"no roles":      {"nodes:\n  - {name: a, agent: \"h:1\"}\n", ":2: nodes[0].roles: none given"},
		"role twice":    {"nodes:\n  - {name: a, agent: \"h:1\", roles: [lock, lock]}\n", `:2: nodes[0].roles[1]: "lock" stands twice`},
		"bad role":      {"nodes:\n  - {name: a, agent: \"h:1\", roles: [lock, king]}\n", `:2: nodes[0].roles[1]: "king", expected one of lock, master`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "cluster.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadMembers(file)
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), file)):
				t.Errorf("got %v, expected %q of %s", err, c.says, file)
			case err != nil && strings.Contains(err.Error(), hidden):
				t.Errorf("the error repeats the secret: %v", err)
			}
		})
	}
}

// Some members can be more than one thing: a placement is found where there is one.
func TestPlace(t *testing.T) {
	t.Parallel()
	f := &Fleet{taken: map[string]bool{}, freed: make(chan struct{}), members: []Member{
		{Name: "a", Roles: []string{RoleLock, RoleResource}}, {Name: "b", Roles: []string{RoleLock}},
	}}
	spec := cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: cluster.Resource}}}
	p, err := f.Reserve(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.members["n1"].Name != "b" || p.members[cluster.Resource].Name != "a" {
		t.Errorf("placed %v", p.members)
	}
	got := make(chan *Placement)
	go func() {
		second, err := f.Reserve(t.Context(), spec)
		if err != nil {
			t.Error(err)
		}
		got <- second
	}()
	select {
	case <-got:
		t.Error("two runs have the same nodes")
	default:
	}
	p.Free()
	p.Free()
	(<-got).Free()
	spec.Nodes = append(spec.Nodes, cluster.NodeSpec{Name: cluster.Tokens})
	if _, err := f.Reserve(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "1 lock, 1 resource, 1 tokens, and there are 2 lock, 1 resource") {
		t.Errorf("too few: %v", err)
	}
}
