package host

import (
	"cmp"
	"slices"
	"sync"
)

// seenConn is a connection to a node, where the host's own address of it is at;
// the witness sees what goes over it.
type seenConn struct {
	*namedConn
	at      string
	witness *witness
}

func (c *seenConn) Write(b []byte) (int, error) {
	c.witness.asked(c.at)
	return c.namedConn.Write(b)
}

func (c *seenConn) Read(b []byte) (int, error) {
	n, err := c.namedConn.Read(b)
	if n > 0 {
		c.witness.answered(c.at)
	}
	return n, err
}

// witness sees which nodes take part in the commands that are under way: the
// client does not tell over which connection it sends one.
type witness struct {
	mu   sync.Mutex
	open []*sighting
}

// sighting is what is seen while one command is under way.
type sighting struct {
	asked, answered string // the last of them
	// others: another command was under way meanwhile. nodes are all that were asked.
	others bool
	nodes  []string
}

func (w *witness) begin() *sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &sighting{others: len(w.open) > 0}
	for _, o := range w.open {
		o.others = true
	}
	w.open = append(w.open, s)
	return s
}

// end tells who has answered, or was asked in vain; "" where that may have been
// another command's node.
func (w *witness) end(s *sighting) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = slices.DeleteFunc(w.open, func(o *sighting) bool { return o == s })
	if s.others && len(s.nodes) > 1 {
		return ""
	}
	return cmp.Or(s.answered, s.asked)
}

func (w *witness) asked(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.open {
		s.asked, s.answered = node, ""
		if !slices.Contains(s.nodes, node) {
			s.nodes = append(s.nodes, node)
		}
	}
}

func (w *witness) answered(node string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.open {
		s.answered = node
		if !slices.Contains(s.nodes, node) {
			s.nodes = append(s.nodes, node)
		}
	}
}
