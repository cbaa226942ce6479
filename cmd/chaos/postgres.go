package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockchaos/cluster/local"
	"lockchaos/runner"
	"lockchaos/scenario"
)

// twin tells what else there is for a scenario that needs PostgreSQL.
func twin(s *scenario.Scenario) string {
	if s.Resource != scenario.ResourcePostgres {
		return ""
	}
	return ": its resource is a real PostgreSQL server (with resource: redis it can)"
}

// withPostgres gets PostgreSQL ready where a scenario needs it. Where there is
// none, or it cannot run, what was named is an error, and the rest is left out of the batch;
// without says so, and how to get it.
func withPostgres(ctx context.Context, m *local.Machine, b *runner.Batch, args []string) (without string, err error) {
	needs := func(s *scenario.Scenario) bool {
		return s.Resource == scenario.ResourcePostgres && len(b.GuardsOf(s)) > 0
	}
	if !slices.ContainsFunc(b.Scenarios, needs) {
		return "", nil
	}
	b.Machine.Postgres, err = m.PostgresVersion(ctx)
	if err == nil {
		err = m.PreparePostgres(ctx)
	}
	if !errors.Is(err, local.ErrNoPostgres) && !errors.Is(err, local.ErrPostgresShut) {
		return "", err
	}
	var left, names []string
	var rest []*scenario.Scenario
	for _, s := range b.Scenarios {
		switch {
		case !needs(s):
			rest = append(rest, s)
			if len(b.GuardsOf(s)) > 0 {
				names = append(names, s.Name)
			}
		case slices.Contains(args, s.Name) || slices.Contains(args, s.File):
			return "", fmt.Errorf("%s: %w", s.Name, err)
		default:
			left = append(left, s.Name)
		}
	}
	if len(names) == 0 { // nothing else was asked for
		return "", fmt.Errorf("%s: %w", strings.Join(left, ", "), err)
	}
	b.Scenarios, b.Machine.Postgres = rest, ""
	return fmt.Sprintf("\nLeft out, as they need PostgreSQL: %s\n  %v\n", strings.Join(left, ", "), err), nil
}
