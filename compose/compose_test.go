package compose

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"lockchaos/results"
)

// through are the scenarios that the stack is tested with: each lock system with
// a pause, a crash, a clock and a partition, and the nodes that only some need.
var through = []string{
	"single/pause-after-acquire", "single/crash-no-persistence", "single/clock-jump", "single/partition-holder",
	"redsync-single/pause-after-acquire", "scenarios/redsync-crash.yaml", "scenarios/redsync-clock-jump.yaml", "scenarios/redsync-partition.yaml",
	"redlock/pause-after-acquire", "redlock/minority-down", "redlock/clock-jump", // the last has a partition, too
	"sentinel/pause-after-acquire", "sentinel/failover", "scenarios/sentinel-clock-jump.yaml", "sentinel/split",
	"single/postgres-pause-after-acquire", "single/token-external-pause-between",
}

// The one command of the README builds the image, brings everything up and runs
// what it is told, and leaves its results on the host. Meanwhile nothing but the
// agents can be reached. What is interrupted leaves no less, and neither leaves
// anything else.
func TestStack(t *testing.T) {
	ctx := untilSignal(t)
	p := newProject(ctx, t)
	t.Run("run", func(t *testing.T) { p.testRun(ctx, t) })
	t.Run("interrupted", func(t *testing.T) { p.testInterrupted(ctx, t) })
}

func (p *project) testRun(ctx context.Context, t *testing.T) {
	p.set("CHAOS_RUN", strings.Join(through, " ")+" --guard none")
	up := p.call(ctx, "up", "--build", "--exit-code-from", "chaos")
	start := time.Now()
	j := begin(t, up)
	token := ""
	if j.until(ctx, func() bool { return p.running(ctx, t, "chaos") }) {
		t.Logf("built and up after %s", time.Since(start).Round(time.Second))
		token = p.token(ctx, t, "chaos")
		p.checkContainers(ctx, t, token)
		p.checkPorts(ctx, t, j)
	}
	code := j.wait()
	t.Logf("done after %s", time.Since(start).Round(time.Second))
	if code != results.ExitExpected || token == "" {
		t.Errorf("exit code %d, expected %d; the end of what it said:\n%s", code, results.ExitExpected, tail(j.out.Bytes(), 60))
	}
	p.checkResults(t)
	p.checkSecret(t, token, j.out.Bytes())
	p.checkPage(ctx, t)
	if out, err := p.call(ctx, "--profile", "page", "down", "--volumes", "--timeout", "2").CombinedOutput(); err != nil {
		t.Errorf("down: %v: %s", err, out)
	}
	if left := p.left(t); len(left) > 0 {
		t.Errorf("after down there are left: %v", left)
	}
}

// checkPage brings the results page up, and asks it from this machine.
func (p *project) checkPage(ctx context.Context, t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	p.set("CHAOS_PAGE_PORT", strconv.Itoa(addr.Port))
	if out, err := p.call(ctx, "--profile", "page", "up", "--detach", "page").CombinedOutput(); err != nil {
		t.Errorf("up page: %v: %s", err, out)
		return
	}
	url := "http://" + addr.String() + "/"
	status, body, err := get(ctx, url, p.token(ctx, t, "page"))
	for range 100 { // until it listens
		if err == nil {
			break
		}
		time.Sleep(200 * time.Millisecond)
		status, body, err = get(ctx, url, p.token(ctx, t, "page"))
	}
	if err != nil || status != http.StatusOK || !bytes.Contains(body, []byte("pause-after-acquire")) {
		t.Errorf("the page: status %d, %v: %s", status, err, tail(body, 20))
	}
	if status, _, err := get(ctx, url, "wrong"); err != nil || status != http.StatusUnauthorized {
		t.Errorf("the page with a wrong password: status %d, %v", status, err)
	}
}

func get(ctx context.Context, url, password string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	req.SetBasicAuth("anybody", password)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// An interrupt in the middle of a run, and the script takes everything down by
// itself; what was done by then is told of.
func (p *project) testInterrupted(ctx context.Context, t *testing.T) {
	p.results = filepath.Join(t.TempDir(), "runs")
	p.set("CHAOS_RESULTS", p.results)
	j := begin(t, p.command(ctx, "compose/run.sh", "full", "--jobs", "1"))
	verdict := func() bool {
		done, _ := filepath.Glob(filepath.Join(p.results, "*", "*", "*", "*", results.VerdictFile)) // the pattern is well formed
		return len(done) > 0
	}
	if !j.until(ctx, verdict) {
		t.Error("no run was done")
	} else if len(p.left(t)) == 0 {
		t.Error("nothing was seen of the stack: the test looks in the wrong place")
	}
	start := time.Now()
	j.interrupt(t)
	code := j.wait()
	t.Logf("down %s after the interrupt", time.Since(start).Round(time.Second))
	if code != results.ExitInterrupted {
		t.Errorf("exit code %d, expected %d; the end of what it said:\n%s", code, results.ExitInterrupted, tail(j.out.Bytes(), 60))
	}
	if left := p.left(t); len(left) > 0 {
		t.Errorf("after an interrupt there are left: %v", left)
	}
	if _, s := p.summary(t); s != nil && (s.World != "remote" || len(s.Runs) == 0) {
		t.Errorf("after an interrupt the summary is of world %s and tells of %d runs", s.World, len(s.Runs))
	}
}

// The results directory of somebody else is not taken from them.
func TestForeignResults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile("setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/run/lockchaos/", dir+"/", "/lockchaos/results/runs", dir, "/tmp/ready", dir+"/ready").Replace(string(script))
	if strings.Count(text, dir) < 3 {
		t.Fatalf("the script does not say where what is:\n%s", text)
	}
	if err := os.Chown(dir, os.Getuid(), os.Getgid()); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // what root has made is made over
		if err := os.Chown(dir, 4711, 4711); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command("sh", "-c", text, "setup.sh", "815", "815").CombinedOutput()
	if os.Getuid() != 0 {
		t.Logf("not as root, the script ends sooner: %s", out)
	} else if exitCode(err) != results.ExitUsage || !strings.Contains(string(out), "CHAOS_UID=4711") {
		t.Errorf("%v, %s; expected exit code %d and what to set", err, out, results.ExitUsage)
	}
}

// checkResults reads what the runner has left on the host.
func (p *project) checkResults(t *testing.T) {
	t.Helper()
	_, s := p.summary(t)
	if s == nil {
		return
	}
	if s.World != "remote" || s.ExitCode != results.ExitExpected {
		t.Errorf("the summary is of world %s, exit code %d; expected remote and %d", s.World, s.ExitCode, results.ExitExpected)
	}
	dirs, err := results.Runs(p.results)
	if err != nil {
		t.Fatal(err)
	}
	faulted := map[string]bool{}
	for _, dir := range dirs {
		run, err := results.OpenRun(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		m := run.Manifest
		if m.World != "remote" || m.Machine.Redis == "" || run.Verdict == nil || !run.AsExpected {
			t.Errorf("%s: world %q, redis %q, as expected %t: %+v", m.Run, m.World, m.Machine.Redis, run.AsExpected, run.Verdict)
		}
		if !m.Control {
			faulted[m.Scenario] = true
		}
	}
	if len(faulted) != len(through) {
		t.Errorf("there are runs of %d scenarios, expected %d: %v", len(faulted), len(through), faulted)
	}
}

// summary is that of the one call of the runner, and where it lies.
func (p *project) summary(t *testing.T) (string, *results.Summary) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.results, "*", results.SummaryFile))
	if err != nil || len(files) != 1 {
		t.Errorf("summaries %v, %v; expected one", files, err)
		return "", nil
	}
	var s results.Summary
	if err := results.Load(filepath.Dir(files[0]), results.SummaryFile, &s); err != nil {
		t.Error(err)
		return "", nil
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Error(err)
	} else if owner := info.Sys().(*syscall.Stat_t).Uid; owner != uint32(p.uid) {
		t.Errorf("%s belongs to user %d, expected %d", files[0], owner, p.uid)
	}
	return filepath.Dir(files[0]), &s
}

func tail(b []byte, lines int) []byte {
	all := bytes.Split(bytes.TrimSpace(b), []byte("\n"))
	return bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))
}
