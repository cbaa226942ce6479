package report

import (
	"math"
	"testing"
)

// The intervals are those of R's binom.test, the one-sided ones of the exact formula.
func TestRate(t *testing.T) {
	for _, c := range []struct {
		n, of int
		want  string
	}{
		{0, 200, "0 of 200: at most 1.5 % at 95 %"},
		{0, 1, "0 of 1: at most 95 % at 95 %"},
		{20, 20, "20 of 20: at least 86 % at 95 %"},
		{3, 5, "3 of 5: 60 %, 95 % interval 15 % to 95 %"},
		{1, 1000, "1 of 1000: 0.1 %, 95 % interval 0.0025 % to 0.56 %"},
		{0, 0, "no trial"},
	} {
		if got := NewRate(c.n, c.of).String(); got != c.want {
			t.Errorf("%d of %d: %q, expected %q", c.n, c.of, got, c.want)
		}
	}
}

// An end of an interval is the share at which what was seen, or more of it in
// that direction, has just the chance that is left to it.
func TestRateEnds(t *testing.T) {
	const of = 30
	atMost := func(n int, p float64) float64 {
		sum, chance := 0.0, math.Pow(1-p, of)
		for k := 0; k <= n; k++ {
			sum += chance
			chance *= float64(of-k) / float64(k+1) * p / (1 - p)
		}
		return sum
	}
	for n := 0; n <= of; n++ {
		r, tail := NewRate(n, of), 0.025
		if n == 0 || n == of {
			tail = 0.05
		}
		if got := atMost(n, r.High); n < of && math.Abs(got-tail) > 1e-6 {
			t.Errorf("%d of %d: a chance of %g at the upper end", n, of, got)
		}
		if got := 1 - atMost(n-1, r.Low); n > 0 && math.Abs(got-tail) > 1e-6 {
			t.Errorf("%d of %d: a chance of %g at the lower end", n, of, got)
		}
	}
}

// Expected values: Fisher's tea, and two tables worked out by counting.
func TestFisher(t *testing.T) {
	for _, c := range []struct {
		a, n, b, m int
		want       float64
	}{
		{3, 4, 1, 4, 34.0 / 70},
		{0, 5, 5, 5, 2.0 / 252},
		{1, 1, 0, 1, 1},
		{0, 9, 0, 9, 1},
		{2, 0, 2, 0, 1},
	} {
		a, b := Rate{N: c.a, Of: c.n}, Rate{N: c.b, Of: c.m}
		if got := Fisher(a, b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v against %v: %g, expected %g", a, b, got, c.want)
		}
		if got := Fisher(b, a); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v against %v: %g, expected %g", b, a, got, c.want)
		}
	}
}
