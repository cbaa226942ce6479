package runner

import (
	"context"
	"time"

	"lockchaos/history"
	"lockchaos/workloads"
)

// watch starts the watchdog of a grant, where the scenario has one: an extend
// every third of the TTL. The host does the extending, so a stopped host has a
// stopped watchdog. It is driven from here so that the time of each extend is
// on the history's clock.
func (s *session) watch(ctx context.Context, grant int64) {
	if !s.watchdog {
		return
	}
	stop, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.dogs[grant] = cancel
	s.mu.Unlock()
	s.running.Add(1)
	go func() {
		defer s.running.Done()
		s.guard(ctx, stop, &workloads.Grant{Op: grant})
	}()
}

// guard extends until stop. An extend that is under way when stop comes is
// seen to its end.
func (s *session) guard(ctx, stop context.Context, g *workloads.Grant) {
	t := time.NewTicker(s.ttl / 3)
	defer t.Stop()
	for {
		select {
		case <-stop.Done():
			return
		case <-t.C:
			if stop.Err() != nil { // both were ready, and select takes any
				return
			}
			if result, err := s.Extend(ctx, g); err != nil || result == history.Gone {
				return
			}
		}
	}
}

func (s *session) unwatch(grant int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel, ok := s.dogs[grant]; ok {
		cancel()
		delete(s.dogs, grant)
	}
}

// rest calls all watchdogs off and waits until none is left.
func (s *session) rest() {
	s.mu.Lock()
	for grant, cancel := range s.dogs {
		cancel()
		delete(s.dogs, grant)
	}
	s.mu.Unlock()
	s.running.Wait()
}
