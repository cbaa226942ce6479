package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/results"
	"lockchaos/serve/play"
)

// server starts a command that serves until it is ended, and returns its first line.
func server(t *testing.T, args ...string) (*chaos, string) {
	t.Helper()
	c := within(t, 10*patience, args...)
	line, err := c.start(t).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %q %s", err, line, c.errOut.String())
	}
	return c, strings.TrimSpace(line)
}

// start starts a command, and returns what it writes while it writes it.
func (c *chaos) start(t *testing.T) *bufio.Reader {
	t.Helper()
	c.cmd.Stdout = nil
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // where the test has not ended it
	return bufio.NewReader(out)
}

// serving starts chaos serve and returns where it is.
func serving(t *testing.T, args ...string) (*chaos, string) {
	t.Helper()
	c, line := server(t, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	where, _, ok := strings.Cut(line, " shows ")
	if !ok {
		t.Fatalf("%q %s", line, c.errOut.String())
	}
	return c, strings.TrimSuffix(where, "/")
}

func get(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(err, r.StatusCode, string(b))
	}
	return string(b)
}

// The server ends at a signal, and its simulation with it, however it ends.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	for signal, code := range map[os.Signal]int{os.Interrupt: results.ExitExpected, os.Kill: -1} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			c, where := serving(t, "--results", filepath.Join(t.TempDir(), "none"))
			if !strings.Contains(get(t, where), "No runs here yet") {
				t.Error("it does not say that there are no runs")
			}
			if all := get(t, where+"/playground"); !strings.Contains(all, `data-outcome="violated"`) {
				t.Errorf("the playground shows\n%s", all)
			}
			if n := len(c.children(t)); n != 1 {
				t.Errorf("%d children, expected the one that simulates", n)
			}
			if err := c.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if got := c.wait(t); got != code {
				t.Errorf("exit code %d, expected %d: %s", got, code, c.errOut.String())
			}
		})
	}
}

// What the playground hands out can be run, and gives what came out there.
func TestPlaygroundFiles(t *testing.T) {
	t.Parallel()
	_, where := serving(t, "--results", t.TempDir())
	for name, change := range map[string]func(*play.Choice){
		"stale holder":   func(*play.Choice) {},
		"fence":          func(c *play.Choice) { c.Guard = "fence" },
		"all on redlock": func(c *play.Choice) { c.Lock, c.Cut.On, c.Jump.On, c.Seed = "redlock", true, true, 3 },
		"watchdog":       func(c *play.Choice) { c.Watchdog, c.Pause.On, c.Cut.On, c.Work = true, false, true, 500 },
		"plain delete":   func(c *play.Choice) { c.Lock = "single-bare-del" },
		"too late":       func(c *play.Choice) { c.Pause.At = 1400 },
		"nothing":        func(c *play.Choice) { c.Pause.On = false },
		"sentinel":       func(c *play.Choice) { c.Lock, c.Guard = "sentinel", "version" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := play.StaleHolder()
			change(&c)
			file := filepath.Join(t.TempDir(), play.File)
			write(t, file, get(t, where+"/playground/"+play.File+"?"+c.Query()))
			args := strings.Fields(strings.ReplaceAll(c.Command(), play.File, file))[1:]
			root := t.TempDir()
			command(t, append(args, "--results", root)...).expect(t, results.ExitExpected, "1 run on sim", "all as expected")
			runs, err := results.Runs(root)
			if err != nil {
				t.Fatal(err)
			}
			var a results.Assessment
			if err := results.Load(runs[0], results.VerdictFile, &a); err != nil {
				t.Fatal(err)
			}
			counts := a.Verdict.Counts // both pages tell these numbers
			want := fmt.Sprintf("%d acquires were answered and %d granted; the resource accepted %d writes and refused %d", counts.Acquires, counts.Grants, counts.Writes, counts.Refused)
			shown := get(t, where+"/playground/result?"+c.Query())
			if !strings.Contains(shown, want) || !strings.Contains(shown, `data-outcome="`+string(a.Verdict.Outcome)+`"`) {
				t.Errorf("the run is %s, %s; the playground shows\n%s", a.Verdict.Outcome, want, shown)
			}
		})
	}
}

func TestServeWrongCalls(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"every address": {[]string{"--addr", ":0"}, `--addr ":0": this address can be reached from other machines; --public allows that`},
		"another's":     {[]string{"--addr", "192.0.2.1:8080"}, "--public allows that"},
		"no token":      {[]string{"--addr", ":0", "--public"}, "--addr :0 can be reached from other machines, and there is no token"},
		"no token file": {[]string{"--token-file", "/nonsense"}, "/nonsense"},
		"no port":       {[]string{"--addr", "127.0.0.1"}, "missing port"},
		"port taken":    {[]string{"--addr", taken.Addr().String()}, "address already in use"},
		"a file":        {[]string{"--results", file}, "not a directory"},
		"an argument":   {[]string{"results/runs"}, "unknown command"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command(t, append([]string{"serve"}, c.args...)...).expect(t, results.ExitUsage, c.says)
		})
	}
}
