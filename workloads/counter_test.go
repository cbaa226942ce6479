package workloads_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lockchaos/history"
	"lockchaos/internal/golden"
	"lockchaos/workloads"
)

// script is a host's steps, with answers set down beforehand: for each step
// the words of its calls in order, and the last for ever after.
//
//	acquire  granted, refused
//	check    held, lost
//	read     ok, refused, failed
//	write    ok, refused
//	any      stop (ErrStopped), break (another error)
type script struct {
	start   time.Time
	answers map[string][]string
	log     []string
}

var errBroken = errors.New("the harness is broken")

func (s *script) step(ctx context.Context, name, args string) (string, error) {
	list := s.answers[name]
	word := list[0]
	if len(list) > 1 {
		s.answers[name] = list[1:]
	}
	s.log = append(s.log, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", time.Since(s.start), name, args, word)))
	switch {
	case word == "stop":
		return word, fmt.Errorf("host w1: %w", workloads.ErrStopped)
	case word == "break":
		return word, errBroken
	case ctx.Err() != nil:
		return word, errors.Join(workloads.ErrStopped, ctx.Err())
	}
	return word, nil
}

func (s *script) Acquire(ctx context.Context) (*workloads.Grant, error) {
	word, err := s.step(ctx, "acquire", "")
	if err != nil || word != "granted" {
		return nil, err
	}
	return &workloads.Grant{Op: int64(len(s.log)), Owner: "me", Token: 7}, nil
}

func (s *script) Check(ctx context.Context, g *workloads.Grant) (bool, error) {
	word, err := s.step(ctx, "check", fmt.Sprint(g.Op))
	return word == "held", err
}

func (s *script) Read(ctx context.Context, g *workloads.Grant) (workloads.Answer, error) {
	word, err := s.step(ctx, "read", fmt.Sprint(g.Op))
	return workloads.Answer{Result: history.Result(word), Value: 41, Version: 3}, err
}

func (s *script) Write(ctx context.Context, g *workloads.Grant, value, version int64) (workloads.Answer, error) {
	word, err := s.step(ctx, "write", fmt.Sprintf("%d: %d over version %d", g.Op, value, version))
	return workloads.Answer{Result: history.Result(word), Value: value, Version: version + 1}, err
}

func (s *script) Release(ctx context.Context, g *workloads.Grant) error {
	_, err := s.step(ctx, "release", fmt.Sprint(g.Op))
	return err
}

func TestCounter(t *testing.T) {
	var b strings.Builder
	for _, c := range []struct {
		name    string
		rounds  int
		writes  int
		answers string // "step word word; step word" besides what goes well
		limit   time.Duration
		err     error
	}{
		{name: "no rounds", rounds: 0},
		{name: "two rounds", rounds: 2},
		{name: "the lock is taken at first", rounds: 1, answers: "acquire refused refused granted"},
		{name: "the lease is gone before the read", rounds: 1, answers: "check lost"},
		{name: "the lease is gone before the write", rounds: 2, answers: "check held lost held"},
		{name: "the guard refuses the read", rounds: 1, answers: "read refused"},
		{name: "nobody knows of the read", rounds: 1, answers: "read unknown"},
		{name: "the guard refuses the write", rounds: 1, answers: "write refused"},
		{name: "two writes in a round", rounds: 1, writes: 2},
		{name: "two writes in a round, the first is refused", rounds: 1, writes: 2, answers: "write refused"},
		{name: "two writes in a round, the second is refused", rounds: 1, writes: 2, answers: "write ok refused"},
		{name: "two writes in a round, the lease is gone before the second", rounds: 1, writes: 2, answers: "check held held lost"},
		{name: "the host stops at acquire", rounds: 1, answers: "acquire stop"},
		{name: "the host stops at check", rounds: 1, answers: "check stop"},
		{name: "the host stops at read", rounds: 1, answers: "read stop"},
		{name: "the host stops at the second check", rounds: 1, answers: "check held stop"},
		{name: "the host stops at write", rounds: 1, answers: "write stop"},
		{name: "the host stops at release", rounds: 2, answers: "release stop"},
		{name: "the harness breaks at acquire", rounds: 1, answers: "acquire break", err: errBroken},
		{name: "the harness breaks at check", rounds: 1, answers: "check break", err: errBroken},
		{name: "the harness breaks at write", rounds: 1, answers: "write break", err: errBroken},
		{name: "the run ends while it retries", rounds: 1, answers: "acquire refused", limit: 25 * time.Millisecond},
		{name: "the run ends while it works", rounds: 1, limit: 2 * time.Millisecond},
		{name: "the run ends while it rests", rounds: 9, limit: 20 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{start: time.Now(), answers: map[string][]string{
				"acquire": {"granted"}, "check": {"held"}, "read": {"ok"}, "write": {"ok"}, "release": {"ok"},
			}}
			for part := range strings.SplitSeq(c.answers, ";") {
				if words := strings.Fields(part); len(words) > 0 {
					s.answers[words[0]] = words[1:]
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), max(c.limit, time.Millisecond))
			if c.limit == 0 {
				ctx, cancel = context.WithTimeout(t.Context(), time.Hour)
			}
			defer cancel()
			w := workloads.Counter{Work: 5 * time.Millisecond, Rest: 100 * time.Millisecond, Retry: 10 * time.Millisecond, Writes: c.writes,
				More: func(done int) bool { return done < c.rounds }}
			if err := w.Run(ctx, s); !errors.Is(err, c.err) || c.err == nil && err != nil {
				t.Errorf("%s: ended with %v, want %v", c.name, err, c.err)
			}
			fmt.Fprintf(&b, "# %s: %d rounds\n", c.name, c.rounds)
			for _, line := range s.log {
				fmt.Fprintf(&b, "    %s\n", line)
			}
			fmt.Fprintf(&b, "    %s over\n\n", time.Since(s.start))
		})
	}
	golden.Check(t, "testdata/counter.txt", b.String())
}

// Without pauses a counter still notices the end of the run.
func TestCounterWithoutPauses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{start: time.Now(), answers: map[string][]string{
		"acquire": {"granted"}, "check": {"held"}, "read": {"ok"}, "write": {"ok"}, "release": {"ok"},
	}}
	w := workloads.Counter{More: func(done int) bool {
		if done == 3 {
			cancel()
		}
		return true
	}}
	if err := w.Run(ctx, s); err != nil {
		t.Error(err)
	}
	if len(s.log) != 3*6+1 { // the acquire that finds the run over
		t.Errorf("%d steps: %v", len(s.log), s.log)
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range workloads.Guards() {
		if seen[g.Name] || g.About == "" {
			t.Errorf("guard %+v", g)
		}
		seen[g.Name] = true
	}
	for _, k := range workloads.All() {
		if seen[k.Name] || k.About == "" {
			t.Errorf("workload %+v", k)
		}
		seen[k.Name] = true
	}
}
