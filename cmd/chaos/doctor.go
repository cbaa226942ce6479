package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockchaos/cluster/local"
)

func doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, what that makes possible, and how to get what is missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			missing := false
			for _, p := range local.Inventory(cmd.Context()) {
				state := "found    " + p.Found
				if p.Found == "" {
					state = "missing  " + p.Get
					missing = missing || p.Needed
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", p.Name, p.For, state)
			}
			if err := w.Flush(); err != nil {
				return harness(err)
			}
			if missing {
				return harness(errors.New("runs on real servers are not possible on this machine yet"))
			}
			return nil
		},
	}
}
