package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// said refuses flags that are given and say nothing: a shell variable was not set,
// and what would be done is not what was meant.
func said(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if err == nil && blank(f.Value) {
			err = usage(fmt.Errorf("--%s is empty: %s", f.Name, f.Usage))
		}
	})
	return err
}

func blank(v pflag.Value) bool {
	list, ok := v.(pflag.SliceValue)
	if !ok {
		return strings.TrimSpace(v.String()) == ""
	}
	words := list.GetSlice()
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.TrimSpace(w) == "" })
}
