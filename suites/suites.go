// Package suites holds the suites that come with the program, embedded in the binary.
package suites

import "embed"

// Files holds one YAML file a suite.
//
//go:embed *.yaml
var Files embed.FS

// The suites that are run where none is named: Default on real servers, and all
// there is where it takes seconds.
const (
	Default    = "default"
	Simulation = "full"
)
