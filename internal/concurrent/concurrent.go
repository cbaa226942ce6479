// Package concurrent does something to all of a list at one time, and waits for as
// long as somebody wants to wait.
package concurrent

import (
	"errors"
	"sync"
)

// Each calls f for all of a list at once, waits, and joins the errors in the
// order of the list.
func Each[T any](list []T, f func(T) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(list))
	for i, v := range list {
		wg.Go(func() { errs[i] = f(v) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
