package locks

import (
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/go-redsync/redsync/v4"
)

// What redsync's errors mean for an acquire and for a grant that is held.
func TestClassify(t *testing.T) {
	down := func(n int) error { return &redsync.RedisError{Node: n, Err: errors.New("EOF")} }
	node := func(n int) error { return &redsync.ErrNodeTaken{Node: n} }
	taken := func(n ...int) error { return &redsync.ErrTaken{Nodes: n} }
	gone := redsync.ErrLockAlreadyExpired
	join := func(errs ...error) error { // as redsync does: one after the other
		var all error
		for _, e := range errs {
			all = errors.Join(all, e)
		}
		return all
	}
	for _, c := range []struct {
		name            string
		nodes           int
		err             error
		against, broken int
		acquire         string
		held            string
	}{
		{"nothing", 5, nil, 0, 0, "too late", "unavailable"},
		{"failed", 5, redsync.ErrFailed, 0, 0, "too late", "unavailable"},
		{"extend came too late", 5, redsync.ErrExtendFailed, 0, 0, "too late", "unavailable"},
		{"a majority has it taken", 5, taken(0, 2, 4), 3, 0, "refused, definite", "lost, definite"},
		{"the one has it taken", 1, taken(0), 1, 0, "refused, definite", "lost, definite"},
		{"a minority has it taken, the rest voted too late", 5, join(node(0), node(1)), 2, 0, "too late", "unavailable"},
		{"three are against, one by one", 5, join(node(0), node(1), gone), 3, 0, "refused, definite", "lost, definite"},
		{"two against, one down", 5, join(node(0), down(1), node(2)), 2, 1, "unavailable", "unavailable"},
		{"three against, two down", 5, join(down(0), down(1), node(2), gone, gone), 3, 2, "unavailable", "lost, definite"},
		{"three down", 5, join(down(0), down(1), down(2)), 0, 3, "unavailable", "unavailable"},
		{"the one down", 1, join(down(0)), 0, 1, "unavailable", "unavailable"},
		{"the one has expired", 1, join(gone), 1, 0, "refused, definite", "lost, definite"},
		{"all have expired", 5, join(gone, gone, gone, gone, gone), 5, 0, "refused, definite", "lost, definite"},
		{"joined twice over", 5, errors.Join(errors.Join(node(1), down(2)), errors.Join(node(3))), 2, 1, "unavailable", "unavailable"},
		{"wrapped", 5, fmt.Errorf("x: %w", taken(1, 2, 3)), 3, 0, "refused, definite", "lost, definite"},
		{"of the value", 5, errors.New("no randomness"), 0, 0, "too late", "unavailable"},
	} {
		l := &redsyncLocker{nodes: c.nodes}
		if v := count(c.err); v.against != c.against || v.broken != c.broken {
			t.Errorf("%s: counted %+v, want %d against, %d broken", c.name, v, c.against, c.broken)
		}
		if got := words(l.acquireError(c.err)); got != c.acquire {
			t.Errorf("%s: acquire: %s, want %s", c.name, got, c.acquire)
		}
		if got := words(l.heldError(c.err)); got != c.held {
			t.Errorf("%s: held: %s, want %s", c.name, got, c.held)
		}
	}
}

func words(e *Error) string {
	s := map[error]string{ErrRefused: "refused", ErrLost: "lost", ErrUnavailable: "unavailable", ErrTooLate: "too late"}[e.Kind]
	if e.Definite {
		s += ", definite"
	}
	return s
}

func TestError(t *testing.T) {
	cause := errors.New("one\ntwo")
	for _, c := range []struct {
		err  *Error
		want string
	}{
		{&Error{Kind: ErrLost}, "the lock is not held by this grant any more"},
		{&Error{Kind: ErrUnavailable, Cause: cause}, "too few nodes answered: one; two"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("got %q, want %q", c.err, c.want)
		}
		if !errors.Is(c.err, c.err.Kind) || errors.Is(c.err, ErrTooLate) || c.err.Cause != nil && !errors.Is(c.err, cause) {
			t.Errorf("%q does not wrap what it should", c.err)
		}
		if op := (*net.OpError)(nil); errors.As(c.err, &op) {
			t.Errorf("%q has a cause that is not there", c.err)
		}
	}
}

func TestFind(t *testing.T) {
	for _, s := range Systems() {
		got, err := Find(s.Name)
		if err != nil || got.Name != s.Name || s.About == "" || s.Quorum() != s.Nodes/2+1 {
			t.Errorf("%s: got %+v, %v", s.Name, got, err)
		}
	}
	_, err := Find("zookeeper")
	const want = `unknown lock system "zookeeper", expected one of single, single-bare-del, single-bare-expire, single-set-then-expire, single-mint-after, single-mint-before, redsync-single, redlock, sentinel, external`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
