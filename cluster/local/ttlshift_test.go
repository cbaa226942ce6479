package local

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"lockchaos/cluster"
)

// shifted is a cluster where libfaketime is not to be used.
func shifted(t *testing.T) *Cluster {
	t.Helper()
	m := open(t)
	m.clocks = clockMeans{}
	c, err := m.Up(deadline(t), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1", Clock: true}}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestShiftedTTLs(t *testing.T) {
	t.Parallel()
	c := shifted(t)
	ctx := deadline(t)
	if proof, err := c.JumpClock(ctx, "n1", time.Second); err == nil || !strings.Contains(err.Error(), errNoTTL.Error()) {
		t.Fatalf("without a key: %q, %v", proof, err)
	}
	const keys = 3000
	for i := range keys {
		if _, err := c.Command(ctx, "n1", "SET", fmt.Sprint("long", i), i, "PX", 600_000); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]any{{"SET", "short", 1, "PX", 60_000}, {"SET", "for ever", 1}} {
		if _, err := c.Command(ctx, "n1", args...); err != nil {
			t.Fatal(err)
		}
	}
	proof := jump(t, c, 100*time.Second)
	if want := fmt.Sprintf("%d key(s), 1 of them", keys+1); !strings.Contains(proof, want) {
		t.Errorf("proof %q, want %q in it", proof, want)
	}
	jump(t, c, -50*time.Second)
	for i := range keys {
		if left := pttl(t, c, fmt.Sprint("long", i)); left > 550*time.Second || left < 530*time.Second {
			t.Fatalf("key %d has %s left, want about 550s", i, left)
		}
	}
	if v := get(t, c, "n1", "short"); v != "" {
		t.Errorf("the short one is still %q", v)
	}
	if left := pttl(t, c, "for ever"); left != -time.Millisecond {
		t.Errorf("the key without a TTL has %s", left)
	}
}

// A prefix is taken by the letter, and what does not begin with it is not touched.
func TestShiftedTTLsOfAPrefix(t *testing.T) {
	t.Parallel()
	const prefix = `a[b]*?^\:{1}:`
	m := open(t)
	m.clocks = clockMeans{}
	ctx := deadline(t)
	c, err := m.Up(ctx, cluster.Spec{KeyPrefix: prefix, Nodes: []cluster.NodeSpec{{Name: "n1", Clock: true}}})
	if err != nil {
		t.Fatal(err)
	}
	others := []string{`ab*?^\:{1}:counter`, `a[b]xx^\:{1}:counter`, `a[b]*?^:{1}:counter`, "counter", "x" + prefix + "counter"}
	for _, key := range append(others, prefix+"counter") {
		if _, err := c.Command(ctx, "n1", "SET", key, 1, "PX", 60_000); err != nil {
			t.Fatal(err)
		}
	}
	if proof := jump(t, c, 20*time.Second); !strings.Contains(proof, ": 1 key(s), 0 of them") {
		t.Errorf("proof %q, want 1 key in it", proof)
	}
	if left := pttl(t, c, prefix+"counter"); left > 40*time.Second || left < 30*time.Second {
		t.Errorf("the key under the prefix has %s left, want about 40s", left)
	}
	for _, key := range others {
		if left := pttl(t, c, key); left < 50*time.Second {
			t.Errorf("%s has %s left, want nearly 60s", key, left)
		}
	}
}

func TestShiftedTTLsHaveNoRate(t *testing.T) {
	t.Parallel()
	c := shifted(t)
	_, err := c.SetClockRate(deadline(t), "n1", 1.1)
	if err == nil || !strings.Contains(err.Error(), "apt-get install libfaketime") {
		t.Errorf("got %v", err)
	}
}

func TestClockMeans(t *testing.T) {
	for value, want := range map[string]string{
		"": "libfaketime /usr/lib/", "libfaketime": "libfaketime /usr/lib/", "ttl-shift": "ttl-shift",
		"sundial": `LOCKCHAOS_CLOCKS is "sundial", expected libfaketime, ttl-shift or nothing`,
	} {
		t.Setenv(clocksVariable, value)
		m, err := openIn(t.TempDir())
		got := fmt.Sprint(err)
		if err == nil {
			got = m.Clocks()
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s=%q: %s, want %s", clocksVariable, value, got, want)
		}
	}
}
