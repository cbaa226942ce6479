// Package scenarios is the catalogue of experiments, embedded in the binary.
package scenarios

import "embed"

// Files holds one YAML file a scenario, in a folder for its lock system.
//
//go:embed */*.yaml
var Files embed.FS
