package local

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"lockchaos/cluster"
	"lockchaos/host"
)

// The test binary plays another part when this variable names one.
const partVariable = "LOCKCHAOS_TEST_PART"

const baseVariable = "LOCKCHAOS_TEST_BASE"

var parts = map[string]func(){"host": playHost, "harness": playHarness, "deaf": hang}

// hang never ends. Where nothing else runs, an empty select does: the runtime finds
// out that nobody can go on.
func hang() {
	for {
		time.Sleep(time.Hour)
	}
}

// play is the command of a part.
func play(part string) []string {
	return []string{"/usr/bin/env", partVariable + "=" + part, os.Args[0]}
}

// playHost grants everything; the owner of a grant is its process id.
func playHost() {
	in := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	fmt.Fprintln(os.Stderr, "the host speaks")
	for in.Scan() {
		var r host.Request
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			os.Exit(2)
		}
		reply := host.Reply{ID: r.ID, OK: true}
		switch {
		case r.Op == host.OpInit && len(r.Init.Nodes) == 0:
			reply = host.Reply{ID: r.ID, Error: &host.Error{Code: host.CodeBadRequest, Text: "no nodes"}}
		case r.Op == host.OpAcquire:
			reply.Owner = fmt.Sprint(os.Getpid())
			_ = out.Encode(host.Event{Event: host.EventTrace, ID: r.ID})
		}
		_ = out.Encode(reply)
		if r.Op == host.OpClose {
			return
		}
	}
}

// playHarness is a harness with a node, a host and a stopped host. It prints
// the pids of its children and waits to be killed.
func playHarness() {
	m, err := openIn(os.Getenv(baseVariable))
	if err != nil {
		panic(err)
	}
	m.Command = play("host")
	c, err := m.Up(context.Background(), cluster.Spec{
		Nodes: []cluster.NodeSpec{{Name: "n1", Clock: true}},
		Hosts: []cluster.HostSpec{{Name: "w1"}, {Name: "w2"}},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for _, name := range []string{"w1", "w2"} {
		if _, err := c.StartHost(ctx, name, host.Init{}, nil); err != nil {
			panic(err)
		}
	}
	if _, err := c.PauseHost(ctx, "w2"); err != nil {
		panic(err)
	}
	// One that outlives us, as if the parent-death signal had come too early.
	stray := exec.Command("sleep", "1000")
	stray.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := stray.Start(); err != nil {
		panic(err)
	}
	st, err := statOf(stray.Process.Pid)
	if err == nil {
		err = m.work.note(&proc{what: "stray", pid: stray.Process.Pid, start: st.start})
	}
	if err != nil {
		panic(err)
	}
	report := map[string]int{"node": c.nodes["n1"].proc.pid, "stray": stray.Process.Pid}
	for _, name := range []string{"w1", "w2"} {
		report[name] = c.hosts[name].proc.pid
	}
	_ = json.NewEncoder(os.Stdout).Encode(report)
	select {}
}
