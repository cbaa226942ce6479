package scenario

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// written is a file as it stands there, with its aliases filled in. What was decoded
// cannot tell a zero from a key that is absent, and a default must.
type written struct{ doc any }

func writtenIn(source []byte) written {
	var w written
	if yaml.Unmarshal(source, &w.doc) != nil { // it was decoded before, so this does not come
		w.doc = nil
	}
	return w
}

// value is what stands at a path as "faults[0].for"; nil where nothing does.
func (w written) value(path string) any {
	at := w.doc
	for _, key := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// zero tells that a zero stands at a path: a number, or a time as 0s.
func (w written) zero(path string) bool {
	switch v := w.value(path).(type) {
	case uint64:
		return v == 0
	case int64:
		return v == 0
	case float64:
		return v == 0
	case string:
		d, err := time.ParseDuration(strings.TrimSpace(v))
		return err == nil && d == 0
	}
	return false
}

// fill gives a value its default where nothing is written for it.
func (w written) fill(value *int, path string, def int) {
	if w.value(path) == nil {
		*value = def
	}
}

// missing gives a problem with what is not there at all the words for that.
func (w written) missing(p *problem) *problem {
	if p == nil {
		return nil
	}
	key, _, _ := strings.Cut(p.path, ".")
	expected := map[string]string{"lock": "the lock system and its ttl", "hosts": fmt.Sprintf("1 to %d", MostHosts), "workload": "its kind and its rounds"}[key]
	if expected == "" || w.value(key) != nil {
		return p
	}
	return &problem{key, "missing, expected " + expected}
}

// A zero at these keys says nothing: it would be read as if the key were absent.
var (
	noZeros = []struct{ path, expected string }{
		{"workload.writes", fmt.Sprintf("1 to %d", MostWrites)},
		{"workload.retry", "above 0"},
		{"lock.tries", "1 or more"},
		{"lock.retry_delay", "above 0"},
		{"lock.acquire_timeout", "above 0; without the key there is none"},
		{"lock.wait_timeout", "whole milliseconds above 0"},
		{"lock.read_timeout", "above 0"},
		{"lock.max_retries", "1 or more, or -1 for none"},
		{"hammer.every", "above 0"},
		{"hammer.lasts", "above 0"},
	}
	noZerosOfFault = []struct{ key, expected string }{
		{"latency", "above 0"},
		{"by", "a time forward, or back as -500ms"},
		{"rate", "as 1.1 or 0.9"},
		{"for", "above 0"},
		{"most", "above 0"},
	}
)

// validateZeros refuses zeros that would be taken for a default.
func (s *Scenario) validateZeros(w written) *problem {
	for _, k := range noZeros {
		if w.zero(k.path) {
			return &problem{k.path, fmt.Sprintf("%v, expected %s", w.value(k.path), k.expected)}
		}
	}
	for i := range s.Faults {
		for _, k := range noZerosOfFault {
			path := fmt.Sprintf("faults[%d].%s", i, k.key)
			if w.zero(path) {
				return &problem{path, fmt.Sprintf("%v, expected %s", w.value(path), k.expected)}
			}
		}
	}
	return nil
}
