package local

import (
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// pools keeps one pool for each address, until it is closed.
type pools struct {
	mu      sync.Mutex
	clients map[string]*goredislib.Client
	made    map[string]redis.Pool
}

func (p *pools) get(addr string) redis.Pool {
	p.client(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made[addr]
}

// client is the go-redis client under the pool of that address.
func (p *pools) client(addr string) *goredislib.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.clients[addr]; ok {
		return c
	}
	if p.made == nil {
		p.clients, p.made = map[string]*goredislib.Client{}, map[string]redis.Pool{}
	}
	p.clients[addr] = goredislib.NewClient(poolOptions(addr))
	p.made[addr] = goredis.NewPool(p.clients[addr])
	return p.clients[addr]
}

func (p *pools) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.clients {
		_ = c.Close() // it only closes connections
	}
}

// poolOptions are for the harness's own work. A command is sent once, as a
// write that is tried again may be done twice, and its reply is waited for as
// long as the context allows: it may be held on purpose. No other command is
// sent than it takes, so that a link's counts mean what they say.
func poolOptions(addr string) *goredislib.Options {
	return &goredislib.Options{
		Addr:                     addr,
		Protocol:                 2,
		MaxRetries:               -1,
		DialerRetries:            1,
		DialTimeout:              dialTimeout,
		ReadTimeout:              -1,
		WriteTimeout:             -1,
		ContextTimeoutEnabled:    true,
		PoolSize:                 64,
		PoolTimeout:              time.Minute,
		PipelinePoolSize:         -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}
