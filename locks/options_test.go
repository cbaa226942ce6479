package locks_test

import (
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockchaos/locks"
)

func ptr(f float64) *float64 { return &f }

func TestOptionsCheck(t *testing.T) {
	for _, c := range []struct {
		system  string
		options locks.Options
		want    string // "" for none
	}{
		{"single", locks.Options{}, ""},
		{"single", locks.Options{ContextTimeout: true, ReadTimeout: locks.Duration(time.Second), MaxRetries: -1}, ""},
		{"redlock", locks.Options{Tries: 3, RetryDelay: 1, DriftFactor: ptr(0), TimeoutFactor: ptr(0.5), FailFast: true, SetNXOnExtend: true, MaxRetries: 9}, ""},
		{"single", locks.Options{Tries: 3}, "lock system single has no option tries, it has token, acquire_timeout, context_timeout, read_timeout, max_retries"},
		{"single-bare-del", locks.Options{DriftFactor: ptr(0)}, "lock system single-bare-del has no option drift_factor, it has acquire_timeout, context_timeout, read_timeout, max_retries"},
		{"redlock", locks.Options{Token: "none"}, ""},
		{"redlock", locks.Options{Token: "quorum"}, ""},
		{"redlock", locks.Options{Token: "best"}, `token is "best", expected one of none, naive, quorum, external`},
		{"single", locks.Options{AcquireTimeout: 1}, ""},
		{"single", locks.Options{AcquireTimeout: -1}, "acquire_timeout is -1ns, expected 0 or more"},
		{"redlock", locks.Options{Tries: -1}, "tries is -1, expected 1 or more"},
		{"redlock", locks.Options{RetryDelay: -1}, "retry_delay is -1ns, expected 0 or more"},
		{"redlock", locks.Options{DriftFactor: ptr(-0.1)}, "drift_factor is -0.1, expected 0 to below 1"},
		{"redlock", locks.Options{DriftFactor: ptr(1)}, "drift_factor is 1, expected 0 to below 1"},
		{"redlock", locks.Options{DriftFactor: ptr(math.NaN())}, "drift_factor is NaN, expected 0 to below 1"},
		{"redlock", locks.Options{TimeoutFactor: ptr(0)}, "timeout_factor is 0, expected above 0, at most 100"},
		{"redlock", locks.Options{TimeoutFactor: ptr(math.Inf(1))}, "timeout_factor is +Inf, expected above 0, at most 100"},
		{"redlock", locks.Options{TimeoutFactor: ptr(math.NaN())}, "timeout_factor is NaN, expected above 0, at most 100"},
		{"single", locks.Options{ReadTimeout: -1}, "read_timeout is -1ns, expected 0 or more"},
		{"single", locks.Options{MaxRetries: -2}, "max_retries is -2, expected 0 or more, or -1 for none"},
	} {
		s, err := locks.Find(c.system)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.options.Check(s); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s with %+v: got %q, want %q", c.system, c.options, got, c.want)
		}
	}
}

// Effective names every option that a system has, whether it is set or not.
func TestOptionsEffective(t *testing.T) {
	client := map[string]any{"acquire_timeout": "none", "context_timeout": false, "read_timeout": "5s", "max_retries": 3}
	redsync := map[string]any{
		"tries": 1, "retry_delay": "50ms-250ms", "drift_factor": 0.01, "timeout_factor": 0.05, "fail_fast": false, "set_nx_on_extend": false,
		"token": "none", "acquire_timeout": "none", "context_timeout": false, "read_timeout": "5s", "max_retries": 3,
	}
	single := maps.Clone(client)
	single["token"] = "script"
	for _, c := range []struct {
		system  string
		options locks.Options
		want    map[string]any
	}{
		{"single", locks.Options{}, single},
		{"single-bare-del", locks.Options{}, client},
		{"redlock", locks.Options{}, redsync},
		{"redlock", unwaiting, unwaiting.Map()},
		{"single", locks.Options{MaxRetries: -1}, map[string]any{"token": "script", "acquire_timeout": "none", "context_timeout": false, "read_timeout": "5s", "max_retries": -1.0}},
	} {
		s, err := locks.Find(c.system)
		if err != nil {
			t.Fatal(err)
		}
		got := c.options.Effective(s)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s with %v: %v, want %v", c.system, c.options.Set(), got, c.want)
		}
		if len(got) != len(s.Options)+len(client) {
			t.Errorf("%s: %d options of %d", c.system, len(got), len(s.Options)+len(client))
		}
	}
}

// full has every option set.
var full = locks.Options{
	Tries: 2, RetryDelay: locks.Duration(1500 * time.Microsecond), DriftFactor: ptr(0), TimeoutFactor: ptr(0.25), FailFast: true,
	SetNXOnExtend: true, Token: locks.TokenQuorum, Wait: 2, WaitTimeout: locks.Duration(time.Second), WaitChecked: true,
	AcquireTimeout: locks.Duration(time.Second), ContextTimeout: true, ReadTimeout: locks.Duration(time.Second), MaxRetries: -1,
}

// unwaiting has every option of redsync set.
var unwaiting = func() locks.Options {
	o := full
	o.Wait, o.WaitTimeout, o.WaitChecked = 0, 0, false
	return o
}()

func TestOptionsSetAndMap(t *testing.T) {
	if v := reflect.ValueOf(full); len(full.Set()) != v.NumField() {
		t.Errorf("%v are set, the type has %d", full.Set(), v.NumField())
	}
	if got := strings.Join(full.Set(), " "); got != "tries retry_delay drift_factor timeout_factor fail_fast set_nx_on_extend token wait wait_timeout wait_checked acquire_timeout context_timeout read_timeout max_retries" {
		t.Errorf("set: %s", got)
	}
	if got := (locks.Options{}).Set(); len(got) != 0 {
		t.Errorf("of nothing %v is set", got)
	}
	for _, o := range []locks.Options{{}, full, {Tries: 7}, {DriftFactor: ptr(0)}} {
		m := o.Map()
		if len(m) != len(o.Set()) {
			t.Errorf("the map is %v, set are %v", m, o.Set())
		}
		again, err := locks.FromMap(m)
		if err != nil || !reflect.DeepEqual(again, o) {
			t.Errorf("%+v is mapped to %v, and read as %+v, %v", o, m, again, err)
		}
	}
	if d := full.Map()["retry_delay"]; d != "1.5ms" {
		t.Errorf("retry_delay goes as %v, want 1.5ms", d)
	}
}

func TestFromMapErrors(t *testing.T) {
	for _, c := range []struct {
		m    map[string]any
		want string
	}{
		{map[string]any{"trys": 3}, `unknown field "trys"`},
		{map[string]any{"tries": "three"}, "cannot unmarshal string"},
		{map[string]any{"tries": 1.5}, "cannot unmarshal number 1.5"},
		{map[string]any{"retry_delay": 5}, "cannot unmarshal number"},
		{map[string]any{"retry_delay": "5"}, `"5" is not a duration`},
		{map[string]any{"x": math.NaN()}, "unsupported value: NaN"},
	} {
		if _, err := locks.FromMap(c.m); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %s", c.m, err, c.want)
		}
	}
	if o, err := locks.FromMap(nil); err != nil || !reflect.DeepEqual(o, locks.Options{}) {
		t.Errorf("nil: %+v, %v", o, err)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"300ms": 300 * time.Millisecond, "0": 0, "-1h": -time.Hour, "1.5s": 1500 * time.Millisecond} {
		var d locks.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.D() != want {
			t.Errorf("%s: %s, %v, want %s", text, d, err, want)
		}
		b, _ := d.MarshalText()
		var again locks.Duration
		if err := again.UnmarshalText(b); err != nil || again != d || string(b) != d.String() {
			t.Errorf("%s is written as %s and read as %s, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"", "300", "soon", "1e300h", "2562048h", "NaNs", "ms"} {
		d := locks.Duration(7)
		if err := d.UnmarshalText([]byte(text)); err == nil || d != 7 {
			t.Errorf("%q is read as %s", text, d)
		}
	}
}
