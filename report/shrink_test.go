package report

import (
	"bytes"
	"strings"
	"testing"

	"lockchaos/faults"
	"lockchaos/scenario"
)

func TestShrinking(t *testing.T) {
	with := func(n, hosts int) *scenario.Scenario {
		return &scenario.Scenario{Hosts: hosts, Faults: make([]faults.Spec, n)}
	}
	tell := func(live bool) string {
		var out bytes.Buffer
		s := NewShrinking(&out, live, "lost-update", with(22, 5))
		s.Tried(10, with(22, 5)) // nothing new
		s.Tried(12, with(11, 5))
		s.Tried(13, with(11, 5))
		s.Tried(113, with(11, 5)) // a sign of life
		s.Tried(114, with(11, 4))
		s.Clear()
		return out.String()
	}
	const want = "22 faults and 5 hosts that give lost-update: looking for fewer\n" +
		"11 of 22 faults and 5 hosts left after 12 runs\n" +
		"11 of 22 faults and 5 hosts left after 113 runs\n" +
		"11 of 22 faults and 4 hosts left after 114 runs\n"
	if got := tell(false); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	live := tell(true)
	if !strings.Contains(live, "\r\x1b[K22 of 22 faults and 5 hosts left after 10 runs") || !strings.HasSuffix(live, "\r\x1b[K") || strings.Count(live, "\n") != 1 {
		t.Errorf("on a terminal: %q", live)
	}
}
