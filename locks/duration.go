package locks

import (
	"fmt"
	"time"

	"github.com/goccy/go-yaml/ast"

	"lockchaos/scenario/located"
)

// Duration is a time.Duration that is written as "300ms" in YAML and JSON.
type Duration time.Duration

// D is the standard type of d.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes "300ms".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "300ms"; a number without a unit is an error.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration, expected for example 300ms or 2s", b)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML reads as UnmarshalText does, and names the place of an error.
func (d *Duration) UnmarshalYAML(n ast.Node) error { return located.Text(n, d) }
