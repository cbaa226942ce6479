package locks_test

import (
	"context"
	"errors"

	"github.com/go-redsync/redsync/v4/redis"
)

// away is a node that cannot be reached.
type away struct{}

func (away) Get(context.Context) (redis.Conn, error) { return nil, errors.New("this node is away") }

// meddled is a node at which something happens just before a client talks to it
// for the n-th time.
type meddled struct {
	redis.Pool
	n      int
	meddle func()
	talks  int
}

func (p *meddled) Get(ctx context.Context) (redis.Conn, error) {
	if p.talks++; p.talks == p.n {
		p.meddle()
	}
	return p.Pool.Get(ctx)
}

// onlyOnce is a node that is away after the first talk.
type onlyOnce struct {
	redis.Pool
	talked bool
}

func (p *onlyOnce) Get(ctx context.Context) (redis.Conn, error) {
	if p.talked {
		return away{}.Get(ctx)
	}
	p.talked = true
	return p.Pool.Get(ctx)
}
