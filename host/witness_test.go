package host

import "testing"

func TestWitness(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *witness) string
		want string
	}{
		{"one answers", func(w *witness) string {
			s := w.begin()
			w.asked("a")
			w.answered("a")
			return w.end(s)
		}, "a"},
		{"another answers the second try", func(w *witness) string {
			s := w.begin()
			w.asked("a")
			w.answered("a") // READONLY
			w.asked("b")
			w.answered("b")
			return w.end(s)
		}, "b"},
		{"the second try is in vain", func(w *witness) string {
			s := w.begin()
			w.asked("a")
			w.answered("a")
			w.asked("b")
			return w.end(s)
		}, "b"},
		{"nobody was asked", func(w *witness) string { return w.end(w.begin()) }, ""},
		{"what comes after it is another's", func(w *witness) string {
			s := w.begin()
			w.asked("a")
			w.answered("a")
			got := w.end(s)
			w.answered("b")
			return got
		}, "a"},
		{"two commands to one node", func(w *witness) string {
			s, other := w.begin(), w.begin()
			w.asked("a")
			w.asked("a")
			w.answered("a")
			w.end(other)
			return w.end(s)
		}, "a"},
		{"two commands to two nodes, and nobody knows whose is which", func(w *witness) string {
			s, other := w.begin(), w.begin()
			w.asked("a")
			w.asked("b")
			w.answered("b")
			w.end(other)
			return w.end(s)
		}, ""},
	} {
		if got := c.do(&witness{}); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}
