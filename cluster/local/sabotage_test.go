package local

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// briefly is time enough to see what is there.
func briefly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// unmoved lets a clock's file be written where no server reads it.
func unmoved(t *testing.T) *Cluster {
	c := clocked(t, "")
	c.nodes["n1"].clock.file += "-of-nobody"
	return c
}

// Controls on real servers whose means are taken from them do not say that there
// was an effect. Others are in the tests of their own: TestCutPowerWithoutEffect,
// TestEvictKeysThatAreDeleted, TestHurryNodeIsProved, TestNoFailover, TestReadings.
func TestSabotagedControls(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		sabotage func(*testing.T) (proof string, err error)
		want     string
	}{
		"no SIGSTOP": {func(t *testing.T) (string, error) {
			return oneNode(t).nodes["n1"].proc.stopped(briefly(t))
		}, "not all threads have stopped"},
		"no SIGCONT": {func(t *testing.T) (string, error) {
			c := oneNode(t)
			if _, err := c.PauseNode(deadline(t), "n1"); err != nil {
				t.Fatal(err)
			}
			return c.nodes["n1"].proc.going(briefly(t))
		}, "threads are still stopped"},
		"another process is killed": {func(t *testing.T) (string, error) {
			c := oneNode(t)
			n := c.nodes["n1"]
			other, err := n.spawn.spawn("another", exec.Command("sleep", "60"))
			if err != nil {
				t.Fatal(err)
			}
			server := n.proc
			n.proc = other
			defer func() { n.proc = server }()
			return c.CrashNode(deadline(t), "n1")
		}, "does not refuse a connect"},
		"it was not killed before its start": {func(t *testing.T) (string, error) {
			return oneNode(t).StartNode(deadline(t), "n1")
		}, "runs already"},
		"a clock's file that is not read": {func(t *testing.T) (string, error) {
			return unmoved(t).JumpClock(deadline(t), "n1", time.Second)
		}, "TIME moved by"},
		"a rate that is not read": {func(t *testing.T) (string, error) {
			return unmoved(t).SetClockRate(deadline(t), "n1", 1.1)
		}, "expected a rate of 1.1"},
		"nobody keeps it busy": {func(t *testing.T) (string, error) {
			_, err := slowedAt(t, oneNode(t).nodes["n1"].port.addr(), time.Second)
			return "", err
		}, "PING took"},
		"the failover is not ordered": {func(t *testing.T) (string, error) {
			return up(t, groupSpec()).AwaitFailover(briefly(t), "n1")
		}, "no failover from n1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if proof, err := x.sabotage(t); err == nil || proof != "" || !strings.Contains(err.Error(), x.want) {
				t.Errorf("%q, %v: want no proof, and an error with %q", proof, err, x.want)
			}
		})
	}
}
