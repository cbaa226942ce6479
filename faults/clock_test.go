package faults

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"lockchaos/internal/golden"
	"lockchaos/locks"
)

func TestClockValues(t *testing.T) {
	var b strings.Builder
	for _, by := range []time.Duration{0, 1, time.Millisecond, 5 * time.Millisecond, -5 * time.Millisecond, -time.Hour,
		24 * time.Hour, -25 * time.Hour, math.MaxInt64, math.MinInt64} {
		fmt.Fprintf(&b, "jump by %s: %v\n", by, clockJump.Check(Spec{By: locks.Duration(by)}))
	}
	for _, rate := range []float64{0, 1, -1, 1.0005, 1.001, 0.999, 0.9, 10, 0.01, 0.001, 100, 101, math.NaN(), math.Inf(1)} {
		fmt.Fprintf(&b, "rate %g: %v\n", rate, clockRate.Check(Spec{Rate: rate}))
	}
	for _, k := range []Kind{clockJump, clockRate} {
		fmt.Fprintf(&b, "%s of both: %v\n", k.Name, k.Check(Spec{By: 1e9, Rate: 2}))
	}
	golden.Check(t, "testdata/clocks.txt", b.String())
}

// What is drawn may be written in a scenario, and goes both ways.
func TestDrawnClocks(t *testing.T) {
	h := Hammer{For: locks.Duration(10 * time.Second), Every: locks.Duration(100 * time.Millisecond),
		Lasts: locks.Duration(200 * time.Millisecond), Weights: map[string]int{"clock-jump": 1, "clock-rate": 1}}
	forward, back, fast, slow := 0, 0, 0, 0
	for seed := range int64(20) {
		for _, s := range h.Draw(seed, []string{"w1"}, []string{"n1", "n2", "n3"}) {
			k, _ := Find(s.Kind)
			if err := k.Check(s); err != nil {
				t.Errorf("seed %d draws %+v: %v", seed, s, err)
			}
			switch {
			case s.By > 0:
				forward++
			case s.By < 0:
				back++
			case s.Rate > 1 && s.Rate <= 1.1:
				fast++
			case s.Rate < 1 && s.Rate >= 0.9:
				slow++
			}
		}
	}
	if min(forward, back, fast, slow) == 0 {
		t.Errorf("drawn: %d jumps forward, %d back, %d fast clocks, %d slow ones", forward, back, fast, slow)
	}
}
