package local

import (
	"context"
	"strconv"
)

// member is a node that has to do with others, wherever it is, as somebody sees
// it who can only ask.
type member struct {
	name string
	addr string
	end  func() string // how its process ended; empty while it runs, or nobody can tell
}

func (c *Cluster) member(name string) member {
	if f, ok := c.fronts[name]; ok {
		return member{name, f.addr(), func() string { return "" }}
	}
	n := c.nodes[name]
	return member{name, n.port.addr(), func() string { return n.proc.exit() }}
}

func (n member) offset(ctx context.Context, field string) (int64, error) {
	info, err := n.section(ctx, "replication")
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(info[field], 10, 64)
}

func (n member) section(ctx context.Context, name string) (map[string]string, error) {
	return section(ctx, n.addr, name)
}

// section is one part of a server's INFO.
func section(ctx context.Context, addr, name string) (map[string]string, error) {
	text, err := ask(ctx, "", addr, "INFO", name)
	if err != nil {
		return nil, err
	}
	return fields(text), nil
}
