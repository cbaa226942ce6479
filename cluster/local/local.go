package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/internal/concurrent"
)

// Cluster is one world of children on a Machine.
type Cluster struct {
	machine *Machine
	spec    cluster.Spec
	id      string // unique in the machine
	dir     string
	logs    string

	nodes    map[string]*node   // not changed after Up
	postgres map[string]*pgNode // not changed after Up
	links    map[pair]*Link     // not changed after Up
	pools    pools

	// Not changed after Up.
	outside Outside
	fronts  map[string]*front // to nodes that are elsewhere

	// Where nodes have to do with each other; not changed after Up.
	entrances map[string]*entrance
	announced map[string]netip.AddrPort
	sources   map[string]netip.Addr // of the nodes here
	admitting sync.WaitGroup
	switches  switches

	mu     sync.Mutex
	hosts  map[string]*hostProc
	closed bool

	once     sync.Once
	closeErr error
}

// pair is a host and a node.
type pair struct{ host, node string }

// parallel is how many nodes or links are brought up at once.
const parallel = 8

// Up brings up the nodes and the links of a cluster; hosts are started one by
// one with StartHost. After an error nothing is left of it.
func (m *Machine) Up(ctx context.Context, spec cluster.Spec) (*Cluster, error) {
	return m.UpWith(ctx, spec, Outside{})
}

func newCluster(m *Machine, spec cluster.Spec, out Outside) *Cluster {
	return &Cluster{
		machine: m, spec: spec, nodes: map[string]*node{}, postgres: map[string]*pgNode{},
		links: map[pair]*Link{}, hosts: map[string]*hostProc{}, outside: out, fronts: map[string]*front{},
		entrances: map[string]*entrance{}, announced: map[string]netip.AddrPort{}, sources: map[string]netip.Addr{},
	}
}

func (c *Cluster) up(ctx context.Context) error {
	c.logs = c.spec.Logs
	if c.logs == "" {
		c.logs = filepath.Join(c.dir, "logs")
	}
	var err error
	if c.logs, err = filepath.Abs(c.logs); err != nil { // children work elsewhere
		return fmt.Errorf("log directory: %w", err)
	}
	if err := os.MkdirAll(c.logs, 0o755); err != nil {
		return fmt.Errorf("cannot make the log directory: %w", err)
	}
	if err := c.openFronts(); err != nil {
		return err
	}
	if err := c.openEntrances(); err != nil {
		return err
	}
	if err := c.upRedis(ctx); err != nil {
		return err
	}
	if err := c.upPostgres(ctx); err != nil {
		return err
	}
	if err := c.upLinks(ctx); err != nil {
		return err
	}
	c.admitPeers()
	return c.join(ctx)
}

// upRedis brings up the nodes that are Redis servers, Sentinels too.
func (c *Cluster) upRedis(ctx context.Context) error {
	var nodes []*node
	for _, s := range c.spec.Nodes {
		if s.Kind == cluster.KindPostgres || c.elsewhere(s.Name) {
			continue
		}
		redis, err := findRedis()
		if err != nil {
			return err
		}
		n := newNode(c.machine, c, s, redis)
		c.nodes[s.Name] = n
		nodes = append(nodes, n)
	}
	return each(nodes, func(n *node) error { return n.open(ctx) })
}

func (c *Cluster) upLinks(ctx context.Context) error {
	pairs := c.peers()
	for _, h := range c.spec.Hosts {
		for _, n := range c.spec.Nodes {
			pairs = append(pairs, pair{h.Name, n.Name})
		}
	}
	var mu sync.Mutex
	return each(pairs, func(p pair) error {
		name := fmt.Sprintf("%s.%s.%s", c.id, p.host, p.node)
		title := fmt.Sprintf("link %s→%s", p.host, p.node)
		addr, err := c.NodeAddr(p.node)
		if err != nil {
			return err
		}
		l, err := newLink(ctx, c.machine.toxi, name, title, addr, c.speaks(p.node))
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		c.links[p] = l
		return nil
	})
}

// each calls f for all of a list, some at a time, and joins the errors.
func each[T any](list []T, f func(T) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	free := make(chan struct{}, parallel)
	for i, v := range list {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			errs[i] = f(v)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// plainName is what may be part of a file name and of a path of Toxiproxy's API.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

func validate(spec cluster.Spec) error {
	seen := map[string]bool{}
	check := func(kind, name string) error {
		switch {
		case !plainName.MatchString(name):
			return fmt.Errorf("cluster %q: %s name %q: use letters, digits, - and _", spec.Name, kind, name)
		case seen[name]: // of hosts, too: their logs lie side by side
			return fmt.Errorf("cluster %q: the name %q is there twice", spec.Name, name)
		}
		seen[name] = true
		return nil
	}
	if len(spec.Nodes) == 0 {
		return fmt.Errorf("cluster %q has no nodes", spec.Name)
	}
	persist := []string{"", cluster.PersistNone, cluster.PersistEverySec, cluster.PersistAlways}
	for _, n := range spec.Nodes {
		if err := check("node", n.Name); err != nil {
			return err
		}
		if n.Kind != cluster.KindRedis && n.Kind != cluster.KindPostgres {
			return fmt.Errorf("cluster %q: node %s: unknown kind %q: use %s, or none for Redis",
				spec.Name, n.Name, n.Kind, cluster.KindPostgres)
		}
		if !slices.Contains(persist, n.Persistence) {
			return fmt.Errorf("cluster %q: node %s: unknown persistence %q: use one of %s",
				spec.Name, n.Name, n.Persistence, strings.Join(persist[1:], ", "))
		}
	}
	for _, h := range spec.Hosts {
		if err := check("host", h.Name); err != nil {
			return err
		}
	}
	return validatePeers(spec)
}

// KeyPrefix is what the name of every key of the run begins with.
func (c *Cluster) KeyPrefix() string { return c.spec.KeyPrefix }

// key is the full name of a key.
func (c *Cluster) key(name string) string { return c.spec.KeyPrefix + name }

// members lists the names, for messages.
func (c *Cluster) members() string {
	var nodes, hosts []string
	for _, n := range c.spec.Nodes {
		nodes = append(nodes, n.Name)
	}
	for _, h := range c.spec.Hosts {
		hosts = append(hosts, h.Name)
	}
	return fmt.Sprintf("nodes: %s; hosts: %s", strings.Join(nodes, ", "), strings.Join(hosts, ", "))
}

// Link is the way from a host to a node. With an unknown name, its calls fail.
func (c *Cluster) Link(host, node string) cluster.Link {
	if l, ok := c.links[pair{host, node}]; ok {
		return l
	}
	return noLink{c.unknown(host, node)}
}

func (c *Cluster) unknown(host, node string) error {
	return fmt.Errorf("there is no link from host %q to node %q; %s", host, node, c.members())
}

// Pool reaches a node through the link of a host.
func (c *Cluster) Pool(host, node string) redis.Pool {
	l, ok := c.links[pair{host, node}]
	if !ok {
		return noPool{c.unknown(host, node)}
	}
	if err := c.noRedis(node); err != nil {
		return noPool{err}
	}
	return c.pools.get(l.Addr())
}

// Direct reaches a node past all links.
func (c *Cluster) Direct(node string) redis.Pool {
	addr, err := c.NodeAddr(node)
	if err == nil {
		err = c.noRedis(node)
	}
	if err != nil {
		return noPool{err}
	}
	return c.pools.get(addr)
}

// NodeAddr is the address of a node itself. It stays over restarts.
func (c *Cluster) NodeAddr(name string) (string, error) {
	if f, ok := c.fronts[name]; ok {
		return f.addr(), nil
	}
	if _, ok := c.postgres[name]; ok {
		return c.withPostgres(name, func(n *pgNode) (string, error) { return n.port.addr(), nil })
	}
	return c.withNode(name, func(n *node) (string, error) { return n.port.addr(), nil })
}

// closeTimeout bounds the calls of Toxiproxy when a cluster is closed.
const closeTimeout = time.Second

// Close ends hosts, links and nodes, stopped ones too, and removes their
// files. It takes less than two seconds and may be called twice.
func (c *Cluster) Close() error {
	c.once.Do(func() { c.closeErr = c.close() })
	return c.closeErr
}

func (c *Cluster) close() error {
	c.mu.Lock()
	c.closed = true
	hosts := slices.Collect(maps.Values(c.hosts))
	c.mu.Unlock()

	all := concurrent.Each(hosts, (*hostProc).end)
	c.switches.close()
	c.pools.close()
	for _, e := range c.entrances {
		e.close()
	}
	c.admitting.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	links := slices.Collect(maps.Values(c.links))
	all = errors.Join(all, concurrent.Each(links, func(l *Link) error { return l.close(ctx) }))
	nodes := slices.Collect(maps.Values(c.nodes))
	all = errors.Join(all, concurrent.Each(nodes, (*node).close))
	for _, f := range c.fronts {
		f.close()
	}
	servers := slices.Collect(maps.Values(c.postgres))
	all = errors.Join(all, concurrent.Each(servers, (*pgNode).close), os.RemoveAll(c.dir))
	c.machine.leave(c)
	return all
}
