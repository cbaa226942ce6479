package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// used are the commands and flags of all command lines in the manifests, as
// "run" and "run --on".
func used(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, b := range builds {
		s := setOf(t, manifests(t), b.dir)
		for _, p := range s.pods {
			for _, c := range p.containers() {
				for _, line := range commands(c) {
					for _, u := range use(line) {
						all[u] = true
					}
				}
			}
		}
	}
	return all
}

var chaosCall = regexp.MustCompile(`\bchaos ([a-z]+)( [^;\n]*)`)

// use lists what a command line uses. Without a command it is the image's, which
// is chaos.
func use(line []string) []string {
	switch {
	case len(line) == 0:
		return nil
	case line[0] == "sh":
		var all []string
		for _, m := range chaosCall.FindAllStringSubmatch(line[len(line)-1], -1) {
			all = append(all, use(append([]string{m[1]}, strings.Fields(m[2])...))...)
		}
		return all
	case line[0] == "chaos":
		return use(line[1:])
	}
	all := []string{line[0]}
	for _, arg := range line[1:] {
		if strings.HasPrefix(arg, "--") {
			name, _, _ := strings.Cut(arg, "=")
			all = append(all, line[0]+" "+name)
		}
	}
	return all
}

// TestCommands asks the program itself whether it has the commands and flags that
// the manifests use.
func TestCommands(t *testing.T) {
	chaos := filepath.Join(t.TempDir(), "chaos")
	cmd := exec.Command("go", "build", "-o", chaos, "./cmd/chaos")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	help := map[string]string{}
	all := used(t)
	for _, must := range []string{"node --listen", "node --check", "run --shard", "run --on", "merge", "serve --addr"} {
		if !all[must] {
			t.Errorf("the manifests do not use %q, it seems: are they read as they should be?", must)
		}
	}
	for u := range all {
		name, flag, _ := strings.Cut(u, " ")
		if _, asked := help[name]; !asked {
			out, _ := exec.Command(chaos, name, "--help").CombinedOutput() // what is unknown is told by the text
			help[name] = string(out)
		}
		if !knows(help[name], name, flag) {
			t.Errorf("the manifests use chaos %s, which is not there", u)
		}
	}
}

// knows says whether a help text is that of a command and has a flag. Of an
// unknown command it is the text of all.
func knows(help, command, flag string) bool {
	return regexp.MustCompile(`(?m)^\s+chaos `+command+`\b`).MatchString(help) &&
		(flag == "" || regexp.MustCompile(`(?m)^\s+(-\w, )?`+flag+`\b`).MatchString(help))
}

func TestKnows(t *testing.T) {
	const help = "Usage:\n  chaos run [suite] [flags]\n\nFlags:\n      --on string   the world\n"
	for _, x := range []struct {
		command, flag string
		want          bool
	}{{"run", "", true}, {"run", "--on", true}, {"run", "--only", false}, {"run", "--o", false}, {"node", "", false}, {"node", "--on", false}} {
		if got := knows(help, x.command, x.flag); got != x.want {
			t.Errorf("%s %s: %v", x.command, x.flag, got)
		}
	}
}

// What the manifests run is a suite or a scenario that there is.
func TestRuns(t *testing.T) {
	found := 0
	for _, b := range builds {
		s := setOf(t, manifests(t), b.dir)
		for _, p := range s.pods {
			for _, c := range p.containers() {
				if len(c.Args) < 2 || c.Args[0] != "run" {
					continue
				}
				found++
				if !exists("../suites/"+c.Args[1]+".yaml") && !exists("../scenarios/"+c.Args[1]+".yaml") {
					t.Errorf("%s: no suite or scenario %s", p.in(c), c.Args[1])
				}
			}
		}
	}
	if found != 3 {
		t.Errorf("%d containers run something, expected those of suite, nightly and sim-sweep", found)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A pod's program is the same in the suite and in the nightly run, but for what it
// runs: the two are written out in two files.
func TestRunnersAgree(t *testing.T) {
	of := func(file, from, indent string) string {
		text := manifests(t)[file]
		_, after, ok := strings.Cut(text, from)
		if !ok {
			t.Fatalf("%s has no %q", file, from)
		}
		return strings.ReplaceAll(after, "\n"+indent, "\n")
	}
	suite := of("overlays/suite/job.yaml", "\n  podFailurePolicy:", "  ")
	nightly := of("overlays/nightly/cronjob.yaml", "\n      podFailurePolicy:", "      ")
	if got := strings.Replace(nightly, "[run, full,", "[run, default,", 1); got != suite {
		t.Errorf("the runner of nightly is\n%s\nand that of suite\n%s", got, suite)
	}
}
