package local

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// clocked is a cluster of one node with a clock that can be set.
func clocked(t *testing.T, persistence string) *Cluster {
	t.Helper()
	m := open(t)
	if m.clocks.lib == "" {
		t.Fatalf("%s was not found: apt-get install libfaketime", faketimePattern)
	}
	c, err := m.Up(deadline(t), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Persistence: persistence, Clock: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func tell(t *testing.T, c *Cluster) *teller {
	t.Helper()
	tell, err := dialTeller(deadline(t), c.nodes["n1"].port.addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tell.close)
	return tell
}

// expectAhead reads the clock past all that is under test here but its reader.
func expectAhead(t *testing.T, c *Cluster, want time.Duration) {
	t.Helper()
	r, err := tell(t, c).best()
	if err != nil {
		t.Fatal(err)
	}
	if off := (r.ahead() - want).Abs(); off > r.doubt+mostLeap {
		t.Errorf("the clock is %s ahead, want %s ± %s", r.ahead(), want, r.doubt+mostLeap)
	}
}

func jump(t *testing.T, c *Cluster, by time.Duration) string {
	t.Helper()
	proof, err := c.JumpClock(deadline(t), "n1", by)
	if err != nil {
		t.Fatalf("jump by %s: %v", by, err)
	}
	return proof
}

func rate(t *testing.T, c *Cluster, rate float64) string {
	t.Helper()
	proof, err := c.SetClockRate(deadline(t), "n1", rate)
	if err != nil {
		t.Fatalf("rate %g: %v", rate, err)
	}
	return proof
}

func pttl(t *testing.T, c *Cluster, key string) time.Duration {
	t.Helper()
	v, err := c.Command(deadline(t), "n1", "PTTL", key)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(v.(int64)) * time.Millisecond
}

func TestClockJumps(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	expectAhead(t, c, 0)
	set(t, c, "n1", "lock", "w1")
	if _, err := c.Command(deadline(t), "n1", "PEXPIRE", "lock", 60_000); err != nil {
		t.Fatal(err)
	}
	t.Log(jump(t, c, 40*time.Second))
	expectAhead(t, c, 40*time.Second)
	if left := pttl(t, c, "lock"); left > 20*time.Second || left < 15*time.Second {
		t.Errorf("after 40s forward %s of 60s are left", left)
	}
	jump(t, c, -100*time.Second)
	expectAhead(t, c, -60*time.Second)
	if left := pttl(t, c, "lock"); left > 120*time.Second || left < 115*time.Second {
		t.Errorf("after 100s back %s are left, want about 120s", left)
	}
	jump(t, c, 2*time.Minute+time.Millisecond)
	if v := get(t, c, "n1", "lock"); v != "" {
		t.Errorf("past its end the lock is still of %q", v)
	}
	jump(t, c, -1500*time.Microsecond-58*time.Second)
	expectAhead(t, c, 1999500*time.Microsecond)
}

// TestClockGoesOn reads a clock all the time while it is changed, and knows by
// the changes how far it may have gone between two readings.
func TestClockGoesOn(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	tell := tell(t, c)
	stop, done := make(chan struct{}), make(chan struct{})
	var all []reading
	go func() {
		defer close(done)
		for {
			r, err := tell.read()
			if err != nil {
				t.Error(err)
				return
			}
			all = append(all, r)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	jumps := []time.Duration{500 * time.Millisecond, -300 * time.Millisecond}
	leap := mostLeap // on a busy machine, a change of the rate may come late
	change := func(r float64) {
		k := c.nodes["n1"].clock
		by := math.Abs(r - k.rate)
		rate(t, c, r)
		leap = max(leap, time.Duration(by*float64(k.late)))
	}
	change(1.1)
	change(1.05)
	jump(t, c, jumps[0])
	change(0.9)
	change(0.995)
	jump(t, c, jumps[1])
	change(1)
	close(stop)
	<-done
	seen := 0
	for i, r := range all[1:] {
		p := all[i]
		went, passed := r.shown.Sub(p.shown), r.at.Sub(p.at)
		doubt := p.doubt + r.doubt // of how much time has passed
		low, high := (passed-doubt)*9/10-leap, (passed+doubt)*11/10+leap
		if went >= low && went <= high {
			continue
		}
		if seen < len(jumps) && went >= low+jumps[seen] && went <= high+jumps[seen] {
			seen++
			continue
		}
		t.Errorf("reading %d: the clock went on by %s in %s ± %s", i, went, passed, doubt)
	}
	if seen != len(jumps) {
		t.Errorf("%d of %d jumps were seen in %d readings", seen, len(jumps), len(all))
	}
}

// TestRateLeavesNoJump: a rate that is set and taken back at once leaves nearly
// nothing, whatever it is and however long the server has been running.
func TestRateLeavesNoJump(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	n := c.nodes["n1"]
	for _, r := range []float64{0.01, 0.9, 1.005, 1.1, 10, 100} {
		before, err := tell(t, c).best()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.clock.set(0, r); err != nil {
			t.Fatal(err)
		}
		from := n.clock.from
		first, err := tell(t, c).best()
		if err != nil {
			t.Fatal(err)
		}
		if err := n.clock.set(0, 1); err != nil {
			t.Fatal(err)
		}
		want := before.ahead() + gained(r, first.at.Round(0).Sub(from))
		doubt := before.doubt + first.doubt*time.Duration(max(1, r)) + mostLeap
		if off := (first.ahead() - want).Abs(); off > doubt {
			t.Errorf("with a rate of %g the clock was %s ahead, want %s ± %s", r, first.ahead(), want, doubt)
		}
	}
}

func TestRateIsSeen(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	for _, r := range []float64{1.001, 1.005, 0.98, 1.1, 0.9, 10, 1, 1} {
		t.Logf("rate %g: %s", r, rate(t, c, r))
	}
}

func TestRestartKeepsClock(t *testing.T) {
	t.Parallel()
	c := clocked(t, cluster.PersistAlways)
	jump(t, c, time.Hour)
	set(t, c, "n1", "lock", "w1")
	if _, err := c.Command(deadline(t), "n1", "PEXPIRE", "lock", 60_000); err != nil {
		t.Fatal(err)
	}
	restartNode(t, c)
	expectAhead(t, c, time.Hour)
	if left := pttl(t, c, "lock"); left > 60*time.Second || left < 50*time.Second {
		t.Errorf("after a restart %s of 60s are left", left)
	}
	rate(t, c, 1.1)
	before, err := tell(t, c).best()
	if err != nil {
		t.Fatal(err)
	}
	restartNode(t, c)
	after, err := tell(t, c).best()
	if err != nil {
		t.Fatal(err)
	}
	want := before.ahead() + gained(1.1, after.at.Sub(before.at))
	if off := (after.ahead() - want).Abs(); off > before.doubt+after.doubt+mostLeap {
		t.Errorf("after a restart at a rate of 1.1 the clock is %s ahead, want %s", after.ahead(), want)
	}
	rate(t, c, 1)
	jump(t, c, -time.Hour)
}

func restartNode(t *testing.T, c *Cluster) {
	t.Helper()
	if _, err := c.CrashNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.JumpClock(deadline(t), "n1", time.Second); err == nil {
		t.Error("the clock of a node that is down was seen to jump")
	}
	if _, err := c.StartNode(deadline(t), "n1"); err != nil {
		t.Fatal(err)
	}
}

// TestClockFileIsNeverHalf: while the file is replaced as fast as it can be, no
// reading shows anything but one of the two clocks.
func TestClockFileIsNeverHalf(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	n := c.nodes["n1"]
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan int)
	go func() {
		written := 0
		for by := time.Hour; ctx.Err() == nil; by = -by {
			if err := n.clock.set(by, 1); err != nil {
				t.Error(err)
				break
			}
			written++
		}
		done <- written
	}()
	tell := tell(t, c)
	seen := map[time.Duration]int{}
	for range 3000 {
		r, err := tell.read()
		if err != nil {
			t.Fatal(err)
		}
		seen[r.ahead().Round(time.Second)]++
	}
	stop()
	if written := <-done; len(seen) != 2 || seen[0] == 0 || seen[time.Hour] == 0 {
		t.Errorf("while the file was written %d times the clock was ahead by %v", written, seen)
	}
}

func TestClockOfOtherNodes(t *testing.T) {
	t.Parallel()
	c := up(t, cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	if _, err := c.JumpClock(deadline(t), "n1", time.Second); err == nil || !strings.Contains(err.Error(), "not asked for") {
		t.Errorf("got %v", err)
	}
	if _, err := c.SetClockRate(deadline(t), "n9", 2); err == nil || !strings.Contains(err.Error(), `no node "n9"`) {
		t.Errorf("got %v", err)
	}
}

// A library that the loader cannot load is passed over in silence.
func TestLibraryThatDoesNothing(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.clocks.lib = "/no/libfaketime.so"
	_, err := m.Up(deadline(t), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Clock: true}}})
	if err == nil || !strings.Contains(err.Error(), errNotFaked.Error()) {
		t.Errorf("got %v", err)
	}
}

// A jump that did not happen, or another one, is not proved; nor is a leap at a
// change of the rate overlooked.
func TestReadings(t *testing.T) {
	t.Parallel()
	now := time.Now()
	read := func(at, ahead time.Duration) reading {
		return reading{now.Add(at + ahead), now.Add(at), 100 * time.Microsecond}
	}
	const ms = time.Millisecond
	for _, x := range []struct {
		moved, by time.Duration
		rate      float64
		ok        bool
	}{
		{500 * ms, 500 * ms, 1, true}, {-500 * ms, -500 * ms, 1, true}, {501 * ms, 500 * ms, 1.1, true},
		{0, 500 * ms, 1, false}, {500 * ms, -500 * ms, 1, false}, {498 * ms, 500 * ms, 1, false},
		{500 * time.Microsecond, 500 * time.Microsecond, 1, false}, {0, 0, 1, false},
	} {
		proof, err := jumped(read(0, 7*ms), read(10*ms, 7*ms+x.moved), x.by, x.rate)
		if (err == nil) != x.ok || x.ok != (proof != "") {
			t.Errorf("%+v: %q, %v", x, proof, err)
		}
	}
	for moved, ok := range map[time.Duration]bool{0: true, ms: true, -ms: true, 5 * ms: false, -3 * ms: false} {
		if err := wentOn(read(0, 0), read(10*ms, moved), 1, 1.1); (err == nil) != ok {
			t.Errorf("moved %s when its rate changed: %v", moved, err)
		}
	}
}

func TestNoSharedMemoryIsLeft(t *testing.T) {
	t.Parallel()
	c := clocked(t, "")
	restartNode(t, c)
	if left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime_*_%d", c.nodes["n1"].proc.pid)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSweepRemovesSharedMemory: of a server whose harness died while it started.
func TestSweepRemovesSharedMemory(t *testing.T) {
	t.Parallel()
	const pid = 1 << 30 // beyond all that Linux gives out
	for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
		if err := os.WriteFile(filepath.Join("/dev/shm", fmt.Sprintf(name, pid)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { removeShared(pid) })
	base := t.TempDir()
	deadDir(t, base, "", entry{What: "redis-server n1", PID: pid, Start: 1})
	if _, err := Sweep(base); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime_*_%d", pid)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
