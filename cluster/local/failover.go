package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/cluster"
	"lockchaos/host"
	"lockchaos/internal/concurrent"
)

var _ cluster.Failovers = (*Cluster)(nil)

// failsOver tells whether nodes have to do with each other.
func failsOver(spec cluster.Spec) bool {
	return slices.ContainsFunc(spec.Nodes, func(n cluster.NodeSpec) bool { return n.Role != cluster.RolePrimary })
}

// of lists the nodes of a role, without the resource.
func (c *Cluster) of(role string) []member {
	var list []member
	for _, s := range c.spec.Nodes {
		if s.Role == role && s.Name != cluster.Resource {
			list = append(list, c.member(s.Name))
		}
	}
	return list
}

// How long one question to a node may take, and how long until all is joined up.
const (
	askLimit   = 500 * time.Millisecond
	joinLimit  = 15 * time.Second
	joinPeriod = 10 * time.Millisecond
)

// join waits until the replicas follow the master and the Sentinels know all,
// and starts to listen to the Sentinels.
func (c *Cluster) join(ctx context.Context) error {
	if !failsOver(c.spec) || c.outside.Part {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, joinLimit, fmt.Errorf("after %s", joinLimit))
	defer cancel()
	replicas, sentinels := c.of(cluster.RoleReplica), c.of(cluster.RoleSentinel)
	return errors.Join(
		concurrent.Each(replicas, func(n member) error { return c.await(ctx, n, "it follows its master", n.follows) }),
		concurrent.Each(sentinels, func(n member) error {
			if err := c.await(ctx, n, "it knows the replicas and the other Sentinels", func(ctx context.Context) error {
				return n.knows(ctx, len(replicas), len(sentinels)-1)
			}); err != nil {
				return err
			}
			return c.listen(ctx, n)
		}),
		concurrent.Each(c.of(cluster.RolePrimary), func(n member) error {
			return c.await(ctx, n, "its replicas have what it has", func(ctx context.Context) error {
				return n.streams(ctx, c.key("lockchaos:joined"), replicas)
			})
		}),
	)
}

// streams sees that a write reaches so many replicas. One whose link is up may
// get nothing for a second more: a master sends to a replica after its first
// acknowledgement, and one that comes before the master has noted the end of the
// first copy is overlooked. key is written, and deleted again.
func (n member) streams(ctx context.Context, key string, replicas []member) error {
	if _, err := ask(ctx, "", n.addr, "SET", key, "1"); err != nil {
		return err
	}
	sent, err := n.offset(ctx, "master_repl_offset")
	if err != nil {
		return err
	}
	for _, r := range replicas {
		if got, err := r.offset(ctx, "slave_repl_offset"); err != nil || got < max(sent, 1) {
			return errors.Join(err, fmt.Errorf("%s has %d of %d bytes", r.name, got, sent))
		}
	}
	_, err = ask(ctx, "", n.addr, "DEL", key)
	return err
}

// await asks until there is no error.
func (c *Cluster) await(ctx context.Context, n member, what string, look func(context.Context) error) error {
	var last error
	err := pollEvery(ctx, joinPeriod, func() (bool, error) {
		if end := n.end(); end != "" {
			return false, fmt.Errorf("%w (%s)", errEnded, end)
		}
		actx, cancel := context.WithTimeout(ctx, askLimit)
		defer cancel()
		last = look(actx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("node %s: waiting until %s: %w", n.name, what, errors.Join(context.Cause(ctx), err, last))
	}
	return nil
}

// follows sees that a replica's link to its master is up.
func (n member) follows(ctx context.Context) error {
	info, err := n.section(ctx, "replication")
	if err != nil {
		return err
	}
	if info["role"] != "slave" || info["master_link_status"] != "up" {
		return fmt.Errorf("role %s, master_link_status %s", info["role"], info["master_link_status"])
	}
	return nil
}

// knows sees that a Sentinel has heard of all others.
func (n member) knows(ctx context.Context, replicas, sentinels int) error {
	info, err := n.section(ctx, "sentinel")
	if err != nil {
		return err
	}
	// master0:name=locks,status=ok,address=127.0.0.1:1,slaves=2,sentinels=3
	line := info["master0"]
	if !strings.HasSuffix(line, fmt.Sprintf(",slaves=%d,sentinels=%d", replicas, sentinels+1)) || !strings.Contains(line, "status=ok,") {
		return fmt.Errorf("it says %q", line)
	}
	return nil
}

// switches are the switch-master events that the Sentinels have published.
type switches struct {
	mu   sync.Mutex
	seen []masterSwitch
	subs []*goredislib.PubSub
	done sync.WaitGroup
}

type masterSwitch struct{ sentinel, from, to string } // announced addresses

const switchChannel = "+switch-master"

// listen collects the events of one Sentinel until close.
func (c *Cluster) listen(ctx context.Context, n member) error {
	sub := c.pools.client(n.addr).Subscribe(ctx, switchChannel)
	c.switches.mu.Lock()
	c.switches.subs = append(c.switches.subs, sub)
	c.switches.mu.Unlock()
	if _, err := sub.Receive(ctx); err != nil {
		return fmt.Errorf("node %s: subscribe to %s: %w", n.name, switchChannel, err)
	}
	events := sub.Channel() // before the goroutine: close ends it
	c.switches.done.Go(func() {
		for m := range events {
			// locks 127.0.0.1 4711 127.0.0.1 4712
			if w := strings.Fields(m.Payload); len(w) == 5 && w[0] == cluster.Service {
				c.switches.mu.Lock()
				c.switches.seen = append(c.switches.seen,
					masterSwitch{n.name, net.JoinHostPort(w[1], w[2]), net.JoinHostPort(w[3], w[4])})
				c.switches.mu.Unlock()
			}
		}
	})
	return nil
}

func (s *switches) close() {
	s.mu.Lock()
	subs := s.subs
	s.mu.Unlock()
	for _, sub := range subs {
		_ = sub.Close()
	}
	s.done.Wait()
}

// take removes the events of a switch and returns the first of them.
func (s *switches) take(from, to string) (masterSwitch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is := func(e masterSwitch) bool { return e.from == from && e.to == to }
	i := slices.IndexFunc(s.seen, is)
	if i < 0 {
		return masterSwitch{}, false
	}
	e := s.seen[i]
	s.seen = slices.DeleteFunc(s.seen, is)
	return e, true
}

// Master asks all Sentinels and counts.
func (c *Cluster) Master(ctx context.Context) (string, error) {
	sentinels := c.of(cluster.RoleSentinel)
	if len(sentinels) == 0 {
		return "", fmt.Errorf("there are no Sentinels in this cluster; %s", c.members())
	}
	addrs := make([]string, len(sentinels))
	var wg sync.WaitGroup
	for i, n := range sentinels {
		wg.Go(func() { addrs[i] = c.masterOf(ctx, n.name) })
	}
	wg.Wait()
	votes, answered := map[string]int{}, 0
	for _, a := range addrs {
		if a != "" {
			votes[a]++
			answered++
		}
	}
	for a, n := range votes {
		if 2*n > answered {
			if name := c.announces(a); name != "" {
				return name, nil
			}
			return "", fmt.Errorf("the Sentinels name %s, which no node has announced", a)
		}
	}
	return "", fmt.Errorf("of %d Sentinels %d answer, and do not agree on a master: %v", len(sentinels), answered, votes)
}

// masterOf is the address of the master as a Sentinel sees it; empty if it does not say.
func (c *Cluster) masterOf(ctx context.Context, sentinel string) string {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	v, err := c.Command(ctx, sentinel, "SENTINEL", "get-master-addr-by-name", cluster.Service)
	w, ok := v.([]any)
	if err != nil || !ok || len(w) != 2 {
		return ""
	}
	return net.JoinHostPort(fmt.Sprint(w[0]), fmt.Sprint(w[1]))
}

// AwaitFailover waits until another than old is the master, by the word of the
// Sentinels, by its own, and by an event.
func (c *Cluster) AwaitFailover(ctx context.Context, old string) (string, error) {
	was, ok := c.announced[old]
	if !ok {
		return "", fmt.Errorf("node %q has no peers; %s", old, c.members())
	}
	var proof string
	var last error
	err := pollEvery(ctx, joinPeriod, func() (bool, error) {
		now, err := c.Master(ctx)
		if err == nil && now == old {
			err = fmt.Errorf("the Sentinels still name %s", old)
		}
		if err == nil {
			err = c.claims(ctx, now)
		}
		if ctx.Err() == nil { // then an error says nothing of the cluster
			last = err
		}
		if err != nil {
			return false, nil
		}
		e, seen := c.switches.take(was.String(), c.announced[now].String())
		if !seen {
			last = fmt.Errorf("the Sentinels name %s, and no %s from %s to it was seen", now, switchChannel, old)
			return false, nil
		}
		proof = fmt.Sprintf("%s from %s: the master was %s (run id %.8s…) and is %s (run id %.8s…, role master)",
			switchChannel, e.sentinel, old, c.RunID(old), now, c.RunID(now))
		return true, nil
	})
	if err != nil {
		return "", fmt.Errorf("no failover from %s: %w", old, errors.Join(err, last))
	}
	return proof, nil
}

// claims sees that a node says of itself that it is the master.
func (c *Cluster) claims(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	v, err := c.Command(ctx, name, "ROLE")
	if err != nil {
		return err
	}
	if w, ok := v.([]any); !ok || len(w) == 0 || w[0] != "master" {
		return fmt.Errorf("node %s says of its role: %v", name, v)
	}
	return nil
}

// sentinelInit is what a host is told to find the master; nil where it is always the same.
func (c *Cluster) sentinelInit(name string) *host.SentinelInit {
	if !failsOver(c.spec) {
		return nil
	}
	s := &host.SentinelInit{Master: cluster.Service, Addresses: map[string]string{}}
	for node, at := range c.announced {
		s.Addresses[at.String()] = c.links[pair{name, node}].Addr()
	}
	for _, n := range c.of(cluster.RoleSentinel) {
		s.Sentinels = append(s.Sentinels, c.links[pair{name, n.name}].Addr())
	}
	return s
}
