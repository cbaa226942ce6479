package remote

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"lockchaos/internal/redistest"
)

// monitor writes down what a server is told to do, by scripts, too.
type monitor struct {
	server *redistest.Server
	conn   net.Conn
	done   chan struct{}

	mu    sync.Mutex
	lines []string
}

func watch(t *testing.T, s *redistest.Server) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &monitor{server: s, conn: conn, done: make(chan struct{})}
	if _, err := fmt.Fprint(conn, "MONITOR\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if ok, err := in.ReadString('\n'); err != nil || ok != "+OK\r\n" {
		t.Fatalf("MONITOR: %q, %v", ok, err)
	}
	go func() {
		defer close(m.done)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			m.mu.Lock()
			m.lines = append(m.lines, line)
			m.mu.Unlock()
		}
	}()
	return m
}

// seen are all commands up to now but the test's own, the words of each.
func (m *monitor) seen(t *testing.T) [][]string {
	t.Helper()
	end := fmt.Sprint("end of ", t.Name())
	if err := m.server.Echo(t.Context(), end).Err(); err != nil {
		t.Fatal(err)
	}
	own := m.own(t)
	var list [][]string
	redistest.Until(t, "the monitor has seen all", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		list = list[:0]
		for _, line := range m.lines {
			if at := clientAddr.FindStringSubmatch(line); at == nil || !own[at[1]] {
				list = append(list, words(line))
			}
		}
		return strings.Contains(m.lines[len(m.lines)-1], end)
	})
	return list
}

var clientAddr = regexp.MustCompile(`\[0 ([^\]]*)\]`)

// own are the addresses of the test's connections: who else is there has logged in.
func (m *monitor) own(t *testing.T) map[string]bool {
	t.Helper()
	own := map[string]bool{}
	for line := range strings.Lines(m.server.ClientList(t.Context()).Val()) {
		if f := strings.Fields(line); slices.Contains(f, "user=default") {
			for _, w := range f {
				if addr, ok := strings.CutPrefix(w, "addr="); ok {
					own[addr] = true
				}
			}
		}
	}
	return own
}

var quoted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// words are those of a line like: +1700000000.1 [0 127.0.0.1:4711] "GET" "key".
func words(line string) []string {
	_, rest, _ := strings.Cut(line, "] ")
	var list []string
	for _, w := range quoted.FindAllStringSubmatch(rest, -1) {
		list = append(list, strings.ReplaceAll(w[1], `\\`, `\`))
	}
	return list
}

// keyless are the commands without a key that may be sent. What is not here and
// has no key is not to be sent.
var keyless = []string{"hello", "auth", "ping", "dbsize", "client setinfo", "script load"}

// keep sees that what was told kept to the prefix, and how often each command came.
func (m *monitor) keep(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, w := range m.seen(t) {
		name := strings.ToLower(w[0])
		if name == "client" || name == "script" {
			name += " " + strings.ToLower(w[1])
		}
		counts[name]++
		switch {
		case slices.Contains(keyless, name):
			continue
		case name == "scan":
			if i := slices.IndexFunc(w, func(s string) bool { return strings.EqualFold(s, "match") }); i < 0 || !strings.HasPrefix(w[i+1], everyPrefix) {
				t.Errorf("a scan of everything: %q", w)
			}
			continue
		case (name == "eval" || name == "evalsha") && w[2] == "0": // what it calls is in the list, too
			continue
		}
		keys := m.keys(t, w)
		for _, k := range keys {
			if !strings.HasPrefix(k, everyPrefix) {
				t.Errorf("%q has the key %q", w, k)
			}
		}
		if len(keys) == 0 {
			t.Errorf("%q was sent", w)
		}
	}
	return counts
}

// keys are those that a command acts on, by the server's own word.
func (m *monitor) keys(t *testing.T, w []string) []string {
	t.Helper()
	args := []any{"COMMAND", "GETKEYS"}
	for _, s := range w {
		args = append(args, s)
	}
	keys, err := m.server.Do(t.Context(), args...).StringSlice()
	if err != nil && !strings.Contains(err.Error(), "no key arguments") {
		t.Errorf("%q: %v", w, err)
	}
	return keys
}
