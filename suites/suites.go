// Package suites holds the suites that come with the program, embedded in the binary.
package suites

import "embed"

// Files holds one YAML file a suite.
//
//go:embed *.yaml
var Files embed.FS

// Default is the suite that is run where none is named.
const Default = "default"
