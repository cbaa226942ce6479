package play_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"lockchaos/scenario"
	"lockchaos/serve/play"
)

func TestQueryRoundTrip(t *testing.T) {
	want := play.StaleHolder()
	want.Lock, want.Guard, want.Watchdog, want.Cut.On, want.Seed = "redlock", "fence", true, true, 77
	q, err := url.ParseQuery(want.Query())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := play.FromQuery(q); err != nil || got != want {
		t.Errorf("%v: %+v, expected %+v", err, got, want)
	}
	if got, err := play.FromQuery(nil); err != nil || got != play.StaleHolder() {
		t.Errorf("%v: %+v, expected the first example", err, got)
	}
}

func TestBadQueries(t *testing.T) {
	for query, says := range map[string]string{
		"ttl=19":                             `ttl is "19", expected a whole number from 20 to 2000`,
		"ttl=1e3":                            `ttl is "1e3"`,
		"hosts=6":                            `hosts is "6", expected a whole number from 2 to 4`,
		"rounds=1000000":                     "rounds is",
		"pause_for=-1":                       "pause_for is",
		"ttl=300&ttl=400":                    `"ttl" stands 2 times`,
		"colour=red":                         `there is no setting "colour"`,
		"lock=external":                      `lock is "external", expected one of single, `,
		"lock=single%7D%0Ahosts:+50":         "lock is",
		"guard=%3Cscript%3E":                 "guard is",
		"discipline=":                        `discipline is ""`,
		"lock=" + strings.Repeat("x", 10000): `lock is "xxxxxxxxxxxxxxxxxxxx", expected`,
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := play.FromQuery(q); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40s: %v, expected %q", query, err, says)
		}
	}
}

// Every choice is a scenario that can be read, or an error that says why not.
func TestScenarios(t *testing.T) {
	for _, system := range play.Systems() {
		for _, guard := range play.Guards() {
			for faults := range 8 {
				c := play.StaleHolder()
				c.Lock, c.Guard, c.Struck = system, guard, 5
				c.Pause.On, c.Cut.On, c.Jump.On = faults&1 > 0, faults&2 > 0, faults&4 > 0
				text, err := c.Scenario(nil)
				mints := system != "redsync-single" || !strings.HasPrefix(guard, "fence")
				if (err == nil) != mints && !(err != nil && strings.Contains(err.Error(), "mints none")) {
					t.Errorf("%s, %s, %d: %v\n%s", system, guard, faults, err, text)
				}
			}
		}
	}
}

// Nothing is planned for an instant at which something else is.
func TestInstantsAreApart(t *testing.T) {
	c := play.StaleHolder()
	c.Cut.On, c.Jump.On = true, true
	c.Pause.At, c.Cut.At, c.Jump.At, c.Pause.For, c.Cut.For = 10, 10, 10, 300, 300
	text, err := c.Scenario(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scenario.Parse(text, play.File)
	if err != nil {
		t.Fatal(err)
	}
	taken := map[time.Duration]int{}
	for _, f := range s.Faults {
		taken[f.From.At]++
		if f.For > 0 {
			taken[f.From.At+f.For.D()]++
		}
	}
	for _, o := range s.Order {
		taken[o.After.At]++
	}
	for at, n := range taken {
		if n > 1 {
			t.Errorf("%d things at %s:\n%s", n, at, text)
		}
	}
}
