package local

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// serverHas waits until a server, mostly of initdb, in a work directory has pieces
// of shared memory, and names them and the server.
func serverHas(t *testing.T, work string, pieces int) (pid int, names []string) {
	t.Helper()
	s := sweep{dir: work, boot: bootID()}
	until(t, "a server has shared memory", func() bool {
		for _, e := range s.servers() {
			names = posixOf(e.PID)
			slices.Sort(names)
			if names = slices.Compact(names); len(names) >= pieces {
				pid = e.PID
				return true
			}
		}
		return false
	})
	return pid, names
}

func left(names []string) (there []string) {
	for _, name := range names {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			there = append(there, name)
		}
	}
	return there
}

// An initdb that is broken off leaves no shared memory, and the next one goes well.
func TestPostgresTemplateBrokenOff(t *testing.T) {
	t.Parallel()
	m := openRoad(t)
	for _, pieces := range []int{1, 2, 2} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- m.PreparePostgres(ctx) }()
		_, names := serverHas(t, m.Dir(), pieces)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the preparation ended with %v", err)
		}
		if l := left(names); len(l) > 0 {
			t.Errorf("of %v is left %v", names, l)
		}
		if found, _ := filepath.Glob(filepath.Join(m.Dir(), "postgres-*")); len(found) > 0 {
			t.Errorf("left in the work directory: %v", found)
		}
	}
	if err := m.PreparePostgres(context.Background()); err != nil {
		t.Error(err)
	}
}

func init() {
	parts["initdb"] = func() {
		m, err := openIn(os.Getenv(baseVariable))
		if err == nil {
			err = m.PreparePostgres(context.Background())
		}
		if err != nil {
			panic(err)
		}
		select {}
	}
}

// The next harness removes what one that was killed had noted.
func TestPostgresTemplateOfKilledHarness(t *testing.T) {
	t.Parallel()
	base := road(t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), partVariable+"=initdb", baseVariable+"="+base)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid, names := serverHas(t, base, 2)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the harness has noted it", func() bool {
		found, _ := filepath.Glob(filepath.Join(base, "*", posixList))
		if len(found) == 0 {
			return false
		}
		list, err := readPosix(found[0])
		return err == nil && !slices.ContainsFunc(names, func(n string) bool { return !slices.Contains(list, n) })
	})
	// The harness is stopped before it could see the end of its initdb.
	if err := errors.Join(cmd.Process.Signal(syscall.SIGSTOP), syscall.Kill(pid, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	until(t, "the server is gone", func() bool { return gone(pid) })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	sweepsUp(t, base, pid, names)
}

// A server that outlived its harness, of which nothing was noted.
func TestSweepFindsPosixShared(t *testing.T) {
	t.Parallel()
	m, err := postgresMachine()
	if err != nil {
		t.Fatal(err)
	}
	base := road(t)
	dir := deadDir(t, base, "")
	data := filepath.Join(dir, "data")
	template := &m.template
	if err := errors.Join(letIn(template.servant, base, dir), template.copy(data)); err != nil {
		t.Fatal(err)
	}
	cmd := template.command(m, "postgres", "--single", "-D", data, "template1")
	if _, err := cmd.StdinPipe(); err != nil { // it waits for what is typed
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	pid, names := serverHas(t, base, 2)
	sweepsUp(t, base, pid, names)
}

// sweepsUp is the sweep of what is there before and not after.
func sweepsUp(t *testing.T, base string, pid int, names []string) {
	t.Helper()
	if l := left(names); len(l) != len(names) {
		t.Fatalf("of %v there is %v before the sweep", names, l)
	}
	if _, err := Sweep(base); err != nil {
		t.Error(err)
	}
	if l := left(names); !gone(pid) || len(l) > 0 {
		t.Errorf("of %v is left %v; process %d gone: %v", names, l, pid, gone(pid))
	}
	if dirs, _ := os.ReadDir(base); len(dirs) > 0 {
		t.Errorf("left in the base directory: %v", dirs)
	}
}
