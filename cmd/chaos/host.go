package main

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"lockchaos/host"
)

func hostCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "host",
		Short:  "Be a lock client that speaks the host protocol on standard input and output",
		Args:   cobra.NoArgs,
		Hidden: true, // the harness starts it
		RunE: func(cmd *cobra.Command, _ []string) error {
			slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
			if err := host.Main(cmd.Context()); err != nil {
				return harness(err)
			}
			return nil
		},
	}
}
