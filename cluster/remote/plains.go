package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
)

// everyPrefix is what the prefix of every run begins with.
const everyPrefix = "lockchaos:"

// Limits of what is asked of plain servers.
const (
	surveyLimit = 10 * time.Second // of the looks at one, at the start
	sweepLimit  = 30 * time.Second // of the search for what runs have left
	pageSize    = 1000             // keys that a SCAN looks at in one go
	// manyKeys take so long to look through that a lease may end meanwhile.
	manyKeys = 100_000
)

// plainServers are plain servers that have been looked at. All keys that a run writes to
// them have a prefix of its own, and are deleted at its end.
type plainServers struct {
	session string // the prefixes of all runs begin with it
	servers []*plainServer

	mu   sync.Mutex
	runs int
}

type plainServer struct {
	name   string // of its entry in the cluster file
	plain  Plain
	dial   *dialer
	client *redis.Client
	facts  facts
	wrote  bool // something under the prefix
}

func (s *plainServer) String() string { return fmt.Sprintf("%s (%s)", s.name, s.plain.Server) }

// openPlainServers looks at plain servers by the names of their entries, which are
// checked. A server that is not fit for runs is an *UnfitError.
func openPlainServers(ctx context.Context, entries map[string]Plain) (*plainServers, error) {
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	p := &plainServers{session: fmt.Sprintf("%s{%s-%s-", everyPrefix, time.Now().UTC().Format("20060102T150405"), hex.EncodeToString(id))}
	for name, plain := range entries {
		d, err := plain.dialer()
		if err != nil {
			return nil, unfit("%s: %v", name, err)
		}
		p.servers = append(p.servers, &plainServer{name: name, plain: plain, dial: d, client: redis.NewClient(clientOptions(d))})
	}
	for _, s := range p.servers {
		s.plain.forget()
	}
	slices.SortFunc(p.servers, func(a, b *plainServer) int { return strings.Compare(a.name, b.name) })
	if err := p.look(ctx); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// look surveys all servers, and writes to each under a prefix of this purpose.
func (p *plainServers) look(ctx context.Context) error {
	prefix := p.nextPrefix()
	ctx, cancel := context.WithTimeoutCause(ctx, surveyLimit, fmt.Errorf("the plain servers have not answered all questions within %s", surveyLimit))
	defer cancel()
	for _, step := range []func(*plainServer) error{
		func(s *plainServer) error { return s.survey(ctx) },
		func(s *plainServer) error { return s.try(ctx, prefix) },
		func(s *plainServer) error { return s.apart(ctx, prefix, p.servers) },
	} {
		for _, s := range p.servers {
			if err := step(s); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", s, err), context.Cause(ctx))
			}
		}
	}
	return p.sweep(prefix, p.servers)
}

// nextPrefix has the time in it, so that what was left by a program that was killed
// can be told from what is in use. The braces keep the keys of a run together.
func (p *plainServers) nextPrefix() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs++
	return fmt.Sprintf("%s%d}:", p.session, p.runs)
}

// describe says what a server is.
func (s *plainServer) describe() string {
	policy := ""
	if s.facts.policy != "" {
		policy = ", maxmemory-policy " + s.facts.policy
	}
	return fmt.Sprintf("%s %s%s, not started by this program", s.facts.kind, s.facts.version, policy)
}

// warnings are about what may look like a fault, and is none of ours.
func (p *plainServers) warnings() []string {
	var list []string
	for _, s := range p.servers {
		if s.facts.keys > manyKeys {
			list = append(list, fmt.Sprintf("%s has %d keys, among which those of a run are looked for: a clock-jump may come too late for a short lease", s, s.facts.keys))
		}
		if policy := s.facts.policy; policy != "" && policy != "noeviction" {
			list = append(list, fmt.Sprintf("%s has the maxmemory-policy %s: where its memory is full, it forgets locks and counters by itself", s, policy))
		}
	}
	return list
}

// Close deletes what runs may still have left, and says where it cannot.
func (p *plainServers) Close() error {
	err := p.sweep(p.session, slices.DeleteFunc(slices.Clone(p.servers), func(s *plainServer) bool { return !s.wrote }))
	for _, s := range p.servers {
		_ = s.client.Close() // it only closes connections
	}
	return err
}

// sweep deletes all keys under a prefix. It does so whatever has become of the run,
// so it takes no context.
func (p *plainServers) sweep(prefix string, servers []*plainServer) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepLimit)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(servers))
	for i, s := range servers {
		wg.Go(func() {
			if err := s.sweep(ctx, prefix); err != nil {
				errs[i] = fmt.Errorf("%s: keys %s may be left: %w", s, cluster.Under(prefix), err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// sweep goes over the keys until it finds none: a request that was under way when
// its connection was closed may still be done.
func (s *plainServer) sweep(ctx context.Context, prefix string) error {
	for found := true; found; {
		found = false
		err := s.pages(ctx, prefix, func(keys []string) error {
			found = true
			return s.client.Unlink(ctx, keys...).Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pages looks for the keys under a prefix, some at a time: others are served in between.
func (s *plainServer) pages(ctx context.Context, prefix string, do func(keys []string) error) error {
	for cursor := uint64(0); ; {
		keys, next, err := s.client.Scan(ctx, cursor, cluster.Under(prefix), pageSize).Result()
		if err == nil && len(keys) > 0 {
			err = do(keys)
		}
		if cursor = next; err != nil || cursor == 0 {
			return err
		}
	}
}

// jump shifts the TTLs under a prefix.
func (s *plainServer) jump(ctx context.Context, prefix string, by time.Duration) (string, error) {
	var all []string
	err := s.pages(ctx, prefix, func(keys []string) error {
		all = append(all, keys...)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	conn, err := s.dial.Dial(ctx)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	proof, err := local.ShiftTTLs(conn, all, by)
	if err != nil {
		err = fmt.Errorf("%s: %w", s, err)
	}
	return proof, err
}

// outside is the node as a machine's cluster takes it.
func (s *plainServer) outside() local.Server {
	return local.Server{
		Dial:  func(ctx context.Context) (net.Conn, error) { return s.dial.Dial(ctx) },
		RunID: func() string { return "" }, // no failover is to be proved
	}
}
