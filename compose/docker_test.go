package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// engine sees that there is a Docker engine. Without one there is nothing to
// test, which is said aloud. On CI, where a test that is left out would be taken
// for one that has passed, only a machine without Docker at all is excused.
func engine(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("docker")
	if err != nil {
		excuse(t, "the command docker is not installed (apt-get install docker.io)")
	}
	out, err := exec.Command("docker", "version", "--format", "{{.Server.Version}}").CombinedOutput()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatalf("there is Docker, but no engine answers, and on CI this test is not left out:\n%s", out)
	default:
		excuse(t, "no Docker engine answers: "+string(out))
	}
}

func excuse(t *testing.T, why string) {
	t.Helper()
	fmt.Fprintf(os.Stderr, "\n*** THE STACK OF compose/ IS NOT TESTED: %s\n\n", why)
	t.Skip(why)
}

// untilSignal is a context that ends with an interrupt, so that the test clears
// away what it has brought up, and in time before go test ends the process.
func untilSignal(t *testing.T) context.Context {
	t.Helper()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	t.Cleanup(stop)
	if end, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-time.Minute))
		t.Cleanup(cancel)
	}
	return ctx
}

// project is a stack of a test's own, beside whatever else the engine has.
type project struct {
	name     string
	image    string
	results  string // on the host
	uid, gid int    // of the containers
	env      []string
	compose  []string // the command
	files    []string
}

// set sets a variable of the environment.
func (p *project) set(name, value string) { p.env = append(p.env, name+"="+value) }

// command is a call of Compose, or of a script that calls it.
func (p *project) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = ".." // the root of the project, as in the README
	cmd.Env = append(os.Environ(), p.env...)
	// Out of the terminal's group: Compose is interrupted once, by us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 40 * time.Second
	return cmd
}

func (p *project) docker(ctx context.Context, t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		t.Fatalf("docker %s: %v: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String()
}

// left lists the containers, networks and volumes that the project has.
func (p *project) left(t *testing.T) []string {
	t.Helper()
	var all []string
	filter := "label=com.docker.compose.project=" + p.name
	for _, kind := range []string{"container", "network", "volume"} {
		args := []string{kind, "ls", "-q", "--filter", filter}
		if kind == "container" {
			args = append(args, "--all")
		}
		for _, id := range strings.Fields(p.docker(context.Background(), t, args...)) {
			all = append(all, kind+" "+id)
		}
	}
	return all
}

// running tells whether a service's container is.
func (p *project) running(ctx context.Context, t *testing.T, service string) bool {
	t.Helper()
	return p.container(ctx, t, service) != ""
}

// exec runs a program in a service's container.
func (p *project) exec(ctx context.Context, t *testing.T, service string, args ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(ctx, "docker", append([]string{"exec", p.container(ctx, t, service)}, args...)...).CombinedOutput()
	return string(out), err
}

// container is the id of a service's container, once it has one.
func (p *project) container(ctx context.Context, t *testing.T, service string) string {
	t.Helper()
	return strings.TrimSpace(p.docker(ctx, t, "container", "ls", "-q", "--filter", "label=com.docker.compose.project="+p.name,
		"--filter", "label=com.docker.compose.service="+service))
}

// newProject makes the images, and a project that is gone with the test.
func newProject(ctx context.Context, t *testing.T) *project {
	t.Helper()
	engine(t)
	p := &project{
		name:    fmt.Sprintf("lockchaos-test-%d-%d", os.Getpid(), time.Now().UnixNano()%1e6),
		results: t.TempDir() + "/runs",
		compose: composeCommand(t),
		files:   []string{"-f", "compose/compose.yaml", "-f", "compose/testdata/test.yaml"},
	}
	p.image = p.name + ":test"
	if p.uid, p.gid = os.Getuid(), os.Getgid(); p.uid == 0 {
		p.uid, p.gid = 1000, 1000
	}
	p.env = images(ctx, t)
	p.set("COMPOSE_PROJECT_NAME", p.name)
	p.set("CHAOS_IMAGE", p.image)
	p.set("COMMIT", p.name)
	p.set("CHAOS_RESULTS", p.results)
	p.set("CHAOS_UID", strconv.Itoa(p.uid))
	p.set("CHAOS_GID", strconv.Itoa(p.gid))
	t.Cleanup(func() { p.clear(t) })
	return p
}

// images are what the image is made of, as compose.yaml takes it. The base is made
// if need be, which takes minutes, and stays for the next time.
func images(ctx context.Context, t *testing.T) []string {
	t.Helper()
	start := time.Now()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "./base-image.sh", "--program")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("base-image.sh: %v", err)
	}
	t.Logf("base image and program after %s", time.Since(start).Round(time.Second))
	return strings.Fields(out.String())
}

// composeCommand is the Compose of this machine, v2 where there are both.
func composeCommand(t *testing.T) []string {
	t.Helper()
	if exec.Command("docker", "compose", "version").Run() == nil {
		return []string{"docker", "compose"}
	}
	if path, err := exec.LookPath("docker-compose"); err == nil {
		return []string{path}
	}
	t.Fatal("there is Docker, but neither docker compose nor docker-compose (apt-get install docker-compose)")
	return nil
}

// clear takes the project down, whatever has become of it, and its image, too.
func (p *project) clear(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
	defer cancel()
	out, err := p.call(ctx, "--profile", "page", "down", "--volumes", "--remove-orphans", "--timeout", "2").CombinedOutput()
	if err != nil {
		t.Errorf("down: %v: %s", err, out)
	}
	if left := p.left(t); len(left) > 0 {
		t.Errorf("after down there are left: %v", left)
	}
	if err := exec.Command("docker", "image", "inspect", p.image).Run(); err == nil {
		p.docker(ctx, t, "image", "rm", "--force", p.image)
	}
	// The builder's stage, which has no name.
	p.docker(ctx, t, "image", "prune", "--force", "--filter", "label=lockchaos.commit="+p.name)
}

// call is a call of Compose with the project's files.
func (p *project) call(ctx context.Context, args ...string) *exec.Cmd {
	all := append(append(append([]string{}, p.compose[1:]...), p.files...), args...)
	return p.command(ctx, p.compose[0], all...)
}

// job is a command that runs.
type job struct {
	cmd  *exec.Cmd
	out  bytes.Buffer // not to be read before its end
	done chan struct{}
	err  error
}

func begin(t *testing.T, cmd *exec.Cmd) *job {
	t.Helper()
	j := &job{cmd: cmd, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &j.out, &j.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		j.err = cmd.Wait()
		close(j.done)
	}()
	return j
}

// until waits for a condition; false where the job has ended before.
func (j *job) until(ctx context.Context, ok func() bool) bool {
	for !ok() {
		select {
		case <-j.done:
			return false
		case <-ctx.Done():
			return false
		case <-time.After(300 * time.Millisecond):
		}
	}
	return true
}

func (j *job) interrupt(t *testing.T) {
	t.Helper()
	if err := j.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
}

// wait waits for the end and returns the exit code.
func (j *job) wait() int {
	<-j.done
	return exitCode(j.err)
}

// exitCode is that of a command that has been waited for.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}
