package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/internal/concurrent"
	"lockchaos/internal/secret"
	"lockchaos/scenario"
)

// ErrLacks is wrapped by the error of a spec that asks for more nodes than there are.
var ErrLacks = errors.New("too few nodes")

// Fleet are the members that runs take their nodes from.
type Fleet struct {
	machine *local.Machine // of hosts and links
	members []Member
	token   secret.Token
	health  map[string]Health // by member
	plains  *plainServers

	mu    sync.Mutex
	taken map[string]bool
	freed chan struct{} // closed when a member is given back
}

// Open asks all agents how they are. It is an error if one does not answer.
func Open(ctx context.Context, machine *local.Machine, m *Members, t secret.Token) (*Fleet, error) {
	f := &Fleet{
		machine: machine, members: m.Nodes, token: t, health: map[string]Health{},
		taken: map[string]bool{}, freed: make(chan struct{}),
	}
	if err := f.askAgents(ctx); err != nil {
		return nil, err
	}
	return f, f.openPlains(ctx)
}

// Close deletes what runs have left on plain servers, and says where it cannot.
func (f *Fleet) Close() error { return f.plains.Close() }

func (f *Fleet) openPlains(ctx context.Context) (err error) {
	entries := map[string]Plain{}
	for _, m := range f.members {
		if m.isPlain() {
			entries[m.Name] = m.Plain
		}
	}
	if f.plains, err = openPlainServers(ctx, entries); err != nil {
		return err
	}
	for _, s := range f.plains.servers {
		f.health[s.name] = Health{Redis: s.describe(), Clocks: local.ByShift}
	}
	return nil
}

// Warnings are about what may look like a fault, and is none of ours.
func (f *Fleet) Warnings() []string { return f.plains.warnings() }

func (f *Fleet) askAgents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	return concurrent.Each(f.members, func(m Member) error {
		if m.isPlain() {
			return nil
		}
		h, err := AskHealth(ctx, m.Agent, f.token)
		if err != nil {
			return fmt.Errorf("agent %s at %s: %w", m.Name, m.Agent, err)
		}
		if h.Redis == "" && !slices.Equal(m.Roles, []string{RolePostgres}) {
			return fmt.Errorf("agent %s at %s: it has no redis-server", m.Name, m.Agent)
		}
		if h.Postgres == "" && slices.Contains(m.Roles, RolePostgres) {
			return fmt.Errorf("agent %s at %s: it has no PostgreSQL", m.Name, m.Agent)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.health[m.Name] = h
		return nil
	})
}

// prepareLimit is for the first PostgreSQL of an agent.
const prepareLimit = time.Minute

// PreparePostgres has agents do what takes time but once, before the time of a run begins.
func (f *Fleet) PreparePostgres(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, prepareLimit)
	defer cancel()
	return concurrent.Each(f.members, func(m Member) error {
		if !slices.Contains(m.Roles, RolePostgres) {
			return nil
		}
		if err := ask(ctx, http.MethodPost, m.Agent, pathPrepare, f.token, &answer{}); err != nil {
			return fmt.Errorf("agent %s at %s: prepare PostgreSQL: %w", m.Name, m.Agent, err)
		}
		return nil
	})
}

// Told is something that agents say of themselves: the one text, where all say
// the same, or who says what.
func (f *Fleet) Told(what func(Health) string) string {
	by := map[string][]string{}
	for _, m := range f.members {
		if text := what(f.health[m.Name]); text != "" {
			by[text] = append(by[text], m.Name)
		}
	}
	texts := slices.Sorted(maps.Keys(by))
	if len(texts) == 1 {
		return texts[0]
	}
	for i, t := range texts {
		texts[i] = t + " (" + strings.Join(by[t], ", ") + ")"
	}
	return strings.Join(texts, "; ")
}

// Refuses says why a scenario, whose spec the fleet has nodes for, cannot run on
// them: what it does to servers cannot be done to plain ones. The error names the fault.
func (f *Fleet) Refuses(s *scenario.Scenario, spec cluster.Spec) error {
	if _, err := f.place(spec, all); err == nil {
		return nil
	}
	placed, err := f.place(anybodys(spec), all)
	if err != nil {
		return err
	}
	return s.CheckBorrowed(func(node string) string {
		if m := placed[node]; m.isPlain() {
			return fmt.Sprintf("a plain server, which we did not start: %s (%s)", m.Name, m.Server)
		}
		return ""
	})
}

func all(Member) bool { return true }

// anybodys is a spec whose nodes may be plain servers, whatever is done to them.
func anybodys(spec cluster.Spec) cluster.Spec {
	spec.Nodes = slices.Clone(spec.Nodes)
	for i := range spec.Nodes {
		spec.Nodes[i].Own = false
	}
	return spec
}

// Lacks says what a spec needs that no member can be, even if all are free, and
// whatever is done to them: see Refuses.
func (f *Fleet) Lacks(spec cluster.Spec) error {
	placed, err := f.place(anybodys(spec), all)
	if err != nil {
		return err
	}
	return apart(placed, spec)
}

// apart sees that nodes which have to do with each other have a network each: their
// agents listen on the loopback addresses that stand for the others.
func apart(placed map[string]Member, spec cluster.Spec) error {
	at := map[string]Member{}
	peers := announced(spec)
	for _, n := range spec.Nodes {
		m := placed[n.Name]
		if _, ok := peers[n.Name]; !ok || len(peers) < 3 {
			continue
		}
		machine, _, _ := net.SplitHostPort(m.Agent) // it was checked when it was read
		if other, ok := at[machine]; ok {
			return fmt.Errorf("%w: master, replicas and Sentinels need a machine or a container each, and %s and %s are both at %s",
				ErrLacks, other.Name, m.Name, machine)
		}
		at[machine] = m
	}
	return nil
}

// place finds a member for each node of a spec.
func (f *Fleet) place(spec cluster.Spec, free func(Member) bool) (map[string]Member, error) {
	placed, used := map[string]Member{}, map[string]bool{}
	var open []cluster.NodeSpec
	var try func(i int) bool // some members can be more than one thing
	try = func(i int) bool {
		if i == len(open) {
			return true
		}
		role := roleOf(spec, open[i])
		for _, m := range f.members {
			if used[m.Name] || !free(m) || !slices.Contains(m.Roles, role) || open[i].Own && m.isPlain() {
				continue
			}
			used[m.Name], placed[open[i].Name] = true, m
			if try(i + 1) {
				return true
			}
			delete(used, m.Name)
			delete(placed, open[i].Name)
		}
		return false
	}
	open = spec.Nodes
	if try(0) {
		return placed, nil
	}
	return nil, fmt.Errorf("%w: the run needs %s, and there are %s", ErrLacks, f.needs(spec), f.has())
}

func (f *Fleet) needs(spec cluster.Spec) string {
	n := map[string]int{}
	for _, s := range spec.Nodes {
		n[roleOf(spec, s)]++
	}
	return counted(n)
}

func (f *Fleet) has() string {
	n := map[string]int{}
	for _, m := range f.members {
		for _, r := range m.Roles {
			n[r]++
		}
	}
	return counted(n)
}

func counted(n map[string]int) string {
	var parts []string
	for _, r := range roles {
		if n[r] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[r], r))
		}
	}
	return strings.Join(parts, ", ")
}

// Placement are the members that a run has for itself.
type Placement struct {
	fleet   *Fleet
	members map[string]Member // by node
	once    sync.Once
}

// Reserve waits until members are free for all nodes of a spec, and takes them.
func (f *Fleet) Reserve(ctx context.Context, spec cluster.Spec) (*Placement, error) {
	if _, err := f.place(spec, all); err != nil {
		return nil, err
	}
	for {
		f.mu.Lock()
		freed := f.freed
		placed, err := f.place(spec, func(m Member) bool { return !f.taken[m.Name] })
		for _, m := range placed {
			f.taken[m.Name] = true
		}
		f.mu.Unlock()
		if err == nil {
			return &Placement{fleet: f, members: placed}, nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for nodes that other runs have: %w", context.Cause(ctx))
		}
	}
}

// Free gives the members back.
func (p *Placement) Free() {
	p.once.Do(func() {
		p.fleet.mu.Lock()
		defer p.fleet.mu.Unlock()
		for _, m := range p.members {
			delete(p.fleet.taken, m.Name)
		}
		close(p.fleet.freed)
		p.fleet.freed = make(chan struct{})
	})
}
