package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/cluster"
)

var _ cluster.MemoryControl = (*Cluster)(nil)

// What a node is filled with.
const (
	fillerPrefix = "lockchaos:filler:"
	fillerSize   = 64 << 10
	room         = 16 * fillerSize // between what is used and the bound
	mostFillers  = 20_000
)

// What a node runs with, and returns to.
var (
	shortOfMemory = []string{"maxmemory-policy", "allkeys-lru", "maxmemory-samples", "64", "notify-keyspace-events", "Ee"}
	noBound       = []string{"maxmemory", "0", "maxmemory-policy", "noeviction", "maxmemory-samples", "5", "notify-keyspace-events", ""}
)

// EvictKeys bounds the node's memory and fills it until the keys that it had
// are evicted. The node itself tells which are.
func (c *Cluster) EvictKeys(ctx context.Context, name string) (string, error) {
	addr, err := c.NodeAddr(name)
	if err != nil {
		return "", err
	}
	client := c.pools.client(addr)
	keys, err := client.Keys(ctx, cluster.Under(c.spec.KeyPrefix)).Result()
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	keys = slices.DeleteFunc(keys, func(k string) bool { return strings.HasPrefix(k, c.key("lockchaos:")) })
	if len(keys) == 0 {
		return "", fmt.Errorf("node %s: %w: it has no key", name, cluster.ErrIdle)
	}
	e, err := newEviction(ctx, client, c.key(fillerPrefix))
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	defer e.close()
	gone, err := e.fill(ctx, keys)
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	if len(gone) == 0 {
		return "", fmt.Errorf("node %s: %w: its keys went by themselves", name, cluster.ErrIdle)
	}
	return "evicted: " + strings.Join(gone, ", "), nil
}

// FreeMemory lifts the bound and deletes the filling.
func (c *Cluster) FreeMemory(ctx context.Context, name string) (string, error) {
	addr, err := c.NodeAddr(name)
	if err != nil {
		return "", err
	}
	client := c.pools.client(addr)
	err = configure(ctx, client, noBound)
	var fillers []string
	if err == nil {
		fillers, err = client.Keys(ctx, cluster.Under(c.key(fillerPrefix))).Result()
	}
	if err == nil && len(fillers) > 0 {
		err = client.Del(ctx, fillers...).Err()
	}
	bound := ""
	if err == nil {
		bound, err = infoField(ctx, client, "memory", "maxmemory")
	}
	if err == nil && bound != "0" {
		err = fmt.Errorf("its memory is still bounded to %s bytes", bound)
	}
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	return fmt.Sprintf("memory without bound again, %d fillers deleted", len(fillers)), nil
}

// eviction is a node that is being filled, and its word on what it evicts.
type eviction struct {
	client *goredislib.Client
	events *goredislib.PubSub
	filler string // what the names of the filling begin with
}

const evictedChannel = "__keyevent@0__:evicted"

func newEviction(ctx context.Context, client *goredislib.Client, filler string) (*eviction, error) {
	used, err := infoField(ctx, client, "memory", "used_memory")
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseInt(used, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("INFO memory: used_memory: %w", err)
	}
	if err := configure(ctx, client, append([]string{"maxmemory", strconv.FormatInt(n+room, 10)}, shortOfMemory...)); err != nil {
		return nil, err
	}
	e := &eviction{client, client.Subscribe(ctx, evictedChannel), filler}
	if _, err := e.told(ctx); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *eviction) close() { _ = e.events.Close() } // it only closes a connection

// fill writes until none of the keys is there, and returns those that were evicted.
func (e *eviction) fill(ctx context.Context, keys []string) ([]string, error) {
	filler := strings.Repeat("x", fillerSize)
	evicted := map[string]bool{}
	for i := range mostFillers {
		if err := e.client.Set(ctx, e.filler+strconv.Itoa(i), filler, 0).Err(); err != nil {
			return nil, err
		}
		told, err := e.told(ctx)
		if err != nil {
			return nil, err
		}
		for _, k := range told {
			evicted[k] = true
		}
		left := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return evicted[k] })
		if len(left) > 0 {
			there, err := e.client.Exists(ctx, left...).Result()
			if err != nil {
				return nil, err
			}
			if there > 0 {
				continue
			}
		}
		gone := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return !evicted[k] })
		slices.Sort(gone)
		return gone, nil
	}
	return nil, fmt.Errorf("after %d fillers its keys are still there", mostFillers)
}

// told is what was evicted since the last call: the answer to a PING comes
// after all that was said before.
func (e *eviction) told(ctx context.Context) ([]string, error) {
	const longest = 5 * time.Second
	if err := e.events.Ping(ctx); err != nil {
		return nil, err
	}
	var keys []string
	for {
		m, err := e.events.ReceiveTimeout(ctx, longest)
		if err != nil {
			return nil, err
		}
		switch m := m.(type) {
		case *goredislib.Message:
			keys = append(keys, m.Payload)
		case *goredislib.Pong:
			return keys, nil
		}
	}
}

// configure sets all or nothing.
func configure(ctx context.Context, client *goredislib.Client, settings []string) error {
	args := []any{"CONFIG", "SET"}
	for _, s := range settings {
		args = append(args, s)
	}
	if err := client.Do(ctx, args...).Err(); err != nil {
		return fmt.Errorf("CONFIG SET %s: %w", strings.Join(settings, " "), err)
	}
	return nil
}

func infoField(ctx context.Context, client *goredislib.Client, section, field string) (string, error) {
	text, err := client.Info(ctx, section).Result()
	if err != nil {
		return "", err
	}
	v, ok := fields(text)[field]
	if !ok {
		return "", errors.New("INFO " + section + " has no " + field)
	}
	return v, nil
}
