package workloads

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"lockchaos/history"
)

// PostgresResource keeps the counter in a row of a PostgreSQL table. It gives
// the same answers, and keeps the same ledger, as a RedisResource.
type PostgresResource struct {
	guard  string
	hosts  map[string]*pgClient
	direct *pgClient
}

var _ Resource = (*PostgresResource)(nil)

// NewPostgresResource makes the counter, reached by each host at an address of
// its own, and past all links at direct. It is to be closed.
func NewPostgresResource(ctx context.Context, guard string, hosts map[string]string, direct string) (*PostgresResource, error) {
	if err := known(guard); err != nil {
		return nil, err
	}
	r := &PostgresResource{guard: guard, hosts: map[string]*pgClient{}, direct: newPgClient(direct)}
	for name, addr := range hosts {
		r.hosts[name] = newPgClient(addr)
	}
	err := r.direct.with(ctx, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, postgresSchema).ReadAll()
		return err
	})
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("resource: make the tables: %w", err)
	}
	return r, nil
}

// Close ends all connections.
func (r *PostgresResource) Close() {
	r.direct.close()
	for _, c := range r.hosts {
		c.close()
	}
}

// Read reads the counter; a fence-read guard may refuse it.
func (r *PostgresResource) Read(ctx context.Context, a Attempt) Answer {
	return r.step(ctx, history.Read, a)
}

// Write stores a.Value, or adds one where the guard is atomic.
func (r *PostgresResource) Write(ctx context.Context, a Attempt) Answer {
	return r.step(ctx, history.Write, a)
}

func (r *PostgresResource) step(ctx context.Context, do history.Do, a Attempt) Answer {
	client, ok := r.hosts[a.Host]
	if !ok {
		return Answer{Result: history.Failed, Text: fmt.Sprintf("host %q has no way to the resource", a.Host)}
	}
	var passed bool
	var value, version int64
	err := client.with(ctx, func(conn *pgx.Conn) error {
		// One statement is one transaction.
		return conn.QueryRow(ctx, `SELECT passed, after, stored FROM attempt($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
			r.guard, string(do), a.Op, a.Host, a.Grant, []byte(a.Owner), a.Token, a.Value, a.Version).
			Scan(&passed, &value, &version)
	})
	switch {
	case err != nil:
		return brokenPostgres(err)
	case !passed:
		return Answer{Result: history.Refused, Value: value, Text: "refused by the guard " + r.guard}
	}
	return Answer{Result: history.OK, Value: value, Version: version}
}

// brokenPostgres classifies an error. Certainly not done is what was not sent,
// and what the server has answered with an ERROR, as that rolls back. With FATAL
// it says that the connection ends, at whatever point: maybe after the commit.
func brokenPostgres(err error) Answer {
	a := Answer{Result: history.Unknown, Text: err.Error()}
	var answer *pgconn.PgError
	switch {
	case errors.Is(err, errNotSent) || pgconn.SafeToRetry(err):
		a.Result = history.Failed
	case errors.As(err, &answer) && answer.SeverityUnlocalized == "ERROR":
		a.Result = history.Failed
	}
	return a
}

// Ledger returns all entries in the order in which they took effect: each got
// its number while its transaction held the row of the counter.
func (r *PostgresResource) Ledger(ctx context.Context) ([]Entry, error) {
	var all []Entry
	err := r.direct.with(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `SELECT op, do_what, host, grant_op, token, passed, before, value FROM ledger ORDER BY number`)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Entry])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return all, nil
}

// Final returns the counter.
func (r *PostgresResource) Final(ctx context.Context) (int64, error) {
	var n int64
	err := r.direct.with(ctx, func(conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT value FROM counter`).Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("read the counter: %w", err)
	}
	return n, nil
}
