package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
	"lockchaos/scenario"
	"lockchaos/workloads"
)

// resourceNode is the node that keeps the counter, which it may not forget.
func (r Run) resourceNode() cluster.NodeSpec {
	if r.Scenario.Resource == scenario.ResourcePostgres {
		return cluster.NodeSpec{Name: cluster.Resource, Kind: cluster.KindPostgres}
	}
	return cluster.NodeSpec{Name: cluster.Resource, Persistence: cluster.PersistEverySec}
}

// resource makes the counter. done ends its connections.
func (r Run) resource(ctx context.Context, c Cluster) (res workloads.Resource, done func(), err error) {
	if r.Scenario.Resource == scenario.ResourcePostgres {
		return r.postgres(ctx, c)
	}
	res, err = workloads.NewRedisResource(ctx, r.Guard, cluster.Key(c, ""),
		func(host string) redis.Pool { return c.Pool(host, cluster.Resource) }, c.Direct(cluster.Resource))
	return res, func() {}, err
}

func (r Run) postgres(ctx context.Context, c Cluster) (workloads.Resource, func(), error) {
	where, ok := c.(cluster.Addressed)
	if !ok {
		return nil, nil, errors.New("a PostgreSQL resource needs real servers")
	}
	hosts := map[string]string{}
	for _, h := range r.Scenario.HostNames() {
		addr, err := where.LinkAddr(h, cluster.Resource)
		if err != nil {
			return nil, nil, fmt.Errorf("resource: %w", err)
		}
		hosts[h] = addr
	}
	direct, err := where.NodeAddr(cluster.Resource)
	if err != nil {
		return nil, nil, fmt.Errorf("resource: %w", err)
	}
	res, err := workloads.NewPostgresResource(ctx, r.Guard, hosts, direct)
	if err != nil {
		return nil, nil, err
	}
	return res, res.Close, nil
}
