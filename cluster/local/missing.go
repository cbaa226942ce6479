package local

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/cluster"
)

// noLink is the answer to a wrong name: each of its calls says what is wrong.
type noLink struct{ err error }

var _ cluster.Link = noLink{}

func (n noLink) Apply(context.Context, string, cluster.Rule) error { return n.err }
func (n noLink) Lift(context.Context, string) error                { return n.err }
func (n noLink) Delay(context.Context, string, time.Duration, time.Duration) error {
	return n.err
}
func (n noLink) Undelay(context.Context, string) error        { return n.err }
func (n noLink) Reset(context.Context) (int, error)           { return 0, n.err }
func (n noLink) Probe(context.Context) (time.Duration, error) { return 0, n.err }
func (n noLink) Counts() cluster.Counts                       { return cluster.Counts{} }

// noPool is the same for a pool.
type noPool struct{ err error }

func (n noPool) Get(context.Context) (redis.Conn, error) { return nil, n.err }
