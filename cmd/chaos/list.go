package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"lockchaos/faults"
	"lockchaos/locks"
	"lockchaos/scenario"
	"lockchaos/scenarios"
	"lockchaos/suites"
	"lockchaos/workloads"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List locks, workloads, guards, faults and scenarios, a line each",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "LOCK SYSTEMS")
			for _, s := range locks.Systems() {
				fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.About)
			}
			fmt.Fprintf(w, "  %s\t%s\n", locks.External, "any program that speaks the host protocol: docs/host-protocol.md")
			fmt.Fprintln(w, "\nWORKLOADS")
			for _, l := range workloads.All() {
				fmt.Fprintf(w, "  %s\t%s\n", l.Name, l.About)
			}
			fmt.Fprintln(w, "\nGUARDS AT THE RESOURCE")
			for _, g := range workloads.Guards() {
				fmt.Fprintf(w, "  %s\t%s\n", g.Name, g.About)
			}
			fmt.Fprintln(w, "\nFAULTS")
			for _, k := range faults.Kinds() {
				fmt.Fprintf(w, "  %s\t%s\n", k.Name, k.About)
			}
			fmt.Fprintln(w, "\nSUITES")
			names, err := scenario.SuiteNames(suites.Files)
			if err != nil {
				return harness(err)
			}
			for _, name := range names {
				s, err := scenario.FindSuite(name, suites.Files)
				if err != nil {
					return harness(err)
				}
				fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.About)
			}
			fmt.Fprintln(w, "\nSCENARIOS")
			catalogue := scenario.NewCatalogue(scenarios.Files)
			all, err := catalogue.Find("*/*")
			if err != nil {
				return harness(err)
			}
			for _, s := range all {
				fmt.Fprintf(w, "  %s\t%s\n", s.Name, s.About)
			}
			return w.Flush()
		},
	}
}
