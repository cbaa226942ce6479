package remote

import (
	"context"
	"net/http"
	"sync"
	"time"

	"lockchaos/cluster"
)

// link is the way from a node to another, in the agent of the first.
type link struct {
	agent *client
	peer  string

	mu   sync.Mutex
	last cluster.Counts
}

func (l *link) do(ctx context.Context, do string, q control) (answer, error) {
	return l.agent.call(ctx, http.MethodPost, pathLink+l.peer+"/"+do, q)
}

func (l *link) Apply(ctx context.Context, id string, r cluster.Rule) error {
	_, err := l.do(ctx, doApply, control{ID: id, Rule: &r})
	return err
}

func (l *link) Lift(ctx context.Context, id string) error {
	_, err := l.do(ctx, doLift, control{ID: id})
	return err
}

func (l *link) Delay(ctx context.Context, id string, latency, jitter time.Duration) error {
	_, err := l.do(ctx, doDelay, control{ID: id, By: latency, Jitter: jitter})
	return err
}

func (l *link) Undelay(ctx context.Context, id string) error {
	_, err := l.do(ctx, doUndelay, control{ID: id})
	return err
}

func (l *link) Reset(ctx context.Context) (int, error) {
	a, err := l.do(ctx, doReset, control{})
	return a.Count, err
}

func (l *link) Probe(ctx context.Context) (time.Duration, error) {
	a, err := l.do(ctx, doProbe, control{})
	return a.Took, err
}

// countsLimit bounds the question for counts, which takes no context.
const countsLimit = time.Second

// Counts are the last known ones where the agent does not answer.
func (l *link) Counts() cluster.Counts {
	ctx, cancel := context.WithTimeout(context.Background(), countsLimit)
	defer cancel()
	a, err := l.do(ctx, doCounts, control{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && a.Counts != nil {
		l.last = *a.Counts
	}
	return l.last
}
