package sim

import (
	"fmt"
	"strings"
	"time"
)

// info is INFO, with a section on replication.
func (r *copies) info() any {
	m := newMessage(nil, []any{"INFO"})
	r.c.run(r.s, m)
	text, _ := m.reply.(string)
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(text, "role:master\r\n"))
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\r\n", args...) }
	if r.master == "" {
		line("role:master")
	} else {
		line("role:slave\r\nmaster_host:%s\r\nmaster_port:%s", r.master, port)
		line("master_link_status:%s", r.status())
		line("slave_repl_offset:%d\r\nslave_priority:%d", r.offset, r.c.group.priority(r.s.name))
		if !r.ready {
			line("master_link_down_since_seconds:%d", time.Now().Unix()-r.since.Unix())
		}
	}
	line("connected_slaves:%d", len(r.followers))
	for i, f := range r.followers {
		state := "wait_bgsave"
		if f.online {
			state = "online"
		}
		line("slave%d:ip=%s,port=%s,state=%s,offset=%d,lag=%d", i, f.name, port, state, f.acked, time.Now().Unix()-f.heard)
	}
	line("master_repl_offset:%d", r.offset)
	return b.String()
}

func (r *copies) status() string {
	if r.ready {
		return "up"
	}
	return "down"
}

// role is ROLE.
func (r *copies) role() any {
	if r.master != "" {
		state := "connect"
		if r.ready {
			state = "connected"
		}
		return []any{"slave", r.master, int64(portNumber), state, r.offset}
	}
	var all []any
	for _, f := range r.followers {
		all = append(all, []any{f.name, port, fmt.Sprint(f.acked)})
	}
	return []any{"master", r.offset, all}
}

// The priorities of replicas: Sentinels like the lowest best.
const (
	defaultPriority = 100
	preferred       = 1
)

func (g *group) priority(name string) int {
	if name == g.prefer {
		return preferred
	}
	return defaultPriority
}
