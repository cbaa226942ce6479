package remote

import (
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lockchaos/cluster"
	"lockchaos/scenario"
)

// Roles that a member can have: what it may be in a run.
const (
	RoleLock     = "lock"     // a lock node by itself: one for single systems, five for Redlock
	RoleMaster   = "master"   // the first master, where there is a failover
	RoleReplica  = "replica"  // follows it
	RoleSentinel = "sentinel" // watches them
	RoleResource = "resource" // keeps the counter
	RoleTokens   = "tokens"   // mints fencing tokens, where they come from a service of their own
	RolePostgres = "postgres" // keeps the counter where a scenario's resource is postgres
)

var roles = []string{RoleLock, RoleMaster, RoleReplica, RoleSentinel, RoleResource, RoleTokens, RolePostgres}

// Members are the nodes that there are, as a cluster file or flags name them.
type Members struct {
	Nodes []Member `yaml:"nodes"`
}

// Member is one node of a cluster file.
type Member struct {
	// Name is for reports and messages.
	Name string `yaml:"name"`
	// Agent is the address of its agent, host:port; or it is a plain server.
	Agent string `yaml:"agent,omitempty"`
	Plain `yaml:",inline"`
	// Roles are what it may be in a run, one at a time.
	Roles []string `yaml:"roles"`
}

// ReadMembers reads a cluster file. Errors about its content name the line.
func ReadMembers(path string) (*Members, error) {
	m := &Members{}
	if err := checkSecrets(path); err != nil {
		return nil, err
	}
	err := scenario.ReadFile(path, m, m.check)
	if e := (*scenario.Error)(nil); errors.As(err, &e) {
		e.Excerpt = "" // a secret might stand there that belongs elsewhere
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// ParseMembers reads members as flags give them: name=role+role@host:port.
func ParseMembers(flags []string) (*Members, error) {
	m := &Members{}
	for _, f := range flags {
		name, rest, ok := strings.Cut(f, "=")
		given, addr, ok2 := strings.Cut(rest, "@")
		if !ok || !ok2 {
			return nil, fmt.Errorf("--node %q: expected name=role@host:port, as lock1=lock@10.0.0.5:7400", f)
		}
		m.Nodes = append(m.Nodes, Member{Name: name, Agent: addr, Roles: strings.Split(given, "+")})
	}
	if at, message := m.check(); message != "" {
		return nil, fmt.Errorf("--node: %s: %s", at, message)
	}
	return m, nil
}

// Plain lists the plain servers among the members, with their addresses.
func (m *Members) Plain() []string {
	var list []string
	for _, n := range m.Nodes {
		if n.isPlain() {
			list = append(list, fmt.Sprintf("%s (%s)", n.Name, n.Server))
		}
	}
	return list
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)

// check tells what is wrong, and where.
func (m *Members) check() (at, message string) {
	if len(m.Nodes) == 0 {
		return "nodes", "none given"
	}
	names, agents := map[string]bool{}, map[string]string{}
	for i, n := range m.Nodes {
		at := fmt.Sprintf("nodes[%d]", i)
		if !nameForm.MatchString(n.Name) {
			return at + ".name", fmt.Sprintf("%q, expected small letters, digits, - and .", n.Name)
		}
		if names[n.Name] {
			return at + ".name", fmt.Sprintf("%q stands twice", n.Name)
		}
		names[n.Name] = true
		if key, message := n.checkWhere(agents); message != "" {
			return at + "." + key, message
		}
		agents[n.where()] = n.Name
		if len(n.Roles) == 0 {
			return at + ".roles", "none given, expected some of " + strings.Join(roles, ", ")
		}
		for k, r := range n.Roles {
			if !slices.Contains(roles, r) {
				return fmt.Sprintf("%s.roles[%d]", at, k), fmt.Sprintf("%q, expected one of %s", r, strings.Join(roles, ", "))
			}
			if slices.Index(n.Roles, r) != k {
				return fmt.Sprintf("%s.roles[%d]", at, k), fmt.Sprintf("%q stands twice", r)
			}
		}
	}
	return "", ""
}

// where is the address of a member.
func (m Member) where() string {
	if m.isPlain() {
		return m.Server
	}
	return m.Agent
}

// isPlain tells that it has no agent.
func (m Member) isPlain() bool { return m.Server != "" }

// checkWhere looks at how a member is reached. taken are the addresses of others.
func (m Member) checkWhere(taken map[string]string) (key, message string) {
	key = "agent"
	switch {
	case m.Agent != "" && m.Plain != Plain{}:
		return key, "there is a server, or a key of one, too: a node is behind an agent, or a plain server"
	case m.isPlain():
		if key, message = m.Plain.check(m.Roles); message != "" {
			return key, message
		}
		key = "server"
	default:
		if err := CheckAddress(m.Agent); err != nil {
			return key, err.Error()
		}
	}
	if other := taken[m.where()]; other != "" {
		return key, fmt.Sprintf("%s is that of %s: each has one node", m.where(), other)
	}
	return "", ""
}

// CheckAddress wants host:port.
func CheckAddress(addr string) error {
	name, port, err := net.SplitHostPort(addr)
	if n, perr := strconv.Atoi(port); err != nil || name == "" || perr != nil || n < 1 || n > 65535 {
		return fmt.Errorf("%q, expected host:port", addr)
	}
	return nil
}

// roleOf is what a node of a spec is to a cluster file.
func roleOf(spec cluster.Spec, n cluster.NodeSpec) string {
	switch {
	case n.Kind == cluster.KindPostgres:
		return RolePostgres
	case n.Name == cluster.Resource:
		return RoleResource
	case n.Name == cluster.Tokens:
		return RoleTokens
	case n.Role == cluster.RoleReplica:
		return RoleReplica
	case n.Role == cluster.RoleSentinel:
		return RoleSentinel
	case slices.ContainsFunc(spec.Nodes, func(n cluster.NodeSpec) bool { return n.Role != cluster.RolePrimary }):
		return RoleMaster
	}
	return RoleLock
}
