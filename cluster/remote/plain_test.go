package remote

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// hush is a secret, which nothing may repeat.
const hush = "hush-hush-8d1f"

// A cluster file names plain servers and what leads to their passwords; what is
// wrong is named with its line, and no secret is repeated.
func TestReadPlainMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ file, says string }{
		"an address":         {`nodes: [{name: a, server: "10.0.0.5:6379", roles: [lock]}]`, ""},
		"everything":         {"nodes:\n  - {name: a, server: \"[::1]:6379\", user: u, password_env: P, tls: true, ca: c, cert: d, key: e, server_name: f, roles: [resource, tokens]}\n  - {name: b, agent: \"b:7400\", roles: [lock]}", ""},
		"nothing":            {`nodes: [{name: a, roles: [lock]}]`, `nodes[0].agent: "", expected host:port`},
		"no port":            {`nodes: [{name: a, server: 10.0.0.5, roles: [lock]}]`, `:1: nodes[0].server: "10.0.0.5", expected host:port`},
		"a port of letters":  {`nodes: [{name: a, server: "h:redis", roles: [lock]}]`, `nodes[0].server: "h:redis"`},
		"port 0":             {`nodes: [{name: a, server: "h:0", roles: [lock]}]`, `nodes[0].server: "h:0"`},
		"a master":           {"nodes:\n  - {name: a, server: \"h:1\", roles: [lock, master]}", `:2: nodes[0].roles[1]: "master", and a plain server can only be lock, resource, tokens`},
		"both":               {`nodes: [{name: a, agent: "h:2", server: "h:1", roles: [lock]}]`, "nodes[0].agent: there is a server"},
		"a key of the other": {`nodes: [{name: a, agent: "h:2", tls: true, roles: [lock]}]`, "nodes[0].agent: there is a server, or a key of one"},
		"twice":              {"nodes:\n  - {name: a, server: \"h:1\", roles: [lock]}\n  - {name: b, server: \"h:1\", roles: [lock]}", ":3: nodes[1].server: h:1 is that of a"},
		"a URL":              {"nodes:\n  - {name: a, server: \"redis://u:" + hush + "@h:1\", roles: [lock]}", ":2: an address is host:port alone"},
		"user@host":          {"nodes:\n  - {name: a, server: \"u:" + hush + "@h:1\", roles: [lock]}", ":2: an address is host:port alone"},
		"user#1@host":        {"nodes:\n  - {name: a, server: \"u:#" + hush + "@h:1\", roles: [lock]}", ":2: an address is host:port alone"},
		"a comment":          {"# password: of https://u@redis.example\nnodes: [{name: a, server: \"h:1\", roles: [lock]}] # password: x", ""},
		"a password":         {"nodes:\n  - {name: a, server: \"h:1\", password: " + hush + ", roles: [lock]}", ":2: a secret does not belong in a cluster file"},
		"a password, too":    {"nodes:\n  - name: a\n    \"password\": " + hush, ":3: a secret does not belong in a cluster file"},
		"a password in JSON": {`{"nodes":[{"name":"a","password":"` + hush + `"}]}`, ":1: a secret does not belong in a cluster file"},
		"two passwords":      {`nodes: [{name: a, server: "h:1", password_env: A, password_file: b, roles: [lock]}]`, "nodes[0].password_file: there is a password_env"},
		"user, no password":  {`nodes: [{name: a, server: "h:1", user: u, roles: [lock]}]`, `nodes[0].user: "u" needs a password`},
		"ca without tls":     {`nodes: [{name: a, server: "h:1", ca: c.pem, roles: [lock]}]`, "are for tls: true"},
		"cert without a key": {`nodes: [{name: a, server: "h:1", tls: true, cert: c.pem, roles: [lock]}]`, "nodes[0].tls: cert and key go together"},
		"an unknown key":     {`nodes: [{name: a, server: "h:1", sever_name: x, roles: [lock]}]`, "sever_name"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cluster.yaml")
			if err := os.WriteFile(path, []byte(c.file), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadMembers(path)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, expected %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), hush) {
				t.Errorf("it repeats a secret: %v", err)
			}
		})
	}
}

// docs/remote.md explains each key, and the user that the tests have.
func TestPlainDocs(t *testing.T) {
	b, err := os.ReadFile("../../docs/remote.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for f := range reflect.TypeFor[Plain]().Fields() {
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("it says nothing of %s", key)
		}
	}
	if rules := strings.Join(rights, " "); !strings.Contains(page, rules) {
		t.Errorf("it does not name the rights %s", rules)
	}
}
