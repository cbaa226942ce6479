package local

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"lockchaos/cluster"
)

// peering is what a node needs to have to do with others.
type peering struct {
	role     string
	number   int            // among the nodes of the role, from 0
	announce netip.AddrPort // not valid where it has no peers
	source   netip.Addr     // that it dials from
	first    netip.AddrPort // of the first master

	minReplicas int
	prefer      bool
}

// Times of Sentinels, in milliseconds: a failover is to take about a second.
const (
	failoverTimeout = 2000
	quorum          = 2
)

// downAfter is for how long the master must be silent, by the number of the
// Sentinel. Sentinels that come to this at one time vote each for itself, and
// try again seconds later. So one is quick to agree, the next one that has
// noticed is elected, and the rest only vote.
func downAfter(i int) int {
	switch i {
	case 0:
		return 1000
	case 1:
		return 600
	}
	return 2500
}

// sentinelPeriods shorten what Sentinel does in peace, so that it learns in a
// tenth of a second what takes it ten by default, as SENTINEL DEBUG allows. The
// period of pings cannot be as short: while the master is down replicas are
// asked once a second, and one is passed over whose answer is older than five pings.
// Nor that of announcements: four of them after a replica has become a master,
// a Sentinel that has not heard of the failover turns it back.
func sentinelPeriods(i int) []string {
	ask := "1000"
	if i == 0 { // the one that is to be elected
		ask = "50"
	}
	return []string{
		"INFO-PERIOD", "100", "PING-PERIOD", "400", "ASK-PERIOD", ask, "PUBLISH-PERIOD", "600",
		// It stands still for this long when it finds that time has jumped, as on a busy machine.
		"TILT-PERIOD", "500",
	}
}

// peering is what the spec of a node says of its peers.
func (c *Cluster) peering(spec cluster.NodeSpec) peering {
	p := peering{
		role: spec.Role, announce: c.announced[spec.Name], source: c.sources[spec.Name],
		minReplicas: spec.MinReplicas, prefer: spec.Prefer,
	}
	for _, s := range c.spec.Nodes {
		if s.Name == spec.Name {
			break
		}
		if s.Role == spec.Role {
			p.number++
		}
	}
	for _, s := range c.spec.Nodes {
		if at, ok := c.announced[s.Name]; ok && s.Role == cluster.RolePrimary {
			p.first = at
			break
		}
	}
	return p
}

func (n *node) configFile() string { return filepath.Join(n.dir, "redis.conf") }

// configure writes the file that a failover rewrites, before the first start. A
// Sentinel is a redis-server, too: it is started with --sentinel.
func (n *node) configure() error {
	p := n.peering
	if !p.announce.IsValid() {
		return nil
	}
	var lines []string
	switch p.role {
	case cluster.RoleReplica:
		lines = []string{fmt.Sprintf("replicaof %s %d", p.first.Addr(), p.first.Port())}
	case cluster.RoleSentinel:
		lines = []string{
			fmt.Sprintf("port %d", n.port.number), "bind 127.0.0.1", "dir " + strconv.Quote(n.dir),
			"logfile \"\"", "daemonize no", "set-proc-title no", "bind-source-addr " + p.source.String(),
			"sentinel announce-ip " + p.announce.Addr().String(), fmt.Sprintf("sentinel announce-port %d", p.announce.Port()),
			fmt.Sprintf("sentinel monitor %s %s %d %d", cluster.Service, p.first.Addr(), p.first.Port(), quorum),
			fmt.Sprintf("sentinel down-after-milliseconds %s %d", cluster.Service, downAfter(p.number)),
			fmt.Sprintf("sentinel failover-timeout %s %d", cluster.Service, failoverTimeout),
			fmt.Sprintf("sentinel parallel-syncs %s 2", cluster.Service),
		}
	}
	if err := os.WriteFile(n.configFile(), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return fmt.Errorf("node %s: cannot write its configuration: %w", n.name, err)
	}
	return nil
}

// peerArgs are the arguments of a node with peers, before the others; they go
// before what stands in the file.
func (n *node) peerArgs() []string {
	p := n.peering
	if !p.announce.IsValid() {
		return nil
	}
	priority := "100"
	if p.prefer {
		priority = "1"
	}
	return []string{
		n.configFile(),
		"--bind-source-addr", p.source.String(),
		"--replica-announce-ip", p.announce.Addr().String(), "--replica-announce-port", strconv.Itoa(int(p.announce.Port())),
		"--replica-priority", priority,
		"--min-replicas-to-write", strconv.Itoa(p.minReplicas), "--min-replicas-max-lag", "1",
		"--repl-ping-replica-period", "1", "--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
	}
}

// tune sets what only a command can, after each start.
func (n *node) tune(ctx context.Context) error {
	if n.peering.role != cluster.RoleSentinel {
		return nil
	}
	_, err := ask(ctx, "", n.port.addr(), append([]string{"SENTINEL", "DEBUG"}, sentinelPeriods(n.peering.number)...)...)
	return err
}

// fields reads the lines of an INFO.
func fields(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[k] = v
		}
	}
	return info
}
