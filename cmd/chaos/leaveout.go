package main

import (
	"fmt"
	"slices"
	"strings"

	"lockchaos/runner"
	"lockchaos/scenario"
)

// leaveOut takes out of a batch the scenarios that cannot run, by the word of
// cannot, and says which and why. What was named is an error, and so is it when
// nothing is left.
func leaveOut(b *runner.Batch, args []string, why string, cannot func(*scenario.Scenario) error) (without string, err error) {
	var left []string
	var rest []*scenario.Scenario
	var first error
	runs := 0
	for _, s := range b.Scenarios {
		if len(b.GuardsOf(s)) == 0 { // it is not run anyway
			rest = append(rest, s)
			continue
		}
		switch err := cannot(s); {
		case err == nil:
			rest, runs = append(rest, s), runs+1
		case slices.Contains(args, s.Name) || slices.Contains(args, s.File):
			return "", fmt.Errorf("%s: %w", s.Name, err)
		default:
			left = append(left, s.Name)
			if first == nil {
				first = err
			}
		}
	}
	switch {
	case len(left) == 0:
		return "", nil
	case runs == 0:
		return "", fmt.Errorf("%s: %w", strings.Join(left, ", "), first)
	}
	b.Scenarios = rest
	return fmt.Sprintf("\nLeft out, %s: %s\n  %v\n", why, strings.Join(left, ", "), first), nil
}
