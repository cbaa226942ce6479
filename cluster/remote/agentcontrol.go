package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
)

// nodeControls are the controls of cluster/local by their names on the wire.
var nodeControls = map[string]func(ctx context.Context, c *local.Cluster, node string, q control) (string, error){
	doPause: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.PauseNode(ctx, n)
	},
	doResume: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.ResumeNode(ctx, n)
	},
	doCrash: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.CrashNode(ctx, n)
	},
	doStart: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.StartNode(ctx, n)
	},
	doJump: func(ctx context.Context, c *local.Cluster, n string, q control) (string, error) {
		return c.JumpClock(ctx, n, q.By)
	},
	doRate: func(ctx context.Context, c *local.Cluster, n string, q control) (string, error) {
		return c.SetClockRate(ctx, n, q.Rate)
	},
	doSync: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.SyncNode(ctx, n)
	},
	doCut: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.CutPower(ctx, n)
	},
	doEvict: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.EvictKeys(ctx, n)
	},
	doFree: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.FreeMemory(ctx, n)
	},
	doSlow: func(ctx context.Context, c *local.Cluster, n string, q control) (string, error) {
		return c.SlowNode(ctx, n, q.By)
	},
	doHurry: func(ctx context.Context, c *local.Cluster, n string, _ control) (string, error) {
		return c.HurryNode(ctx, n)
	},
}

// controlNode does something to the node.
func (a *Agent) controlNode(ctx context.Context, s *session, r *http.Request) (answer, error) {
	var q control
	if err := body(r, &q); err != nil {
		return answer{}, err
	}
	do, ok := nodeControls[r.PathValue("do")]
	if !ok {
		return answer{}, fmt.Errorf("there is no control %q", r.PathValue("do"))
	}
	c := a.running(s)
	if c == nil {
		return answer{}, errNoNode
	}
	proof, err := do(ctx, c, s.job.Self, q)
	return answer{Proof: proof}, err
}

// controlLink does something to the link to a peer, which is here.
func (a *Agent) controlLink(ctx context.Context, s *session, r *http.Request) (answer, error) {
	var q control
	if err := body(r, &q); err != nil {
		return answer{}, err
	}
	c := a.running(s)
	if c == nil {
		return answer{}, errNoNode
	}
	l := c.Link(s.job.Self, r.PathValue("peer"))
	switch do := r.PathValue("do"); do {
	case doApply:
		if q.Rule == nil {
			return answer{}, errors.New("a rule is missing")
		}
		return answer{}, l.Apply(ctx, q.ID, *q.Rule)
	case doLift:
		return answer{}, l.Lift(ctx, q.ID)
	case doDelay:
		return answer{}, l.Delay(ctx, q.ID, q.By, q.Jitter)
	case doUndelay:
		return answer{}, l.Undelay(ctx, q.ID)
	case doReset:
		n, err := l.Reset(ctx)
		return answer{Count: n}, err
	case doProbe:
		took, err := l.Probe(ctx)
		return answer{Took: took}, err
	case doCounts:
		return answer{Counts: new(l.Counts())}, nil
	default:
		return answer{}, fmt.Errorf("there is no control %q of a link", do)
	}
}

var _ cluster.Link = (*link)(nil)
