package play_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"lockchaos/checker"
	"lockchaos/serve/play"
)

// patience is how long an answer may take before a test calls it a hang.
const patience = 30 * time.Second

// worker makes one whose children are as how says, one after the other; the last
// of them over and over. made are their commands.
func worker(t *testing.T, limit time.Duration, how ...string) (w *play.Worker, made func() []*exec.Cmd) {
	t.Helper()
	var mu sync.Mutex
	var all []*exec.Cmd
	w = play.NewWorker(func() *exec.Cmd {
		mu.Lock()
		defer mu.Unlock()
		cmd := player(how[min(len(all), len(how)-1)])
		all = append(all, cmd)
		return cmd
	}, limit)
	t.Cleanup(w.Close)
	return w, func() []*exec.Cmd {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func task(t *testing.T, change func(*play.Choice)) play.Task {
	t.Helper()
	c := play.StaleHolder()
	change(&c)
	text, err := c.Scenario(nil)
	if err != nil {
		t.Fatal(err)
	}
	return play.Task{Scenario: text, Guard: c.Guard, Seed: int64(c.Seed)}
}

func same(*play.Choice) {}

func answer(t *testing.T, w *play.Worker, x play.Task) *play.Answer {
	t.Helper()
	a, err := w.Run(t.Context(), x)
	if err != nil || a.Error != "" || a.Verdict == nil {
		t.Fatalf("%v: %+v", err, a)
	}
	return a
}

func TestStaleHolder(t *testing.T) {
	t.Parallel()
	w, made := worker(t, patience, works)
	bare := answer(t, w, task(t, same))
	if bare.Verdict.Outcome != checker.Violated || len(bare.Timeline.Moments) == 0 {
		t.Errorf("%s without a guard, %d moments", bare.Verdict.Outcome, len(bare.Timeline.Moments))
	}
	fenced := answer(t, w, task(t, func(c *play.Choice) { c.Guard = "fence" }))
	if fenced.Verdict.Outcome != checker.Safe || fenced.Verdict.Lock != checker.Violated || fenced.Verdict.Counts.Stale != 1 {
		t.Errorf("with a fence: %s, the lock %s, %d stale operations refused", fenced.Verdict.Outcome, fenced.Verdict.Lock, fenced.Verdict.Counts.Stale)
	}
	if n := len(made()); n != 1 {
		t.Errorf("%d children for two tasks", n)
	}
}

// A failover forgets what the replicas have not heard of, and no fence knows one
// holder from another then; what they have heard of stays.
func TestFailover(t *testing.T) {
	t.Parallel()
	w, _ := worker(t, patience, works)
	for unheard, want := range map[bool]checker.Outcome{false: checker.Safe, true: checker.Violated} {
		a := answer(t, w, task(t, func(c *play.Choice) {
			c.Lock, c.Guard, c.Pause.On, c.Fail.On, c.Unheard = "sentinel", "fence", false, true, unheard
			c.TTL, c.Hosts, c.Rounds, c.Work = 5000, 2, 1, 3000
		}))
		forgot := slices.ContainsFunc(a.Verdict.Findings, func(f checker.Finding) bool { return f.ID == checker.TokenRegression })
		if a.Verdict.Outcome != want || forgot != unheard {
			t.Errorf("unheard %v: %s, expected %s: %+v", unheard, a.Verdict.Outcome, want, a.Verdict.Findings)
		}
	}
	split := answer(t, w, task(t, func(c *play.Choice) {
		c.Lock, c.Pause.On, c.Fail.On, c.How = "sentinel", false, true, "isolate"
	}))
	if !slices.ContainsFunc(split.Verdict.Findings, func(f checker.Finding) bool { return f.Kind() == "double-grant/split" }) {
		t.Errorf("two masters: %+v", split.Verdict.Findings[:min(3, len(split.Verdict.Findings))])
	}
}

// The same choice gives the same history, also in another child and with faults
// that were to begin and to end together.
func TestSameAgain(t *testing.T) {
	t.Parallel()
	first, _ := worker(t, patience, works)
	second, _ := worker(t, patience, works)
	for _, system := range []string{"single", "redlock", "sentinel"} {
		for seed := range 3 {
			x := task(t, func(c *play.Choice) {
				c.Lock, c.Watchdog, c.Cut, c.Jump.On, c.Jump.At = system, seed%2 == 0, c.Pause, true, 320
				c.Seed = seed + 1
				c.Fail.On, c.Unheard, c.How = system == "sentinel", seed == 1, play.Ways()[seed]
			})
			a, b, c := answer(t, first, x), answer(t, first, x), answer(t, second, x)
			if a.Hash != b.Hash || a.Hash != c.Hash {
				t.Errorf("%s, seed %d: three histories: %.8s, %.8s, %.8s", system, x.Seed, a.Hash, b.Hash, c.Hash)
			}
		}
	}
}

// A child that fails costs its task, and no other.
func TestFailingChildren(t *testing.T) {
	t.Parallel()
	for how, c := range map[string]struct {
		limit time.Duration
		err   error
		says  string
	}{
		"hangs":      {200 * time.Millisecond, play.ErrSlow, "took too long, and was ended after 200ms"},
		"panics":     {patience, play.ErrBroken, "panic: in the simulation"},
		"breaks off": {patience, play.ErrBroken, "broke down"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w, made := worker(t, c.limit, how, works)
			if _, err := w.Run(t.Context(), task(t, same)); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, expected %q", err, c.says)
			}
			if how != "hangs" { // whose limit is too short for a busy machine
				answer(t, w, task(t, same))
			}
			if p := made()[0]; p.ProcessState == nil {
				t.Error("the child that failed is still there")
			}
		})
	}
}

// Who waits behind many is told so at once; who goes away leaves the queue.
func TestQueue(t *testing.T) {
	t.Parallel()
	w, _ := worker(t, patience, "hangs")
	ctx, leave := context.WithCancel(t.Context())
	ends := make(chan error)
	for range 12 {
		go func() {
			_, err := w.Run(ctx, task(t, same))
			ends <- err
		}()
	}
	for range 3 { // one is under way, eight wait
		if err := <-ends; !errors.Is(err, play.ErrBusy) {
			t.Errorf("%v, expected %v", err, play.ErrBusy)
		}
	}
	leave()
	for range 9 {
		if err := <-ends; !errors.Is(err, context.Canceled) {
			t.Errorf("%v, expected %v", err, context.Canceled)
		}
	}
}

// A wrong file, and a child that cannot be started, are errors that say so.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	w, _ := worker(t, patience, works)
	if a, err := w.Run(t.Context(), play.Task{Scenario: []byte("hosts: many")}); err != nil || !strings.Contains(a.Error, "playground.yaml:1") {
		t.Errorf("%v, %+v", err, a)
	}
	none := play.NewWorker(func() *exec.Cmd { return exec.Command("/nonsense") }, patience)
	t.Cleanup(none.Close)
	for range 2 {
		if _, err := none.Run(t.Context(), task(t, same)); err == nil || !strings.Contains(err.Error(), "start the simulation: ") {
			t.Error(err)
		}
	}
}

// A worker that is closed leaves no process, whatever is under way.
func TestClose(t *testing.T) {
	t.Parallel()
	started, ended := make(chan *exec.Cmd, 1), make(chan error)
	w := play.NewWorker(func() *exec.Cmd {
		cmd := player("hangs")
		started <- cmd
		return cmd
	}, patience)
	go func() {
		_, err := w.Run(t.Context(), task(t, same))
		ended <- err
	}()
	child := <-started
	w.Close()
	if err := <-ended; !errors.Is(err, play.ErrClosed) {
		t.Errorf("%v, expected %v", err, play.ErrClosed)
	}
	if child.ProcessState == nil {
		t.Error("the child is still there")
	}
	if _, err := w.Run(t.Context(), task(t, same)); !errors.Is(err, play.ErrClosed) {
		t.Errorf("%v, expected %v", err, play.ErrClosed)
	}
}

// A child whose server is gone ends by itself.
func TestOrphan(t *testing.T) {
	t.Parallel()
	cmd := player(works)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func BenchmarkTask(b *testing.B) {
	w := play.NewWorker(func() *exec.Cmd { return player(works) }, patience)
	b.Cleanup(w.Close)
	for _, system := range []string{"single", "redlock", "sentinel"} {
		c := play.StaleHolder()
		c.Lock, c.Hosts, c.Rounds = system, play.Limits["hosts"].Most, play.Limits["rounds"].Most
		text, err := c.Scenario(nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("%s/%d hosts", system, c.Hosts), func(b *testing.B) {
			for b.Loop() {
				if a, err := w.Run(context.Background(), play.Task{Scenario: text, Guard: c.Guard, Seed: 1}); err != nil || a.Error != "" {
					b.Fatal(err, a)
				}
			}
		})
	}
}
