package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"lockchaos/cluster/local"
	"lockchaos/cluster/remote"
	"lockchaos/internal/secret"
	"lockchaos/results"
)

// checkLimit is how long an agent may take to say how it is.
const checkLimit = 5 * time.Second

// agentAddr is where an agent listens by default.
const agentAddr = "127.0.0.1:7400"

func nodeCommand() *cobra.Command {
	var listen, check, tokenFile string
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Be the agent of one server for --on remote: start, stop, pause and kill it, set its clock, take its power",
		Long: "An agent listens on one port. Whoever has the token can hold it, and have it run a redis-server,\n" +
			"a Sentinel or PostgreSQL, which listens on the loopback address only: its bytes come through the\n" +
			"agent's port. When who holds it goes, or the agent ends, the server ends.",
		Example: "  chaos node --listen :7400 --token-file /run/secrets/token\n  chaos node --check 127.0.0.1:7400 --token-file /run/secrets/token",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			token, err := secret.Read(tokenFile)
			if err != nil {
				return usage(err)
			}
			if check != "" {
				if err := remote.CheckAddress(check); err != nil {
					return usage(fmt.Errorf("--check %w", err))
				}
				ctx, cancel := context.WithTimeoutCause(ctx, checkLimit, fmt.Errorf("no answer within %s", checkLimit))
				defer cancel()
				h, err := remote.AskHealth(ctx, check, token)
				if err != nil && ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				if err != nil {
					return harness(fmt.Errorf("agent at %s: %w", check, err))
				}
				fmt.Fprintln(cmd.OutOrStdout(), h)
				return nil
			}
			if err := token.MayListen(listen); err != nil {
				return usage(fmt.Errorf("--listen %w", err))
			}
			slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
			machine, err := local.Open(ctx)
			if err != nil {
				return harness(err)
			}
			defer machine.Close()
			said := func(addr string) { fmt.Fprintln(cmd.OutOrStdout(), "listening on", addr) }
			if err := remote.NewAgent(ctx, machine, token, results.Commit).Serve(ctx, listen, said); err != nil {
				return harness(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", agentAddr, "address to listen on; beyond this machine only with a token")
	cmd.Flags().StringVar(&check, "check", "", "ask the agent at that address how it is, and end")
	addTokenFile(cmd.Flags(), &tokenFile)
	return cmd
}
