package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"lockchaos/cluster"
)

// links are what the faults of links act on: every given host with every given node.
type links struct {
	id    string
	actor *actor
	names []string // "w1>n3"
	links []cluster.Link
	// optional: an end that is not seen is no error, and is told as it is.
	optional bool
	// before are the counts at mark.
	before []cluster.Counts
}

func newLinks(c Controls, s Spec, id string) *links {
	l := &links{id: id, actor: s.actor, optional: s.Optional}
	for _, h := range s.Hosts {
		for _, n := range s.Nodes {
			if h == n { // both may be lists of nodes
				continue
			}
			l.names = append(l.names, h+">"+n)
			l.links = append(l.links, c.Link(h, n))
		}
	}
	return l
}

// newWays are single links, by their two ends.
func newWays(c Controls, s Spec, id string, ways [][2]string) *links {
	l := &links{id: id, actor: s.actor}
	for _, w := range ways {
		l.names = append(l.names, w[0]+">"+w[1])
		l.links = append(l.links, c.Link(w[0], w[1]))
	}
	return l
}

// all does one thing to each link, whatever the others do, and keeps the first error.
func (l *links) all(do func(cluster.Link) error) error {
	var first error
	for i, link := range l.links {
		if err := do(link); err != nil && first == nil {
			first = fmt.Errorf("link %s: %w", l.names[i], err)
		}
	}
	return first
}

func (l *links) apply(ctx context.Context, r cluster.Rule) error {
	l.mark()
	if len(r.Commands) == 0 {
		l.actor.add(cut, 0, l.names...)
	}
	return l.all(func(link cluster.Link) error { return link.Apply(ctx, l.id, r) })
}

// mark starts the counting of since.
func (l *links) mark() {
	l.before = l.before[:0]
	for _, link := range l.links {
		l.before = append(l.before, link.Counts())
	}
}

func (l *links) lift(ctx context.Context) error {
	err := l.all(func(link cluster.Link) error { return link.Lift(ctx, l.id) })
	if err == nil {
		l.actor.drop(cut)
	}
	return err
}

// since sums up what the links carried since mark.
func (l *links) since() cluster.Counts {
	var sum cluster.Counts
	for i, link := range l.links {
		now, was := link.Counts(), l.before[i]
		sum.RequestBytes += now.RequestBytes - was.RequestBytes
		sum.ReplyBytes += now.ReplyBytes - was.ReplyBytes
		sum.HeldBytes += now.HeldBytes - was.HeldBytes
		sum.DroppedBytes += now.DroppedBytes - was.DroppedBytes
		sum.HeldCommands += now.HeldCommands - was.HeldCommands
	}
	return sum
}

// How long a probe waits for a link that must not answer, and for one that must.
const (
	silence = 30 * time.Millisecond
	answer  = 2 * time.Second
)

// silent sees that no link answers a PING; probes run side by side.
func (l *links) silent(ctx context.Context) (string, error) {
	errs := make([]error, len(l.links)) // by link, so that the first is the same each time
	var probes sync.WaitGroup
	for i, link := range l.links {
		probes.Go(func() {
			pctx, cancel := context.WithTimeout(ctx, silence)
			defer cancel()
			_, err := link.Probe(pctx)
			switch {
			case err == nil:
				errs[i] = fmt.Errorf("link %s still answers", l.names[i])
			case ctx.Err() != nil: // then silence means nothing
				errs[i] = fmt.Errorf("link %s: %w", l.names[i], ctx.Err())
			}
		})
	}
	probes.Wait()
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("no answer to a PING within %s on %d link(s)", silence, len(l.links)), nil
}

// answers sees that each link answers a PING: words, and the slowest round trip. Where
// another fault keeps links from it, that is said in place of their answers.
func (l *links) answers(ctx context.Context, words string) (string, error) {
	var slowest time.Duration
	var hidden []string
	for i := range l.links {
		d, by, err := l.answer(ctx, i)
		switch {
		case err != nil:
			return "", fmt.Errorf("link %s: %w: %w", l.names[i], errUnanswered, err)
		case by == nobody:
			slowest = max(slowest, d)
		case !slices.Contains(hidden, by):
			hidden = append(hidden, by)
		}
	}
	if slowest == 0 && len(hidden) > 0 {
		return lifted + strings.Join(hidden, "; "), nil
	}
	return strings.Join(append([]string{fmt.Sprintf("%s %s", words, slowest)}, hidden...), "; "), nil
}

// answer returns the round trip of a PING, or who keeps the link from carrying it. Who
// did when it was sent may be gone by now: then there is another.
func (l *links) answer(ctx context.Context, i int) (rtt time.Duration, by string, err error) {
	for {
		before, since, limit := l.hides(i), l.actor.now(), answer
		if before != nobody {
			limit = silence
		}
		pctx, cancel := context.WithTimeout(ctx, limit)
		rtt, err = l.links[i].Probe(pctx)
		cancel()
		if err == nil {
			return rtt, nobody, nil
		}
		if by = l.hides(i); by != nobody {
			return 0, by, nil
		}
		if before == nobody && !l.torn(since, i) {
			return 0, nobody, err
		}
	}
}

// torn tells that another fault has broken the connections of a link since a moment, and
// that of a PING with them, which is then to be sent again.
func (l *links) torn(since moment, i int) bool {
	return !l.optional && l.actor.met(since, torn, l.names[i]) != nobody
}

// hides says for which other fault a link carries no PING, if there is one.
func (l *links) hides(i int) string {
	if l.optional {
		return nobody
	}
	_, node, _ := strings.Cut(l.names[i], ">")
	if by := l.actor.others(down, node); by != nobody {
		return stillActs(by, node)
	}
	if by := l.actor.others(cut, l.names[i]); by != nobody {
		return stillActs(by, l.names[i])
	}
	return nobody
}
