package serve_test

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/internal/secret"
	"lockchaos/results"
	"lockchaos/serve"
)

// hiddenText is what no page may show.
const hiddenText = "the-secret-of-this-machine"

// request sends a request line just as it stands, and reads the answer.
func request(t *testing.T, s *httptest.Server, target, host string, header ...string) (int, http.Header, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	method, rest, ok := strings.Cut(target, " ")
	if !ok {
		method, rest = http.MethodGet, target
	}
	lines := append([]string{method + " " + rest + " HTTP/1.1", "Host: " + host, "Connection: close"}, header...)
	if _, err := io.WriteString(c, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, r.Header, string(b)
}

const here = "127.0.0.1:8080"

// No path leads to what is not a file of a run.
func TestPathTricks(t *testing.T) {
	outside := t.TempDir()
	root := filepath.Join(outside, "runs")
	batch := saved(t, root, "")
	run := filepath.Join(root, batch, results.Key{Scenario: "single/pause-after-acquire", Guard: "none", Trial: 1}.Path())
	if err := os.Mkdir(filepath.Join(root, ".private"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		filepath.Join(root, ".private", "history.jsonl"),
		filepath.Join(outside, "secret.txt"), filepath.Join(outside, "manifest.json"), filepath.Join(outside, "history.jsonl"),
		filepath.Join(root, "history.jsonl.bak"), filepath.Join(root, batch, ".hidden"), filepath.Join(run, "notes.txt"), filepath.Join(run, "logs", "w1.log"),
	} {
		write(t, file, hiddenText)
	}
	for link, to := range map[string]string{
		filepath.Join(root, "out"):                          outside,
		filepath.Join(root, batch, "up"):                    "../..",
		filepath.Join(run, "porcupine-tokens.html"):         filepath.Join(outside, "secret.txt"),
		filepath.Join(root, batch, results.VerdictFile):     "single.pause-after-acquire/none/t1/notes.txt",
		filepath.Join(root, batch, "inside"):                filepath.Base(filepath.Dir(filepath.Dir(run))),
		filepath.Join(root, batch, "history.jsonl"):         "../../history.jsonl",
		filepath.Join(root, "20990101-000000-link"):         batch,
		filepath.Join(root, batch, results.ManifestFile):    filepath.Join(outside, "manifest.json"),
		filepath.Join(root, batch, "linked", "report.html"): filepath.Join(outside, "secret.txt"),
	} {
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	linked := filepath.Join(root, batch, "linked-run")
	manifest, err := os.ReadFile(filepath.Join(run, results.ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(linked, 0o755), os.Symlink("../../../verdict.json", filepath.Join(linked, results.VerdictFile))); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(linked, results.ManifestFile), string(manifest))
	write(t, filepath.Join(outside, results.VerdictFile), `{"error": "`+hiddenText+`"}`)
	s := server(t, root)
	if _, _, body := request(t, s, "/runs/"+batch+"/linked-run/", here); strings.Contains(body, hiddenText) || !strings.Contains(body, "verdict.json is not a file that can be read") {
		t.Error("a verdict that is a link to elsewhere is read")
	}
	rel, err := filepath.Rel(root, run)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, body := request(t, s, "/runs/"+rel+"/history.jsonl", here); code != 200 || !strings.Contains(body, `"acquire"`) {
		t.Fatalf("the history of a run: %d, %.80s", code, body)
	}
	if code, _, body := request(t, s, "/runs/"+rel+"/", here); code != 200 || strings.Contains(body, hiddenText) {
		t.Errorf("the page of the run with a link in it: %d", code)
	}
	for _, path := range []string{
		"/runs/../secret.txt", "/runs/%2e%2e/secret.txt", "/runs/..%2fsecret.txt", "/runs/%2e%2e%2fsecret.txt", "/runs/..%5csecret.txt",
		"/runs//" + strings.TrimPrefix(outside, "/") + "/secret.txt", "/runs/" + outside + "/secret.txt", "/runs/%2f" + outside[1:] + "/secret.txt",
		"/runs/" + batch + "/../../secret.txt", "/runs/" + batch + "/%2e%2e/%2e%2e/secret.txt", "/runs/./../secret.txt",
		"/runs/%252e%252e/secret.txt", "/runs/secret.txt%00.json", "/runs/" + batch + "/%00", "/runs/...", "/runs/.", "/runs/..", "/runs/%2e",
		"/runs/.private/history.jsonl", "/runs/out/", "/runs/out/secret.txt", "/runs/out/history.jsonl", "/runs/" + batch + "/up/", "/runs/" + batch + "/up/history.jsonl",
		"/runs/" + batch + "/inside/", "/runs/" + batch + "/inside/none/t1/", "/runs/20990101-000000-link/", "/runs/" + batch + "/history.jsonl", "/runs/" + batch + "/verdict.json",
		"/runs/" + batch + "/manifest.json", "/runs/" + batch + "/.hidden", "/runs/" + batch + "/linked/", "/runs/" + batch + "/linked/report.html",
		"/runs/" + rel + "/notes.txt", "/runs/" + rel + "/logs/w1.log", "/runs/" + rel + "/porcupine-tokens.html", "/runs/history.jsonl.bak",
		"/static/../secret.txt", "/static/%2e%2e/serve.go", "/static/index.tmpl", "/" + strings.Repeat("a/", 4000), "/runs/" + strings.Repeat("a/", 3000),
	} {
		code, header, body := request(t, s, path, here)
		if strings.Contains(body, hiddenText) || strings.Contains(body, "root:") {
			t.Errorf("%.80s shows the secret", path)
		}
		where := header.Get("Location")
		if away := code/100 == 3 && (!strings.HasPrefix(where, "/") || strings.HasPrefix(where, "//")); code/100 == 2 || code/100 == 5 || away {
			t.Errorf("%.80s: %d %s", path, code, where)
		}
		if strings.Contains(body, outside) && !strings.Contains(path, outside[1:]) {
			t.Errorf("%.80s names the directory: %s", path, body)
		}
	}
	if _, _, body := request(t, s, "/", here); strings.Contains(body, "link") && strings.Contains(body, "20990101") || strings.Contains(body, `/runs/out/`) {
		t.Error("the list follows links")
	}
}

// Who calls the server by a name that it does not have may be led here by anybody.
func TestHosts(t *testing.T) {
	for _, c := range []struct {
		public bool
		host   string
		code   int
	}{
		{false, "127.0.0.1:8080", 200}, {false, "127.0.0.1", 200}, {false, "localhost:8080", 200}, {false, "LOCALHOST.", 200}, {false, "[::1]:8080", 200}, {false, "127.8.9.1", 200},
		{false, "evil.example:8080", 403}, {false, "localhost.evil.example", 403}, {false, "127.0.0.1.evil.example:80", 403}, {false, "192.0.2.7:8080", 403},
		{false, "0.0.0.0:8080", 403}, {false, "bench.example", 200}, {false, "bench.example.evil", 403}, {false, "", 403},
		{true, "192.0.2.7:8080", 200}, {true, "bench.EXAMPLE:8080", 200}, {true, "evil.example", 403}, {true, "localhost", 200},
	} {
		s := httptest.NewServer(serve.New(serve.Options{Root: t.TempDir(), Hosts: []string{"bench.example"}, Public: c.public}))
		if code, _, _ := request(t, s, "/", c.host); code != c.code {
			t.Errorf("host %q, public %v: %d, expected %d", c.host, c.public, code, c.code)
		}
		s.Close()
	}
}

// With a token nothing is told to who does not have it.
func TestLogin(t *testing.T) {
	s := httptest.NewServer(serve.New(serve.Options{Root: t.TempDir(), Token: secret.New("0123456789abcdef")}))
	defer s.Close()
	for _, path := range []string{"/", "/trend", "/runs/x/", "/playground", "/playground/result", "/static/style.css", "/favicon.ico", "POST /"} {
		code, header, _ := request(t, s, path, here)
		if code != http.StatusUnauthorized || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%s without the token: %d", path, code)
		}
		if code, _, _ := request(t, s, path, here, "Authorization: Bearer 0123456789abcdeg"); code != http.StatusUnauthorized {
			t.Errorf("%s with another token: %d", path, code)
		}
	}
	if code, _, body := request(t, s, "/", here, "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("me:0123456789abcdef"))); code != http.StatusOK || !strings.Contains(body, "No runs here yet") {
		t.Errorf("with the token: %d %s", code, body)
	}
}

// Nothing can be changed, other sites' pages get nothing, and ours load nothing
// from elsewhere.
func TestHeaders(t *testing.T) {
	root := t.TempDir()
	batch := saved(t, root, "")
	s := server(t, root)
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
		if code, _, _ := request(t, s, method+" /", here); code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, code)
		}
	}
	for _, c := range []struct {
		site, mode string
		code       int
	}{{"cross-site", "no-cors", 403}, {"cross-site", "cors", 403}, {"same-site", "cors", 403}, {"cross-site", "navigate", 200}, {"same-origin", "cors", 200}, {"none", "navigate", 200}} {
		if code, _, _ := request(t, s, "/", here, "Sec-Fetch-Site: "+c.site, "Sec-Fetch-Mode: "+c.mode); code != c.code {
			t.Errorf("%s, %s: %d, expected %d", c.site, c.mode, code, c.code)
		}
	}
	run := "/runs/" + batch + "/" + results.Key{Scenario: "single/pause-after-acquire", Guard: "none", Trial: 1}.Path() + "/"
	for path, says := range map[string]string{
		"/": "script-src 'self'", "/trend": "default-src 'none'", "/playground": "connect-src 'self'", run: "style-src 'unsafe-inline'",
		run + "history.jsonl": "default-src 'none'", run + "porcupine-counter.html": "sandbox allow-scripts; default-src 'none'", "/nonsense": "default-src 'none'",
	} {
		_, header, _ := request(t, s, path, here)
		policy := header.Get("Content-Security-Policy")
		if !strings.Contains(policy, says) || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "script-src 'unsafe-inline'") != strings.Contains(policy, "sandbox") {
			t.Errorf("%s: %s", path, policy)
		}
		if header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, header)
		}
	}
	if _, header, _ := request(t, s, run+"scenario.yaml", here); header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("a scenario is %s", header.Get("Content-Type"))
	}
}

// What stands in files of results is shown, and does nothing.
func TestHostileNames(t *testing.T) {
	root := t.TempDir()
	const evil = `<script>alert(1)</script><img src=x onerror=alert(2)>"'` + "\x1b[31m\u202e"
	long := strings.Repeat("x", 10_000)
	summary := map[string]any{"version": 2, "suite": evil, "world": evil, "runs": []any{
		map[string]any{"scenario": evil, "guard": evil, "trial": 1, "system": evil, "verdict": map[string]any{"outcome": evil, "faults": []any{map[string]any{"name": evil}}}},
		map[string]any{"scenario": "../../../etc", "guard": "..", "trial": 1, "system": long, "verdict": map[string]any{"outcome": "safe"}},
	}}
	dir := filepath.Join(root, "20260101-000000-evil")
	run := filepath.Join(dir, "evil", "none", "t1")
	if err := os.MkdirAll(run, 0o755); err != nil {
		t.Fatal(err)
	}
	for where, v := range map[string]any{
		dir + "/" + results.SummaryFile:  summary,
		run + "/" + results.ManifestFile: map[string]any{"version": 1, "run": evil, "scenario": evil, "guard": evil, "trial": 1, "world": evil, "system": evil, "repeat": evil, "started": "2026-01-01T00:00:00Z"},
		run + "/" + results.VerdictFile:  map[string]any{"scenario": evil, "guard": evil, "trial": 1, "world": evil, "system": evil, "error": evil},
	} {
		if err := results.Save(filepath.Dir(where), filepath.Base(where), v); err != nil {
			t.Fatal(err)
		}
	}
	s := server(t, root)
	for _, path := range []string{"/", "/?lock=%3Cscript%3E&fault=%22%3E%3Cscript%3E", "/trend", "/runs/20260101-000000-evil/", "/runs/20260101-000000-evil/evil/none/t1/",
		"/playground?lock=%3Cscript%3Ealert(1)%3C/script%3E", "/playground/result?x=%3Cscript%3E", "/runs/%3Cscript%3E"} {
		code, _, body := request(t, s, path, here)
		if strings.Contains(body, "<script>") || strings.Contains(body, "<img") || strings.ContainsAny(body, "\x1b\u202e") || strings.Contains(body, long) && !strings.Contains(path, "lock=") && strings.Count(body, long) > 1 {
			t.Errorf("%s: %d, hostile words stand there as they are", path, code)
		}
		if strings.Contains(body, `href="/runs/20260101-000000-evil/..`) || strings.Contains(body, "etc/") && strings.Contains(body, `href="/runs/etc`) {
			t.Errorf("%s: a link leads out", path)
		}
	}
	if _, _, body := request(t, s, "/", here); !strings.Contains(body, "&lt;script&gt;") {
		t.Errorf("the name is not shown:\n%s", body)
	}
}

func TestCheckAddr(t *testing.T) {
	for addr, want := range map[string]error{
		"127.0.0.1:80": nil, "localhost:0": nil, "[::1]:8080": nil, "0.0.0.0:80": serve.ErrPublic, ":8080": serve.ErrPublic, "[::]:1": serve.ErrPublic, "192.0.2.1:80": serve.ErrPublic, "example.com:80": serve.ErrPublic,
	} {
		if err := serve.CheckAddr(addr, false); !errors.Is(err, want) {
			t.Errorf("%s: %v, expected %v", addr, err, want)
		}
		if err := serve.CheckAddr(addr, true); err != nil {
			t.Errorf("%s, public: %v", addr, err)
		}
	}
	if err := serve.CheckAddr("8080", true); err == nil {
		t.Error("a port alone is taken")
	}
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(fmt.Errorf("write: %w", err))
	}
}
