package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Rate is how often something was seen, with a 95 % interval of how often it
// happens: Clopper-Pearson's, which promises no less than its 95 %. Where it was
// seen never, or always, the interval is open to that side and one-sided.
type Rate struct {
	N    int     `json:"n"`
	Of   int     `json:"of"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// confidence is that of the intervals.
const confidence = 0.95

// NewRate is n of so many trials.
func NewRate(n, of int) Rate {
	r := Rate{N: n, Of: of, High: 1}
	const tail = (1 - confidence) / 2
	switch {
	case of == 0:
	case n == 0:
		r.High = 1 - math.Pow(1-confidence, 1/float64(of))
	case n == of:
		r.Low = math.Pow(1-confidence, 1/float64(of))
	default:
		k, m := float64(n), float64(of)
		r.Low = distuv.Beta{Alpha: k, Beta: m - k + 1}.Quantile(tail)
		r.High = distuv.Beta{Alpha: k + 1, Beta: m - k}.Quantile(1 - tail)
	}
	return r
}

func (r Rate) String() string {
	of := fmt.Sprintf("%d of %d", r.N, r.Of)
	switch {
	case r.Of == 0:
		return "no trial"
	case r.N == 0:
		return fmt.Sprintf("%s: at most %s at 95 %%", of, percent(r.High))
	case r.N == r.Of:
		return fmt.Sprintf("%s: at least %s at 95 %%", of, percent(r.Low))
	}
	return fmt.Sprintf("%s: %s, 95 %% interval %s to %s", of, percent(float64(r.N)/float64(r.Of)), percent(r.Low), percent(r.High))
}

// percent gives a share to two digits that count.
func percent(f float64) string {
	f *= 100
	switch {
	case f >= 10:
		return strconv.FormatFloat(f, 'f', 0, 64) + " %"
	case f >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0") + " %"
	}
	return strconv.FormatFloat(f, 'g', 2, 64) + " %"
}

// Fisher is the two-sided p-value of Fisher's exact test: how likely two rates
// that are as different as these, or more so, are if nothing has changed.
func Fisher(a, b Rate) float64 {
	if a.Of == 0 || b.Of == 0 {
		return 1
	}
	seen := a.N + b.N
	choose := combin.LogGeneralizedBinomial
	chance := func(n int) float64 {
		return math.Exp(choose(float64(a.Of), float64(n)) + choose(float64(b.Of), float64(seen-n)) - choose(float64(a.Of+b.Of), float64(seen)))
	}
	const slack = 1 + 1e-7 // equal chances must count as equal
	limit, p := chance(a.N)*slack, 0.0
	for n := max(0, seen-b.Of); n <= min(seen, a.Of); n++ {
		if c := chance(n); c <= limit {
			p += c
		}
	}
	return min(p, 1)
}
