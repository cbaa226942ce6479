package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/sim/node"
)

// do answers a command to a Sentinel.
func (p *sentinel) do(m *message) any {
	switch m.name {
	case "PING":
		return node.Status("PONG")
	case "INFO":
		return p.info()
	case "PUBLISH":
		if text, ok := m.args[2].(string); ok {
			p.helloFrom(text)
		}
		return int64(1)
	case "SUBSCRIBE":
		p.subscribe(m.stream)
		return node.Status("subscribe")
	case "SENTINEL":
		if len(m.args) > 2 {
			return p.sub(strings.ToLower(fmt.Sprint(m.args[1])), m.args[2:])
		}
	}
	return node.Error(fmt.Sprintf("ERR unknown command '%s', with args beginning with: ", m.args[0]))
}

// sub answers SENTINEL with a subcommand.
func (p *sentinel) sub(name string, args []any) any {
	if name == "is-master-down-by-addr" { // from another Sentinel
		master, _ := args[0].(string)
		epoch, _ := args[1].(int64)
		candidate, _ := args[2].(string)
		return p.asked(master, epoch, candidate)
	}
	if args[0] != cluster.Service {
		if name == "get-master-addr-by-name" {
			return nil
		}
		return node.Error("ERR No such master with that name")
	}
	switch name {
	case "get-master-addr-by-name":
		return []any{p.current(), port}
	case "failover":
		return p.failover()
	}
	return node.Error("ERR Unknown subcommand or wrong number of arguments for '" + name + "'. Try SENTINEL HELP.")
}

// failover is an operator's wish.
func (p *sentinel) failover() any {
	now := time.Now()
	switch {
	case p.change.state != idle:
		return node.Error("INPROG Failover already in progress")
	case p.best(now) == nil:
		return node.Error("NOGOODSLAVE No suitable replica to promote")
	}
	p.start(now)
	p.change.forced = true
	return node.Status("OK")
}

// subscribe takes in who wants to hear of switches.
func (p *sentinel) subscribe(st *stream) {
	if !st.client.open {
		return
	}
	st.server = end{true, func() {
		p.subscribers = slices.DeleteFunc(p.subscribers, func(x *stream) bool { return x == st })
	}}
	p.subscribers = append(p.subscribers, st)
}

func (p *sentinel) info() string {
	status := "ok"
	switch {
	case p.agreed():
		status = "odown"
	case p.seen[p.master].down:
		status = "sdown"
	}
	tilt := 0
	if p.tilt {
		tilt = 1
	}
	return fmt.Sprintf("# Server\r\nredis_mode:sentinel\r\nrun_id:%s\r\n\r\n# Sentinel\r\nsentinel_masters:1\r\nsentinel_tilt:%d\r\n"+
		"master0:name=%s,status=%s,address=%s:%s,slaves=%d,sentinels=%d\r\n",
		p.s.node.RunID(), tilt, cluster.Service, status, p.master, port, len(p.replicas()), len(p.others())+1)
}
