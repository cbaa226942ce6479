package local

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
)

// BenchmarkLink measures a round trip to a node: straight and through a link.
func BenchmarkLink(b *testing.B) {
	c := up(b, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}, Hosts: []cluster.HostSpec{{Name: "w1"}}})
	direct, err := c.NodeAddr("n1")
	if err != nil {
		b.Fatal(err)
	}
	var took [2]float64
	for i, way := range []struct{ name, addr string }{{"direct", direct}, {"proxied", c.links[pair{"w1", "n1"}].Addr()}} {
		b.Run(way.name, func(b *testing.B) {
			pingLoop(b, way.addr)
			took[i] = float64(b.Elapsed()) / float64(b.N)
		})
	}
	b.Logf("proxied takes %.2f times as long as direct", took[1]/took[0])
}

func pingLoop(b *testing.B, addr string) {
	conn, err := net.Dial("tcp4", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	buf := make([]byte, 64)
	for b.Loop() {
		if _, err := conn.Write([]byte("*1\r\n$4\r\nPING\r\n")); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCycle is SET NX and a compare-and-delete by go-redis, as a lock does them.
func BenchmarkCycle(b *testing.B) {
	c := up(b, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}, Hosts: []cluster.HostSpec{{Name: "w1"}}})
	for name, p := range map[string]redis.Pool{"direct": c.Direct("n1"), "proxied": c.Pool("w1", "n1")} {
		b.Run(name, func(b *testing.B) { cycleLoop(b, p) })
	}
}

func cycleLoop(b *testing.B, p redis.Pool) {
	script := redis.NewScript(1, `if redis.call("GET",KEYS[1])==ARGV[1] then return redis.call("DEL",KEYS[1]) end return 0`, "")
	conn, err := p.Get(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if err := conn.ScriptLoad(script); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if ok, err := conn.SetNX("lock", "me", time.Minute); !ok || err != nil {
			b.Fatal(ok, err)
		}
		if _, err := conn.Eval(script, "lock", "me"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUp is a cluster of 6 nodes and 30 links, up and closed.
func BenchmarkUp(b *testing.B) {
	m := open(b)
	var spec cluster.Spec
	for i := range 6 {
		spec.Nodes = append(spec.Nodes, cluster.NodeSpec{Name: fmt.Sprint("n", i)})
	}
	for i := range 5 {
		spec.Hosts = append(spec.Hosts, cluster.HostSpec{Name: fmt.Sprint("w", i)})
	}
	for b.Loop() {
		c, err := m.Up(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
