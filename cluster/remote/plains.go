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
	// mostKeys is how many keys a server may have whose TTLs are to be shifted: the
	// script looks at them all, and nobody is served meanwhile.
	mostKeys = 1_000_000
)

const tooMany = "clock-jump is not done to it, as a script would look at them all, and nobody be served meanwhile"

// Plains are plain servers that have been looked at. All keys that a run writes to
// them have a prefix of its own, and are deleted at its end.
type Plains struct {
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

// OpenPlains looks at plain servers by the names of their entries, which are
// checked. A server that is not fit for runs is an *UnfitError.
func OpenPlains(ctx context.Context, entries map[string]Plain) (*Plains, error) {
	id := make([]byte, 4)
	if _, err := rand.Read(id); err != nil {
		return nil, err
	}
	p := &Plains{session: fmt.Sprintf("%s{%s-%s-", everyPrefix, time.Now().UTC().Format("20060102T150405"), hex.EncodeToString(id))}
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
func (p *Plains) look(ctx context.Context) error {
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
func (p *Plains) nextPrefix() string {
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
func (p *Plains) warnings() []string {
	var list []string
	for _, s := range p.servers {
		if s.facts.keys > mostKeys {
			list = append(list, fmt.Sprintf("%s has %d keys: %s", s, s.facts.keys, tooMany))
		}
		if policy := s.facts.policy; policy != "" && policy != "noeviction" {
			list = append(list, fmt.Sprintf("%s has the maxmemory-policy %s: where its memory is full, it forgets locks and counters by itself", s, policy))
		}
	}
	return list
}

// Close deletes what runs may still have left, and says where it cannot.
func (p *Plains) Close() error {
	err := p.sweep(p.session, slices.DeleteFunc(slices.Clone(p.servers), func(s *plainServer) bool { return !s.wrote }))
	for _, s := range p.servers {
		_ = s.client.Close() // it only closes connections
	}
	return err
}

// sweep deletes all keys under a prefix. It does so whatever has become of the run,
// so it takes no context.
func (p *Plains) sweep(prefix string, servers []*plainServer) error {
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
	for {
		found := 0
		scan := s.client.Scan(ctx, 0, cluster.Under(prefix), pageSize)
		for {
			keys, next, err := scan.Result()
			if err == nil && len(keys) > 0 {
				err = s.client.Unlink(ctx, keys...).Err()
			}
			if err != nil {
				return err
			}
			if found += len(keys); next == 0 {
				break
			}
			scan = s.client.Scan(ctx, next, cluster.Under(prefix), pageSize)
		}
		if found == 0 {
			return nil
		}
	}
}

// jump shifts the TTLs under a prefix.
func (s *plainServer) jump(ctx context.Context, prefix string, by time.Duration) (string, error) {
	n, err := s.client.DBSize(ctx).Result()
	if err == nil && n > mostKeys {
		err = fmt.Errorf("%d keys: %s", n, tooMany)
	}
	var conn net.Conn
	if err == nil {
		conn, err = s.dial.Dial(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	defer stop()
	return local.ShiftTTLs(conn, prefix, by)
}

// outside is the node as a machine's cluster takes it.
func (s *plainServer) outside() local.Server {
	return local.Server{
		Dial:  func(ctx context.Context) (net.Conn, error) { return s.dial.Dial(ctx) },
		RunID: func() string { return "" }, // no failover is to be proved
	}
}
