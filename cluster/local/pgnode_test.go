package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"lockchaos/cluster"
)

var pgSpec = cluster.Spec{
	Nodes: []cluster.NodeSpec{{Name: "n1"}, {Name: cluster.Resource, Kind: cluster.KindPostgres}},
	Hosts: []cluster.HostSpec{{Name: "w1"}},
}

// postgresMachine is one for all tests that need no machine of their own: its
// first server costs a second, the others less.
var postgresMachine = sync.OnceValues(func() (*Machine, error) {
	m, err := Open(context.Background())
	if err == nil {
		postgresOpened = m
		err = m.PreparePostgres(context.Background()) // past the deadline of a test
	}
	return m, err
})

// postgresOpened is to be closed after the tests; nil where none used it.
var postgresOpened *Machine

// openRoad opens a machine in a directory that other users can get to, as
// those of tests are not.
func openRoad(tb testing.TB) *Machine {
	tb.Helper()
	m, err := openIn(road(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := m.Close(); err != nil {
			tb.Error("close:", err)
		}
	})
	return m
}

func road(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		tb.Fatal(err)
	}
	return dir
}

func upPostgres(tb testing.TB) *Cluster {
	tb.Helper()
	m, err := postgresMachine()
	if err != nil {
		tb.Fatal(err)
	}
	c, err := m.Up(deadline(tb), pgSpec)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := c.Close(); err != nil {
			tb.Error("close:", err)
		}
	})
	return c
}

func connect(ctx context.Context, addr string) (*pgx.Conn, error) {
	return pgx.Connect(ctx, fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", cluster.PostgresUser, addr, cluster.PostgresDatabase))
}

// sql asks a server over a connection of its own.
func sql(ctx context.Context, addr, text string) (string, error) {
	conn, err := connect(ctx, addr)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	var s string
	err = conn.QueryRow(ctx, text).Scan(&s)
	return s, err
}

func addresses(tb testing.TB, c *Cluster) (direct, linked string) {
	tb.Helper()
	direct, err := c.NodeAddr(cluster.Resource)
	if err != nil {
		tb.Fatal(err)
	}
	if linked, err = c.LinkAddr("w1", cluster.Resource); err != nil {
		tb.Fatal(err)
	}
	return direct, linked
}

// processesOf lists the server with its children.
func processesOf(tb testing.TB, c *Cluster) []int {
	tb.Helper()
	pid := c.postgres[cluster.Resource].proc.pid
	pids, err := childrenOf(pid)
	if err != nil || len(pids) < 3 {
		tb.Fatalf("children of the server: %v, %v", pids, err)
	}
	return append(pids, pid)
}

func shared(tb testing.TB, dir string) int {
	tb.Helper()
	id := readPostmaster(dir).shmid
	if !segment(id) {
		tb.Fatalf("the server has no shared memory: segment %d", id)
	}
	return id
}

func segment(id int) bool {
	var seg unix.SysvShmDesc
	_, err := unix.SysvShmCtl(id, unix.IPC_STAT, &seg)
	return err == nil
}

// A node has its settings, stops with all its backends, and is itself again
// after a crash.
func TestPostgresNode(t *testing.T) {
	t.Parallel()
	c := upPostgres(t)
	ctx := deadline(t)
	direct, linked := addresses(t, c)
	for setting, want := range map[string]string{"synchronous_commit": "on", "fsync": "off", "shared_buffers": "16MB", "listen_addresses": "127.0.0.1"} {
		if got, err := sql(ctx, linked, "SHOW "+setting); got != want {
			t.Errorf("%s is %q, want %q: %v", setting, got, want, err)
		}
	}
	conn, err := connect(ctx, direct) // with a backend that stops, too
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "CREATE TABLE kept AS SELECT 'kept' AS v"); err != nil {
		t.Fatal(err)
	}
	proof, err := c.PauseNode(ctx, cluster.Resource)
	if err != nil || !strings.HasPrefix(proof, "process state T") || !strings.Contains(proof, "children") {
		t.Fatal(proof, err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := conn.Exec(short, "SELECT 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("a stopped backend answers:", err)
	}
	if _, err := c.Link("w1", cluster.Resource).Probe(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("a stopped server answers:", err)
	}
	if proof, err := c.ResumeNode(ctx, cluster.Resource); err != nil || strings.Contains(proof, "state T") {
		t.Fatal(proof, err)
	}
	if _, err := c.Link("w1", cluster.Resource).Probe(ctx); err != nil {
		t.Error(err)
	}
	crashAndStart(t, c, direct, linked)
	if _, err := c.Command(ctx, cluster.Resource, "PING"); err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Error("a Redis command:", err)
	}
}

func crashAndStart(t *testing.T, c *Cluster, direct, linked string) {
	t.Helper()
	ctx := deadline(t)
	if proof, err := c.StartNode(ctx, cluster.Resource); err == nil {
		t.Error("started while it runs:", proof)
	}
	pids := processesOf(t, c)
	proof, err := c.CrashNode(ctx, cluster.Resource)
	if err != nil || !strings.HasPrefix(proof, "signal: killed") || !strings.HasSuffix(proof, "connect refused") {
		t.Fatal(proof, err)
	}
	for _, pid := range pids {
		if !gone(pid) {
			t.Errorf("process %d has outlived the crash", pid)
		}
	}
	if _, err := c.CrashNode(ctx, cluster.Resource); !errors.Is(err, errEnded) {
		t.Error("crashed twice:", err)
	}
	if _, err := c.PauseNode(ctx, cluster.Resource); !errors.Is(err, errEnded) {
		t.Error("stopped after its end:", err)
	}
	if proof, err := c.StartNode(ctx, cluster.Resource); err != nil || !strings.Contains(proof, "→") {
		t.Fatal(proof, err)
	}
	if got, err := sql(ctx, linked, "SELECT v FROM kept"); got != "kept" {
		t.Errorf("after the restart %q, %v", got, err)
	}
	if now, _ := addresses(t, c); now != direct {
		t.Errorf("the address is %s, and was %s", now, direct)
	}
}

// Nothing of a server is left when its cluster is closed, whatever state it is in.
func TestPostgresClose(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"running", "stopped", "crashed"} {
		ctx := deadline(t)
		c := upPostgres(t)
		var err error
		pids, id := processesOf(t, c), shared(t, c.postgres[cluster.Resource].dir)
		switch state {
		case "stopped":
			_, err = c.PauseNode(ctx, cluster.Resource)
		case "crashed":
			_, err = c.CrashNode(ctx, cluster.Resource)
		}
		if err := errors.Join(err, c.Close(), c.Close()); err != nil {
			t.Errorf("%s: %v", state, err)
		}
		for _, pid := range pids {
			if !gone(pid) {
				t.Errorf("%s: process %d is left", state, pid)
			}
		}
		if segment(id) {
			t.Errorf("%s: shared memory segment %d is left", state, id)
		}
		if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %s is left: %v", state, c.dir, err)
		}
		if _, err := c.NodeAddr(cluster.Resource); err == nil {
			t.Errorf("%s: a closed node has an address", state)
		}
	}
}

// playPostgres is a harness with a Postgres node, stopped if it is so asked. It
// says which processes it has, and waits to be killed.
func playPostgres() {
	m, err := openIn(os.Getenv(baseVariable))
	if err != nil {
		panic(err)
	}
	if err := m.PreparePostgres(context.Background()); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	c, err := m.Up(ctx, pgSpec)
	if err != nil {
		panic(err)
	}
	n := c.postgres[cluster.Resource]
	pids, err := leaders(ctx, n.proc.pid)
	if err == nil && os.Getenv(stoppedVariable) != "" {
		_, err = c.PauseNode(ctx, cluster.Resource)
	}
	st, serr := sql(ctx, n.port.addr(), "SELECT pg_postmaster_start_time()::text")
	if os.Getenv(stoppedVariable) == "" && (serr != nil || st == "") {
		panic(serr)
	}
	if err != nil {
		panic(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(pgReport{append(pids, n.proc.pid), readPostmaster(n.dir).shmid})
	if os.Getenv(endVariable) != "" {
		if err := m.Close(); err != nil {
			panic(err)
		}
		return
	}
	select {}
}

// leaders lists the children of a server once each is in a group of its own: what
// is stopped before that ends with the server, by the kernel's SIGHUP for a group
// that nobody is left to continue.
func leaders(ctx context.Context, server int) (pids []int, err error) {
	err = poll(ctx, func() (bool, error) {
		if pids, err = childrenOf(server); err != nil {
			return false, err
		}
		led := func(pid int) bool { st, err := statOf(pid); return err == nil && st.group == pid }
		return len(pids) > 0 && !slices.ContainsFunc(pids, func(pid int) bool { return !led(pid) }), nil
	})
	return pids, err
}

type pgReport struct {
	PIDs    []int
	Segment int
}

const (
	stoppedVariable = "LOCKCHAOS_TEST_STOPPED"
	endVariable     = "LOCKCHAOS_TEST_END"
)

func init() { parts["postgres"] = playPostgres }

// A harness that is killed takes its server with it; what was stopped at that
// time is found by the next.
func TestPostgresOfKilledHarness(t *testing.T) {
	t.Parallel()
	for _, stopped := range []string{"", "yes"} {
		base := road(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), partVariable+"=postgres", baseVariable+"="+base, stoppedVariable+"="+stopped)
		report := startPart(t, cmd)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if stopped == "" {
			for _, pid := range report.PIDs {
				until(t, "the server is gone", func() bool { return gone(pid) })
			}
		} else if gone(report.PIDs[0]) {
			t.Error("a stopped process has ended: the sweep has nothing to do")
		}
		m, err := openIn(base)
		if err != nil {
			t.Fatal(err)
		}
		children := 0 // the server itself may be dying still
		for _, killed := range m.Swept().Killed {
			if strings.HasPrefix(killed, "process of a postgres") {
				children++
			}
		}
		if want := len(report.PIDs) - 1; stopped != "" && children != want {
			t.Errorf("swept %v, want %d children of the server", m.Swept(), want)
		}
		for _, pid := range report.PIDs {
			if !gone(pid) {
				t.Errorf("process %d is left", pid)
			}
		}
		if segment(report.Segment) {
			t.Errorf("shared memory segment %d is left", report.Segment)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(base); len(left) != 0 {
			t.Errorf("left in the base directory: %v", left)
		}
	}
}

func startPart(t *testing.T, cmd *exec.Cmd) pgReport {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var r pgReport
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		_ = cmd.Wait()
		t.Fatalf("the other harness says nothing: %v\n%s", err, said.String())
	}
	go io.Copy(io.Discard, out)
	return r
}

// Who is not root runs the server as himself.
func TestPostgresAsSomebody(t *testing.T) {
	t.Parallel()
	base := road(t)
	cmd := exec.Command(os.Args[0])
	if os.Getuid() == 0 {
		const nobody = 65534
		program := filepath.Join(base, "test") // the test's own directory is closed to others
		// No other test may fork meanwhile: until its child's exec, that would hold the
		// program open for writing, too, and such a program cannot be run.
		syscall.ForkLock.RLock()
		err := copyFile(os.Args[0], program)
		syscall.ForkLock.RUnlock()
		if err := errors.Join(err, os.Chmod(program, 0o755), os.Chown(base, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		base = filepath.Join(base, "work")
		cmd = exec.Command(program)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Dir = "/"
	}
	cmd.Env = append(os.Environ(), partVariable+"=postgres", baseVariable+"="+base, endVariable+"=yes")
	report := startPart(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, pid := range report.PIDs {
		if !gone(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
	if segment(report.Segment) {
		t.Errorf("shared memory segment %d is left", report.Segment)
	}
	if left, err := os.ReadDir(base); err != nil || len(left) != 0 {
		t.Errorf("left in the base directory: %v %v", left, err)
	}
}

func TestNoPostgres(t *testing.T) {
	t.Setenv(postgresVariable, t.TempDir())
	m := open(t)
	_, err := m.Up(context.Background(), pgSpec)
	if !errors.Is(err, ErrNoPostgres) || !strings.Contains(err.Error(), "apt-get install postgresql") || !strings.Contains(err.Error(), postgresVariable) {
		t.Error(err)
	}
	if _, err := m.PostgresVersion(context.Background()); !errors.Is(err, ErrNoPostgres) {
		t.Error(err)
	}
	// Who has none is not bothered by that while he needs none.
	if _, err := m.Up(context.Background(), cluster.Spec{Nodes: []cluster.NodeSpec{{Name: "n1"}}}); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(m.Dir(), "postgres*")); len(left) > 0 {
		t.Errorf("made all the same: %v", left)
	}
}

func TestPostgresVersion(t *testing.T) {
	t.Parallel()
	v, err := open(t).PostgresVersion(context.Background())
	if err != nil || !strings.HasPrefix(v, "postgres (PostgreSQL) ") {
		t.Errorf("%q %v", v, err)
	}
	for dir, want := range map[string]float64{"/usr/lib/postgresql/15/bin": 15, "/usr/lib/postgresql/9.6/bin": 9.6, "/opt/x/bin": 0} {
		if got := majorOf(dir); got != want {
			t.Errorf("%s has version %v, want %v", dir, got, want)
		}
	}
}

// A directory that the server's user cannot get to is named. Who is not root is
// that user, and can.
func TestPostgresShutOut(t *testing.T) {
	t.Parallel()
	m := open(t) // below a directory that is only for us
	_, err := m.Up(deadline(t), pgSpec)
	if os.Getuid() != 0 {
		if err != nil {
			t.Error(err)
		}
		return
	}
	if !errors.Is(err, ErrPostgresShut) || !strings.Contains(err.Error(), "TMPDIR") || !strings.Contains(err.Error(), "drwx------") {
		t.Error(err)
	}
}

// The link to a Postgres server holds, drops, delays and resets as any other.
func TestPostgresLink(t *testing.T) {
	t.Parallel()
	c := upPostgres(t)
	ctx := deadline(t)
	_, linked := addresses(t, c)
	link := c.Link("w1", cluster.Resource)
	conn, err := connect(ctx, linked)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error { _, err := conn.Exec(ctx, "SELECT 1"); return err }

	if err := link.Apply(ctx, "one", cluster.Rule{Commands: []string{"SELECT"}}); err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Error("a rule with commands:", err)
	}
	for _, direction := range []cluster.Direction{cluster.Requests, cluster.Replies} {
		before := link.Counts()
		if err := link.Apply(ctx, "hold", cluster.Rule{Direction: direction}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- ask() }()
		until(t, "bytes are held", func() bool { return link.Counts().HeldBytes > before.HeldBytes })
		if now := link.Counts(); now.ReplyBytes != before.ReplyBytes {
			t.Errorf("%s: %d bytes of replies have come through", direction, now.ReplyBytes-before.ReplyBytes)
		}
		if err := errors.Join(link.Lift(ctx, "hold"), <-done); err != nil {
			t.Error(direction, err)
		}
	}
	start := time.Now()
	if err := errors.Join(link.Delay(ctx, "slow", 20*time.Millisecond, 0), ask(), link.Undelay(ctx, "slow")); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took < 40*time.Millisecond {
		t.Errorf("with a delay of 20 ms each way it took %s", took)
	}
	if n, err := link.Reset(ctx); n != 1 || err != nil {
		t.Errorf("%d connections reset, %v", n, err)
	}
	if err := ask(); err == nil {
		t.Error("an answer over a connection that was reset")
	}
	cutOff(t, link, linked)
}

func cutOff(t *testing.T, link cluster.Link, addr string) {
	t.Helper()
	ctx := deadline(t)
	if err := link.Apply(ctx, "cut", cluster.Rule{Drop: true}); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	if _, err := link.Probe(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Error("a cut link answers:", err)
	}
	if err := link.Lift(ctx, "cut"); err != nil {
		t.Error(err)
	}
	if _, err := link.Probe(ctx); err != nil {
		t.Error(err)
	}
	if got, err := sql(ctx, addr, "SELECT 'whole'"); got != "whole" {
		t.Error(got, err)
	}
}

// A probe wants the answer of a Postgres server, not of any.
func TestProbeOfAnother(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "+PONG\r\n")
			_ = c.Close()
		}
	}()
	if err := askForTLS(deadline(t), "", ln.Addr().String()); err == nil {
		t.Error("a probe is content with +PONG")
	}
}

// BenchmarkPostgres measures the way up and down: the machine's first node, with
// initdb, and those after it.
func BenchmarkPostgres(b *testing.B) {
	m := openRoad(b)
	ctx := context.Background()
	start := time.Now()
	if _, err := m.template.get(ctx, m); err != nil {
		b.Fatal(err)
	}
	b.Logf("initdb: %s", time.Since(start))
	for b.Loop() {
		c, err := m.Up(ctx, cluster.Spec{Nodes: pgSpec.Nodes[1:]})
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
