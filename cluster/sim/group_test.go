package sim

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/cluster"
)

// groupSpec is a master, two replicas and three Sentinels.
func groupSpec(seed int64) cluster.Spec {
	return cluster.Spec{
		Seed: seed, Hosts: []cluster.HostSpec{{Name: "w1"}, {Name: "w2"}},
		Nodes: []cluster.NodeSpec{
			{Name: "n1"}, {Name: "n2", Role: cluster.RoleReplica}, {Name: "n3", Role: cluster.RoleReplica},
			{Name: "s1", Role: cluster.RoleSentinel}, {Name: "s2", Role: cluster.RoleSentinel}, {Name: "s3", Role: cluster.RoleSentinel},
			{Name: cluster.Resource},
		},
	}
}

func TestDebug(t *testing.T) {
	for seed := range int64(20) {
		synctest.Test(t, func(t *testing.T) {
			c := Up(groupSpec(seed), DefaultLatency)
			defer c.Close()
			ctx := context.Background()
			time.Sleep(200 * time.Millisecond)
			start := time.Now()
			c.CrashNode(ctx, "n1")
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			proof, err := c.AwaitFailover(ctx, "n1")
			fmt.Println(seed, time.Since(start), proof, err)
			if seed == 0 && err != nil {
				for _, n := range c.group.sentinels {
					p := c.servers[n].sentinel
					fmt.Println(time.Since(start), n, p.master, p.epoch, p.leader, p.leaderEpoch, fmt.Sprintf("%+v", p.change), p.seen["n1"].down, p.agreed(), p.seen["n2"].role, p.seen["n2"].linkUp, time.Since(p.seen["n2"].told), p.seen["n2"].connected)
				}
			}
		})
	}
}
