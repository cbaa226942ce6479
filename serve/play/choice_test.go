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
	want.Lock, want.Guard, want.Watchdog, want.Cut.On, want.Seed = "sentinel", "fence", true, true, 77
	want.Fail, want.How, want.Unheard = play.Strike{On: true, At: 90, For: 70}, "isolate", true
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
		"ttl=19":                          `ttl is "19", expected a whole number from 20 to 5000`,
		"ttl=1e3":                         `ttl is "1e3"`,
		"hosts=6":                         `hosts is "6", expected a whole number from 2 to 4`,
		"rounds=1000000":                  "rounds is",
		"pause_for=-1":                    "pause_for is",
		"ttl=300&ttl=400":                 `"ttl" stands 2 times`,
		"colour=red":                      `there is no setting "colour"`,
		"lock=external":                   `lock is "external", expected one of single, `,
		"lock=single%7D%0Ahosts:+50":      "lock is",
		"guard=%3Cscript%3E":              "guard is",
		"discipline=":                     `discipline is ""`,
		"hosts=4&rounds=5&work=301":       "4 hosts with 5 rounds of 301 ms work for 6020 ms, expected at most 6000 ms",
		"lock=sentinel&fail=on&how=magic": `how is "magic", expected one of kill, isolate, command`,
		"lock=redlock&fail=on":            "a failover is for the lock system sentinel, redlock has no replicas",
		"lock=sentinel&fail=on&unheard=on&fail_at=79": "fail_at is 79, expected at least 80",
		"lock=" + strings.Repeat("x", 10000):          `lock is "xxxxxxxxxxxxxxxxxxxx", expected`,
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

// A failover comes in each way that there is.
func TestFailovers(t *testing.T) {
	for _, how := range play.Ways() {
		for _, unheard := range []bool{false, true} {
			c := play.StaleHolder()
			c.Lock, c.Fail.On, c.How, c.Unheard, c.Cut.On, c.Jump.On, c.Fail.At = "sentinel", true, how, unheard, true, true, c.Pause.At
			text, err := c.Scenario(nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", how, err, text)
			}
			if cut := strings.Contains(string(text), "cut-replication"); cut != unheard || !strings.Contains(string(text), "how: "+how) {
				t.Errorf("%s, unheard %v:\n%s", how, unheard, text)
			}
		}
	}
}

// Nothing is planned for an instant at which something else is.
func TestInstantsAreApart(t *testing.T) {
	c := play.StaleHolder()
	c.Lock, c.Cut.On, c.Jump.On, c.Fail.On, c.Unheard = "sentinel", true, true, true, true
	c.Pause.At, c.Cut.At, c.Jump.At, c.Fail.At, c.Pause.For, c.Cut.For = 10, 10, 10, 10, 300, 300
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
