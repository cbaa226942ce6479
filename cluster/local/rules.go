package local

import (
	"fmt"
	"strings"

	"lockchaos/cluster"
)

// direction is a cluster.Direction as an index.
type direction int

const (
	requests direction = iota
	replies
	directions
)

func (d direction) String() string {
	return string([]cluster.Direction{cluster.Requests, cluster.Replies}[d])
}

// rule is a cluster.Rule in force.
type rule struct {
	id    string
	drop  bool
	on    [directions]bool
	names map[string]bool // in upper case; nil: everything
}

func newRule(id string, r cluster.Rule) (rule, error) {
	out := rule{id: id, drop: r.Drop}
	switch {
	case len(r.Commands) > 0 && r.Direction != cluster.Requests && r.Direction != "":
		return out, fmt.Errorf("a rule with commands needs the direction %q, not %q: replies do not say what they answer",
			cluster.Requests, r.Direction)
	case len(r.Commands) > 0 || r.Direction == cluster.Requests:
		out.on[requests] = true
	case r.Direction == cluster.Replies:
		out.on[replies] = true
	case r.Direction == cluster.Both || r.Direction == "":
		out.on = [directions]bool{true, true}
	default:
		return out, fmt.Errorf("unknown direction %q: use %s, %s or %s",
			r.Direction, cluster.Requests, cluster.Replies, cluster.Both)
	}
	for _, c := range r.Commands {
		if out.names == nil {
			out.names = map[string]bool{}
		}
		out.names[strings.ToUpper(c)] = true
	}
	return out, nil
}

// ruleSet is all rules of a link at one time. It is never changed; another one
// takes its place, and then changed is closed.
type ruleSet struct {
	rules   []rule
	quiet   [directions]bool // no rule looks at this direction
	cut     [directions]bool // a rule drops everything
	drops   [directions]bool // a rule drops something
	changed chan struct{}
}

func newRuleSet(rules []rule) *ruleSet {
	rs := &ruleSet{rules: rules, changed: make(chan struct{})}
	for d := range directions {
		rs.quiet[d] = true
		for _, r := range rules {
			if !r.on[d] {
				continue
			}
			rs.quiet[d] = false
			rs.drops[d] = rs.drops[d] || r.drop
			rs.cut[d] = rs.cut[d] || r.drop && r.names == nil
		}
	}
	return rs
}

// find returns the place of a rule, or -1.
func (rs *ruleSet) find(id string) int {
	for i, r := range rs.rules {
		if r.id == id {
			return i
		}
	}
	return -1
}

type verdict uint8

const (
	passes verdict = iota
	held
	dropped
)

// judge says what the rules do to a piece. To drop goes before to hold.
func (rs *ruleSet) judge(d direction, p *piece) verdict {
	v := passes
	if p.passed {
		return v
	}
	for i := range rs.rules {
		r := &rs.rules[i]
		if !r.on[d] || r.names != nil && !(p.starts && r.names[p.name]) {
			continue
		}
		if r.drop {
			return dropped
		}
		v = held
	}
	return v
}
