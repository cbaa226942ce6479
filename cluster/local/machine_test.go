package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"lockchaos/cluster"
)

func gone(pid int) bool {
	st, err := statOf(pid)
	return err != nil || st.state == "Z"
}

// startHarness runs another harness and returns the pids of its children.
func startHarness(t *testing.T, base string) (*exec.Cmd, map[string]int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"=harness", baseVariable+"="+base)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var pids map[string]int
	if err := json.NewDecoder(out).Decode(&pids); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pids["stray"], syscall.SIGKILL) })
	return cmd, pids
}

// TestKilledHarness: the kernel ends the children of a harness that is killed,
// the stopped one too; a sweep ends what was left all the same.
func TestKilledHarness(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	cmd, pids := startHarness(t, base)
	if st, err := statOf(pids["w2"]); err != nil || st.state != "T" {
		t.Fatalf("w2 is to be stopped: %v %v", st, err)
	}

	if s, err := Sweep(base); err != nil || len(s.Dirs)+len(s.Killed) != 0 {
		t.Fatalf("a sweep beside a harness that lives did %+v, %v", s, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for _, name := range []string{"node", "w1", "w2"} {
		until(t, name+" is gone", func() bool { return gone(pids[name]) })
	}
	if gone(pids["stray"]) {
		t.Fatal("the stray process is gone before the sweep")
	}

	m, err := openIn(base)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Swept(); len(s.Dirs) != 1 || len(s.Killed) != 1 || !strings.HasPrefix(s.Killed[0], "stray") {
		t.Errorf("swept %+v, want one directory and the stray process", s)
	}
	until(t, "the stray process is gone", func() bool { return gone(pids["stray"]) })
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(base); len(left) != 0 {
		t.Errorf("left in the base directory: %v", left)
	}
}

// deadDir writes a work directory of a harness that is dead for sure: a zombie's
// pid is in use, but its start time is not what the journal says.
func deadDir(t *testing.T, base string, tail string, children ...entry) string {
	t.Helper()
	dir := filepath.Join(base, fmt.Sprintf("%d-1", os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range append([]entry{{What: "harness", PID: os.Getpid(), Start: 1}}, children...) {
		e.Boot = bootID()
		line, _ := json.Marshal(e)
		fmt.Fprintf(&b, "%s\n", line)
	}
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte(b.String()+tail), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// sleeper is a process in a group of its own that nothing ends but a signal.
func sleeper(t *testing.T, env ...string) (*exec.Cmd, procStat) {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	st, err := statOf(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return cmd, st
}

func TestSweepSparesReusedPID(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	cmd, st := sleeper(t)
	other, ost := sleeper(t)
	dir := deadDir(t, base, `{"what":"trunca`,
		entry{What: "reused", PID: cmd.Process.Pid, Start: st.start - 1},
		entry{What: "left", PID: other.Process.Pid, Start: ost.start})
	s, err := Sweep(base)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("left (pid %d)", other.Process.Pid); !slices.Equal(s.Killed, []string{want}) {
		t.Errorf("killed %v, want %s", s.Killed, want)
	}
	if gone(cmd.Process.Pid) {
		t.Error("a process with a reused pid was killed")
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory is there still:", err)
	}
}

// TestSweepFindsMarkedOnes: the child is dead, another of its group is not.
func TestSweepFindsMarkedOnes(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, fmt.Sprintf("%d-1", os.Getpid()))
	cmd, st := sleeper(t, markName+"="+dir)
	deadDir(t, base, "", entry{What: "its parent", PID: cmd.Process.Pid, Start: st.start - 1})
	s, err := Sweep(base)
	if err != nil || len(s.Killed) != 1 {
		t.Errorf("killed %v, %v; want the marked process", s.Killed, err)
	}
}

func TestSweepOfBrokenJournals(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	pid := ended.Process.Pid
	for name, journal := range map[string]string{
		fmt.Sprintf("%d-1", pid):  "no json\n",
		fmt.Sprintf("%d-2", pid):  "",
		fmt.Sprintf(".%d-3", pid): "-",
		"something":               "-",
	} {
		dir := filepath.Join(base, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if journal == "-" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, journalName), []byte(journal), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Sweep(base); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(base)
	if err != nil || len(left) != 1 || left[0].Name() != "something" {
		t.Errorf("left are %v, %v; want only what is not ours", left, err)
	}
}

func TestTwoHarnessesSideBySide(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	a, err := openIn(base)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := openIn(base)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(a.Dir()); err != nil {
		t.Error("the second has swept the first:", err)
	}
	if err := errors.Join(b.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(a.Dir()); err != nil {
		t.Error(err)
	}
}

func TestSpawnAndKill(t *testing.T) {
	t.Parallel()
	m := open(t)
	// In the background, as a shell that has made a child by vfork stands still, but not
	// in state T, while the child is stopped before its exec.
	p, err := m.spawn.spawn("shell", exec.Command("sh", "-c", "sleep 1000 & sleep 1000 & wait"))
	if err != nil {
		t.Fatal(err)
	}
	var group []int
	until(t, "the group has three members", func() bool {
		group, err = groupOf(p.pid)
		return err == nil && len(group) == 3
	})
	ctx := deadline(t)
	if proof, err := p.pause(ctx); err != nil || !strings.HasPrefix(proof, "process state T") {
		t.Error(proof, err)
	}
	if proof, err := p.resume(ctx); err != nil || !strings.HasPrefix(proof, "process state") {
		t.Error(proof, err)
	}
	if proof, err := p.crash(ctx); err != nil || !strings.HasPrefix(proof, "signal: killed") {
		t.Error(proof, err)
	}
	for _, pid := range group {
		until(t, "all of the group are gone", func() bool { return gone(pid) })
	}
	if _, err := p.pause(ctx); !errors.Is(err, errEnded) {
		t.Error("pause after the end:", err)
	}
	if _, err := m.spawn.spawn("nothing", exec.Command("/no/such/program")); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Error("want an error that names the program:", err)
	}
}

// TestLeaderEnds: what a child leaves in its group ends with it.
func TestLeaderEnds(t *testing.T) {
	t.Parallel()
	m := open(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "sleep 1000 & echo $!")
	cmd.Stdout = w
	p, err := m.spawn.spawn("shell", cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	var pid int
	if _, err := fmt.Fscan(r, &pid); err != nil {
		t.Fatal(err)
	}
	until(t, "the grandchild is gone", func() bool { return gone(pid) })
	if p.exit() != "exit status 0" {
		t.Error(p.exit())
	}
}

func TestNoRedis(t *testing.T) {
	t.Setenv(redisVariable, "/no/such/redis-server")
	m := open(t)
	_, err := m.Up(context.Background(), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}})
	if !errors.Is(err, ErrNoRedis) || !strings.Contains(err.Error(), "apt-get install redis-server") ||
		!strings.Contains(err.Error(), "--on sim") {
		t.Error(err)
	}
	if _, err := m.Version(context.Background()); !errors.Is(err, ErrNoRedis) {
		t.Error(err)
	}
	t.Setenv(redisVariable, "")
	t.Setenv("PATH", "/nowhere")
	if _, err := m.Version(context.Background()); !errors.Is(err, ErrNoRedis) {
		t.Error(err)
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	v, err := open(t).Version(context.Background())
	if err != nil || !strings.Contains(v, "v=") {
		t.Errorf("%q %v", v, err)
	}
}
