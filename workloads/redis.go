package workloads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"

	"github.com/go-redsync/redsync/v4/redis"

	"lockchaos/history"
	"lockchaos/internal/luascript"
)

// RedisResource keeps the counter on a Redis node of its own.
type RedisResource struct {
	guard  string
	prefix string
	link   func(host string) redis.Pool
	direct redis.Pool
}

var _ Resource = (*RedisResource)(nil)

var (
	guardStep = luascript.New(4, guardSource)
	ledgerGet = luascript.New(1, `return redis.call("LRANGE", KEYS[1], ARGV[1], ARGV[2])`)
	finalGet  = luascript.New(1, `return tonumber(redis.call("GET", KEYS[1]) or "0")`)
)

const (
	counterKey = "counter"
	fenceKey   = "counter:fence"
	versionKey = "counter:version"
	ledgerKey  = "counter:ledger"
)

// ledgerPage is how many entries of the ledger are fetched at once.
const ledgerPage = 10_000

// NewRedisResource makes the counter, with names of keys that begin with prefix. It
// is reached through link by each host, and past all links through direct.
func NewRedisResource(ctx context.Context, guard, prefix string, link func(host string) redis.Pool, direct redis.Pool) (*RedisResource, error) {
	if err := known(guard); err != nil {
		return nil, err
	}
	conn, err := direct.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("resource: %w", err)
	}
	defer conn.Close()
	if err := conn.ScriptLoad(luascript.New(4, guardSource)); err != nil {
		return nil, fmt.Errorf("resource: load the guard's script: %w", err)
	}
	return &RedisResource{guard: guard, prefix: prefix, link: link, direct: direct}, nil
}

// Read reads the counter; a fence-read guard may refuse it.
func (r *RedisResource) Read(ctx context.Context, a Attempt) Answer {
	return r.step(ctx, history.Read, a)
}

// Write stores a.Value, or adds one where the guard is atomic.
func (r *RedisResource) Write(ctx context.Context, a Attempt) Answer {
	return r.step(ctx, history.Write, a)
}

func (r *RedisResource) step(ctx context.Context, do history.Do, a Attempt) Answer {
	conn, err := r.link(a.Host).Get(ctx)
	if err != nil {
		return broken(err)
	}
	defer conn.Close()
	v, err := conn.Eval(guardStep, r.prefix+counterKey, r.prefix+fenceKey, r.prefix+versionKey, r.prefix+ledgerKey,
		r.guard, string(do), a.Op, a.Host, a.Grant, a.Owner, a.Token, a.Value, a.Version)
	if err != nil {
		return broken(err)
	}
	n, ok := numbers(v)
	if !ok || len(n) != 3 {
		return Answer{Result: history.Unknown, Text: fmt.Sprintf("the resource answered %v", v)}
	}
	if n[0] == 0 {
		return Answer{Result: history.Refused, Value: n[1], Text: "refused by the guard " + r.guard}
	}
	return Answer{Result: history.OK, Value: n[1], Version: n[2]}
}

func numbers(v any) ([]int64, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]int64, len(list))
	for i, e := range list {
		if out[i], ok = e.(int64); !ok {
			return nil, false
		}
	}
	return out, true
}

// broken classifies an error: only a refused connection certainly sent nothing.
// That holds because the harness's own clients never try again by themselves.
func broken(err error) Answer {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return Answer{Result: history.Failed, Text: err.Error()}
	}
	return Answer{Result: history.Unknown, Text: err.Error()}
}

// Ledger returns all entries in the order in which they took effect.
func (r *RedisResource) Ledger(ctx context.Context) ([]Entry, error) {
	conn, err := r.direct.Get(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	defer conn.Close()
	var all []Entry
	for {
		v, err := conn.Eval(ledgerGet, r.prefix+ledgerKey, len(all), len(all)+ledgerPage-1)
		if err != nil {
			return nil, fmt.Errorf("read the ledger: %w", err)
		}
		page, _ := v.([]any)
		for _, line := range page {
			var e Entry
			s, _ := line.(string)
			if err := json.Unmarshal([]byte(s), &e); err != nil {
				return nil, fmt.Errorf("ledger entry %d, %q: %w", len(all)+1, s, err)
			}
			all = append(all, e)
		}
		if len(page) < ledgerPage {
			return all, nil
		}
	}
}

// Final returns the counter.
func (r *RedisResource) Final(ctx context.Context) (int64, error) {
	conn, err := r.direct.Get(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	defer conn.Close()
	v, err := conn.Eval(finalGet, r.prefix+counterKey)
	if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	n, ok := v.(int64)
	if !ok {
		return 0, fmt.Errorf("read the counter: the resource answered %v", v)
	}
	return n, nil
}
