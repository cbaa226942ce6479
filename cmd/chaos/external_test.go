package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"lockchaos/host"
)

// The top of the repository, from which the example's command is found.
const top = "../.."

// buildChaos builds the program. It is gone with the test.
func buildChaos(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("the external hosts of this test are written in Python: install python3: ", err)
	}
	bin := filepath.Join(t.TempDir(), "chaos")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// runExternal runs a scenario and returns the exit code and all that was said.
// No process may be left over; a mark in the environment tells which are ours.
func runExternal(t *testing.T, bin, dir, scenario string) (code int, said string) {
	t.Helper()
	const longest = 80 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	tmp := t.TempDir()
	mark := "LOCKCHAOS_EXTERNAL_TEST=" + tmp
	cmd := exec.CommandContext(ctx, bin, "run", scenario, "--results", filepath.Join(tmp, "runs"))
	cmd.Dir, cmd.Env = dir, append(os.Environ(), mark, "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Errorf("it did not end within %v", longest)
	}
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes are left over:\n%s", strings.Join(left, "\n"))
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// marked lists the processes with a mark in their environment.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ")
		if err != nil || !strings.Contains(string(env), mark) {
			continue
		}
		cmdline, _ := os.ReadFile(dir + "/cmdline") // it may have ended since
		found = append(found, dir+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
	}
	return found
}

// python is what the bad hosts of the table below have in common. talk makes
// traffic on the link, as a real acquire would.
const python = `import json, os, socket, subprocess, sys, time
node = ""
def say(text): print(text, flush=True)
def answer(r, **fields): say(json.dumps({"id": r["id"], "ok": True, **fields}))
def talk():
    with socket.create_connection(node) as s:
        s.sendall(b"PING\r\n")
        s.recv(100)
for line in sys.stdin:
    r = json.loads(line)
    op = r["op"]
    if op == "init": node = r["init"]["nodes"][0].split(":")
`

var badHosts = []struct {
	name string
	// command is the host's; or body, which handles request r with operation op.
	command, body string
	code          int
	says          []string
}{
	{name: "never-answers-init", body: `pass`, // first: it takes as long as all the others
		code: 70, says: []string{"host w1: no reply to init", "w1.log"}},
	{name: "no-such-command", command: "[no-such-program-anywhere]",
		code: 70, says: []string{"host w1", "cannot start", "no-such-program-anywhere"}},
	{name: "exits-at-once", command: "[sh, -c, exit 3]",
		code: 70, says: []string{"host w1", "the host has ended", "exit status 3", "w1.log"}},
	{name: "dies-in-the-middle", body: `
    if op == "acquire": os._exit(7)
    answer(r)`,
		code: 70, says: []string{"host w1", "the host has ended", "exit status 7"}},
	{name: "refuses-init", body: `answer(r, ok=False, error={"code": "bad-request", "definite": True, "text": "not me"})`,
		code: 70, says: []string{"host w1", "refuses init", "bad-request: not me"}},
	{name: "garbage", body: `say("Hello, I am a lock!")`,
		code: 70, says: []string{"host w1", "does not keep to the protocol", "Hello, I am a lock!"}},
	{name: "over-long-line", body: `say('"' + "x" * (2 << 20) + '"')`,
		code: 70, says: []string{"host w1", "does not keep to the protocol", "a line of over 1048576 bytes"}},
	{name: "cut-off-line", body: `
    sys.stdout.write('{"id": ')
    sys.stdout.flush()
    os._exit(0)`,
		code: 70, says: []string{"host w1", "cut off", `{\"id\":`}},
	{name: "unknown-id", body: `answer({"id": 4711})`,
		code: 70, says: []string{"host w1", "4711", "answers no request"}},
	{name: "unknown-code", body: `
    answer(r, **({} if op == "init" else {"ok": False, "error": {"code": "sulking"}}))`,
		code: 70, says: []string{"host w1", "unknown error code", "sulking"}},
	{name: "ok-and-error", body: `
    answer(r, **({} if op == "init" else {"error": {"code": "refused", "definite": True}}))`,
		code: 70, says: []string{"host w1", "ok and an error at once"}},
	{name: "no-owner", body: `
    if op == "acquire": talk()
    answer(r)`,
		code: 70, says: []string{"host w1", "a grant without an owner"}},
	{name: "validity-over-ttl", body: `
    if op == "acquire": talk()
    answer(r, owner="me", validity_ms=1500.5)`,
		code: 70, says: []string{"host w1", "1.5005s are left of a lease of 1s"}},
	{name: "never-answers-acquire", body: `
    if op != "acquire": answer(r)`,
		code: 2, says: []string{"not done within 3s", "inconclusive"}},
	{name: "talks-to-no-node", body: `answer(r, owner="o%d" % r["id"], token=r["id"])`,
		code: 2, says: []string{"unbacked grant", "of w1", "inconclusive"}},
	{name: "one-owner-for-all", body: `
    if op == "acquire": talk()
    answer(r, owner="me", token=r["id"])`,
		code: 2, says: []string{`the owner value "me" was used by two grants`, "of w1", "inconclusive"}},
	{name: "will-not-leave", body: `
    if op == "init": subprocess.Popen(["sleep", "1000"])
    if op == "acquire": talk()
    answer(r, owner="o%d" % r["id"], token=r["id"])
    if op == "close": time.sleep(1000)`,
		code: 0, says: []string{"all as expected"}},
}

func TestExternalHosts(t *testing.T) {
	bin := buildChaos(t)
	for _, bad := range badHosts {
		t.Run(bad.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			command := bad.command
			if command == "" {
				command = "[python3, host.py]"
				keep(t, filepath.Join(dir, "host.py"), python+"    "+strings.TrimSpace(bad.body)+"\n")
			}
			keep(t, filepath.Join(dir, "bad.yaml"), fmt.Sprintf(`name: bad-host
about: a host that does something wrong
lock: {system: external, command: %s, nodes: 1, ttl: 1s}
hosts: 1
workload: {kind: counter, rounds: 2}
guards: [none]
deadline: 3s
expect:
  none: {outcome: safe}
`, command))
			code, said := runExternal(t, bin, dir, "bad.yaml")
			if code != bad.code {
				t.Errorf("exit code %d, expected %d", code, bad.code)
			}
			for _, s := range bad.says {
				if !strings.Contains(said, s) {
					t.Errorf("it does not say %q", s)
				}
			}
			if bad.code == 0 != regexp.MustCompile(`external × none +safe`).MatchString(said) {
				t.Error("it must be called safe, exactly if nothing is wrong")
			}
			if t.Failed() {
				t.Logf("it says:\n%s", said)
			}
		})
	}
	for _, example := range []struct{ file, none, fence string }{
		{"my-lock.yaml", `external × none +safe +VIOLATED`, `external × fence +· +safe`},
		{"sentinel-lock.yaml", `external × none +safe +safe`, `external × fence +· +safe`},
	} {
		t.Run(example.file, func(t *testing.T) {
			t.Parallel()
			code, said := runExternal(t, bin, top, "examples/hosts/"+example.file)
			if code != 0 {
				t.Errorf("exit code %d, expected 0", code)
			}
			for _, row := range []string{example.none, example.fence} {
				if !regexp.MustCompile(row).MatchString(said) {
					t.Errorf("no line is like %q", row)
				}
			}
			if t.Failed() {
				t.Logf("it says:\n%s", said)
			}
		})
	}
}

func keep(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestHostProtocolDoc holds docs/host-protocol.md against package host: each
// message has a table with all its fields, their types and when they come, and
// each operation, code and event has a line.
func TestHostProtocolDoc(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(top, "docs/host-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	for _, message := range []any{host.Request{}, host.Init{}, host.Reply{}, host.Error{}, host.Event{}} {
		typ := reflect.TypeOf(message)
		part := section(t, doc, "### "+typ.Name())
		for i := range typ.NumField() {
			if row := fieldRow(typ.Field(i)); !strings.Contains(part, row) {
				t.Errorf("the section %s has no line that starts with %s", typ.Name(), row)
			}
		}
		if fields := strings.Count(between(part, "| field |", "\n\n"), "\n| `"); fields != typ.NumField() {
			t.Errorf("the table of %s has %d fields, the type has %d", typ.Name(), fields, typ.NumField())
		}
	}
	words := protocolWords(t)
	for _, prefix := range []string{"Op", "Code", "Event"} {
		if len(words[prefix]) == 0 {
			t.Errorf("no constant %s… found in package host", prefix)
		}
		for _, word := range words[prefix] {
			if !strings.Contains(doc, "\n| `"+word+"` | ") {
				t.Errorf("no table explains %s %q", prefix, word)
			}
		}
	}
	if limit := "at most 1,048,576 bytes"; host.MaxLine != 1_048_576 || !strings.Contains(doc, limit) {
		t.Errorf("the longest line is %d bytes, the page says %q", host.MaxLine, limit)
	}
	if says := fmt.Sprintf("of this protocol: %d.", host.ProtocolVersion); !strings.Contains(doc, says) {
		t.Errorf("the page does not say %q", says)
	}
}

// TestHostProtocolSession reads the session in the page with the types of today.
func TestHostProtocolSession(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(top, "docs/host-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(section(t, string(b), "## A session")) {
		arrow, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		var message any
		switch {
		case arrow == ">" && strings.HasPrefix(text, "{"):
			message = new(host.Request)
		case arrow == "<" && strings.HasPrefix(text, `{"event"`):
			message = new(host.Event)
		case arrow == "<":
			message = new(host.Reply)
		default:
			continue
		}
		lines++
		d := json.NewDecoder(bytes.NewReader([]byte(text)))
		d.DisallowUnknownFields()
		if err := d.Decode(message); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if lines < 10 {
		t.Errorf("only %d lines of a session found", lines)
	}
}

// section is the part of a page from a heading to the next one.
func section(t *testing.T, doc, heading string) string {
	t.Helper()
	_, part, ok := strings.Cut(doc, "\n"+heading+"\n")
	if !ok {
		t.Fatalf("the page has no heading %q", heading)
	}
	part, _, _ = strings.Cut(part, "\n#")
	return part
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}

// fieldRow is how the line of a field must start.
func fieldRow(f reflect.StructField) string {
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	when := "always"
	if strings.Contains(options, "omitempty") {
		when = "optional"
	}
	kinds := map[reflect.Kind]string{
		reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number", reflect.String: "string",
		reflect.Bool: "true or false", reflect.Slice: "list of strings", reflect.Map: "object", reflect.Pointer: "object",
	}
	return fmt.Sprintf("| `%s` | %s | %s | ", name, kinds[f.Type.Kind()], when)
}

// protocolWords are the string constants of the protocol, by the start of their names.
func protocolWords(t *testing.T) map[string][]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, "host/protocol.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	words := map[string][]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		word, err := strconv.Unquote(lit.Value)
		if err != nil {
			t.Fatal(err)
		}
		for _, prefix := range []string{"Op", "Code", "Event"} {
			if strings.HasPrefix(spec.Names[0].Name, prefix) {
				words[prefix] = append(words[prefix], word)
			}
		}
		return true
	})
	return words
}
