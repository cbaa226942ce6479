package locks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Options are the settings of lock systems and of the Redis client under them.
// A zero value means the library's own default, unless a comment says otherwise.
type Options struct {
	// Tries is how often one acquire of redsync tries. Here the default is 1,
	// not redsync's 32: the harness tries again by itself, so that the interval
	// of each try is known and the oracles stay sharp.
	Tries int `json:"tries,omitempty" yaml:"tries,omitempty"`
	// RetryDelay is between the tries of one acquire; redsync draws 50 to 250 ms.
	RetryDelay Duration `json:"retry_delay,omitempty" yaml:"retry_delay,omitempty"`
	// DriftFactor is the part of the TTL that redsync takes off for clock drift (0.01).
	DriftFactor *float64 `json:"drift_factor,omitempty" yaml:"drift_factor,omitempty"`
	// TimeoutFactor is the part of the TTL that one try may take (0.05).
	TimeoutFactor *float64 `json:"timeout_factor,omitempty" yaml:"timeout_factor,omitempty"`
	// FailFast returns as soon as a quorum has answered.
	FailFast bool `json:"fail_fast,omitempty" yaml:"fail_fast,omitempty"`
	// SetNXOnExtend lets an extend take the lock again where the key is gone.
	SetNXOnExtend bool `json:"set_nx_on_extend,omitempty" yaml:"set_nx_on_extend,omitempty"`
	// Token is how a grant gets a fencing token. Of redlock: none (the default), naive,
	// quorum or external. Of single: script (the default) or external, which is a
	// service of its own, on a node called tokens.
	Token string `json:"token,omitempty" yaml:"token,omitempty"`
	// Wait is for how many replicas an acquire waits with WAIT, for WaitTimeout at
	// most (100ms). WaitChecked gives the lock back, and grants nothing, where fewer
	// have answered; without it the answer is ignored.
	Wait        int      `json:"wait,omitempty" yaml:"wait,omitempty"`
	WaitTimeout Duration `json:"wait_timeout,omitempty" yaml:"wait_timeout,omitempty"`
	WaitChecked bool     `json:"wait_checked,omitempty" yaml:"wait_checked,omitempty"`

	// AcquireTimeout is after which time the caller of an acquire gives it up: the
	// deadline of its context. There is none by default.
	AcquireTimeout Duration `json:"acquire_timeout,omitempty" yaml:"acquire_timeout,omitempty"`
	// ContextTimeout makes go-redis heed the deadline of a context. It does not by default.
	ContextTimeout bool `json:"context_timeout,omitempty" yaml:"context_timeout,omitempty"`
	// ReadTimeout of go-redis (its default is 5 s).
	ReadTimeout Duration `json:"read_timeout,omitempty" yaml:"read_timeout,omitempty"`
	// MaxRetries of go-redis after a network error (3; -1 for none).
	MaxRetries int `json:"max_retries,omitempty" yaml:"max_retries,omitempty"`
}

// mostTimeout bounds timeout_factor.
const mostTimeout = 100

var clientOptions = []string{"acquire_timeout", "context_timeout", "read_timeout", "max_retries"}

// Set lists the names of the options that are set, in the order of the type.
func (o Options) Set() []string {
	var names []string
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		if !v.Field(i).IsZero() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}

// Check reports the first option that the system does not understand or that
// has no sense.
func (o Options) Check(s System) error {
	for _, name := range o.Set() {
		if !s.allows(name) {
			return fmt.Errorf("lock system %s has no option %s, it has %s", s.Name, name,
				strings.Join(append(append([]string{}, s.Options...), clientOptions...), ", "))
		}
	}
	switch {
	case o.Tries < 0:
		return fmt.Errorf("tries is %d, expected 1 or more", o.Tries)
	case o.RetryDelay < 0:
		return fmt.Errorf("retry_delay is %s, expected 0 or more", o.RetryDelay)
	// "Not within" refuses NaN, too.
	case o.DriftFactor != nil && !(*o.DriftFactor >= 0 && *o.DriftFactor < 1):
		return fmt.Errorf("drift_factor is %g, expected 0 to below 1", *o.DriftFactor)
	case o.TimeoutFactor != nil && !(*o.TimeoutFactor > 0 && *o.TimeoutFactor <= mostTimeout):
		return fmt.Errorf("timeout_factor is %g, expected above 0, at most %d", *o.TimeoutFactor, mostTimeout)
	case o.Token != "" && !slices.Contains(s.Tokens, o.Token):
		return fmt.Errorf("token is %q, expected one of %s", o.Token, strings.Join(s.Tokens, ", "))
	case o.AcquireTimeout < 0:
		return fmt.Errorf("acquire_timeout is %s, expected 0 or more", o.AcquireTimeout)
	case o.Wait < 0 || o.Wait > s.Replicas:
		return fmt.Errorf("wait is %d, expected 0 to %d, the number of replicas", o.Wait, s.Replicas)
	case o.WaitTimeout < 0 || o.WaitTimeout%Duration(time.Millisecond) != 0:
		return fmt.Errorf("wait_timeout is %s, expected whole milliseconds", o.WaitTimeout)
	case o.Wait == 0 && (o.WaitTimeout != 0 || o.WaitChecked):
		return fmt.Errorf("wait_timeout and wait_checked say how to wait: set wait, too")
	case o.ReadTimeout < 0:
		return fmt.Errorf("read_timeout is %s, expected 0 or more", o.ReadTimeout)
	case o.MaxRetries < -1:
		return fmt.Errorf("max_retries is %d, expected 0 or more, or -1 for none", o.MaxRetries)
	}
	return nil
}

// Map is the form in which options go to a host.
func (o Options) Map() map[string]any {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // no field of Options can fail
	}
	m := map[string]any{}
	if err := json.Unmarshal(b, &m); err != nil {
		panic(err)
	}
	return m
}

// defaults are what the libraries do where an option is not set, by the comments
// of Options.
var defaults = map[string]any{
	"tries": 1, "retry_delay": "50ms-250ms", "drift_factor": 0.01, "timeout_factor": 0.05,
	"fail_fast": false, "set_nx_on_extend": false, "acquire_timeout": "none",
	"wait": 0, "wait_timeout": "100ms", "wait_checked": false,
	"context_timeout": false, "read_timeout": "5s", "max_retries": 3,
}

// Effective is every option that the system understands, with the value that
// is in effect.
func (o Options) Effective(s System) map[string]any {
	all := o.Map()
	for name, value := range defaults {
		if _, set := all[name]; !set && s.allows(name) {
			all[name] = value
		}
	}
	if o.Token == "" && s.allows("token") {
		all["token"] = s.Tokens[0]
	}
	return all
}

// FromMap is the other way of Map. Unknown names are errors.
func FromMap(m map[string]any) (Options, error) {
	var o Options
	b, err := json.Marshal(m)
	if err != nil {
		return o, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("options: %w", err)
	}
	return o, nil
}
