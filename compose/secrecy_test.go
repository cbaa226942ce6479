package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// agentPort is the one port of an agent.
const agentPort = 7400

// services are those of compose.yaml but the page, which is not up.
var services = []string{
	"lock1", "lock2", "lock3", "lock4", "lock5", "master", "replica1", "replica2",
	"sentinel1", "sentinel2", "sentinel3", "resource", "tokens", "postgres", "chaos", "setup",
}

// token is the secret, as a service that may read it does.
func (p *project) token(ctx context.Context, t *testing.T, service string) string {
	t.Helper()
	token := strings.TrimSpace(p.docker(ctx, t, "exec", p.container(ctx, t, service), "cat", "/run/lockchaos/token"))
	if len(token) < 32 {
		t.Errorf("the token has %d characters", len(token))
	}
	return token
}

// checkContainers looks at how each container is set up: who it is, what it may,
// and that it does not carry the token about.
func (p *project) checkContainers(ctx context.Context, t *testing.T, token string) {
	t.Helper()
	for _, service := range services {
		text := p.docker(ctx, t, "inspect", p.container(ctx, t, service))
		if strings.Contains(text, token) {
			t.Errorf("%s: docker inspect shows the token", service)
		}
		var list []struct {
			Config     struct{ User string }
			HostConfig struct {
				PortBindings   map[string]any
				CapDrop        []string
				Privileged     bool
				ReadonlyRootfs bool
			}
			NetworkSettings struct{ Networks map[string]any }
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%s: %v", service, err)
		}
		c := list[0]
		if h := c.HostConfig; len(h.PortBindings) > 0 || h.Privileged || !h.ReadonlyRootfs || !slices.Equal(h.CapDrop, []string{"ALL"}) {
			t.Errorf("%s: %+v", service, h)
		}
		networks := p.name + "_nodes"
		if service == "setup" {
			networks = "none"
		} else if user := fmt.Sprintf("%d:%d", p.uid, p.gid); c.Config.User != user {
			t.Errorf("%s is user %q, expected %q", service, c.Config.User, user)
		}
		if _, ok := c.NetworkSettings.Networks[networks]; !ok || len(c.NetworkSettings.Networks) != 1 {
			t.Errorf("%s is in the networks %v, expected %s", service, c.NetworkSettings.Networks, networks)
		}
	}
	if internal := p.docker(ctx, t, "network", "inspect", "-f", "{{.Internal}}", p.name+"_nodes"); strings.TrimSpace(internal) != "true" {
		t.Errorf("the network is not a private one: internal %s", internal)
	}
	for _, args := range [][]string{{"history", "--no-trunc", p.image}, {"image", "inspect", p.image}} {
		if strings.Contains(p.docker(ctx, t, args...), token) {
			t.Errorf("docker %s shows the token", args[0])
		}
	}
}

// checkPorts looks, while runs go on, at what listens in the nodes, and knocks
// from the runner's container at what it has found.
func (p *project) checkPorts(ctx context.Context, t *testing.T, j *job) {
	t.Helper()
	servers := 0
	look := func() bool {
		for _, service := range []string{"lock1", "resource"} {
			open, inside := listeners(p.docker(ctx, t, "exec", p.container(ctx, t, service), "cat", "/proc/net/tcp", "/proc/net/tcp6"))
			if !slices.Equal(open, []int{agentPort}) {
				t.Errorf("%s: the ports %v are open to other containers, expected only %d", service, open, agentPort)
			}
			for _, port := range inside {
				if p.knock(ctx, t, service, port) {
					t.Errorf("%s: port %d was reached past the agent", service, port)
				}
			}
			servers += len(inside)
		}
		return servers >= 6
	}
	if !j.until(ctx, look) {
		t.Errorf("%d listening ports of servers were seen: the test looks in the wrong place", servers)
	}
	if !p.knock(ctx, t, "lock1", agentPort) {
		t.Error("the agent of lock1 cannot be reached, so it says nothing that others cannot")
	}
	if out, err := p.exec(ctx, t, "chaos", "chaos", "node", "--check", "lock1:7400"); err == nil {
		t.Errorf("an agent answers without a token: %s", out)
	}
}

// knock tells whether the runner's container gets a connection.
func (p *project) knock(ctx context.Context, t *testing.T, name string, port int) bool {
	t.Helper()
	out, err := p.exec(ctx, t, "chaos", "timeout", "5", "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%d", name, port))
	if err != nil && !strings.Contains(out, "refused") {
		t.Errorf("connect to %s:%d: %v: %s", name, port, err, out)
	}
	return err == nil
}

// listeners reads /proc/net/tcp and tcp6: the ports that listen for others, and
// those on the loopback address.
func listeners(text string) (open, inside []int) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != "0A" {
			continue
		}
		addr, hex, _ := strings.Cut(f[1], ":")
		port, err := strconv.ParseInt(hex, 16, 32)
		if err != nil {
			continue
		}
		// Docker's own resolver listens at 127.0.0.11, for the container only.
		switch addr {
		case "0100007F", "00000000000000000000000001000000":
			inside = append(inside, int(port))
		case "0B00007F":
		default:
			open = append(open, int(port))
		}
	}
	return open, inside
}

// checkSecret searches all that was left and said for the token.
func (p *project) checkSecret(t *testing.T, token string, said []byte) {
	t.Helper()
	if token == "" {
		return
	}
	if bytes.Contains(said, []byte(token)) {
		t.Error("the token stands in what the containers said")
	}
	files := 0
	err := filepath.WalkDir(p.results, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files++
		if bytes.Contains(b, []byte(token)) {
			t.Errorf("the token stands in %s", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files were searched for the token, %v", files, err)
	}
}

func TestListeners(t *testing.T) {
	open, inside := listeners(`  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
   1: 00000000:18EC 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000
   2: 0100007F:18EB 0100007F:9C40 01 00000000:00000000 00:00000000 00000000  1000
   3: 0B00007F:A0F1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:1CE8 00000000000000000000000000000000:0000 0A 00000000:00000000
`)
	if !slices.Equal(open, []int{6380, agentPort}) || !slices.Equal(inside, []int{6379}) {
		t.Errorf("open %v, inside %v", open, inside)
	}
}
