package main

import (
	"context"
	"errors"
	"slices"

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
	without, err = leaveOut(b, args, "as they need PostgreSQL", func(s *scenario.Scenario) error {
		if needs(s) {
			return err
		}
		return nil
	})
	b.Machine.Postgres = ""
	return without, err
}
