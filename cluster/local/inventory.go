package local

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Part is something that runs on this machine can use.
type Part struct {
	Name string
	For  string // what it makes possible
	// Found is its version or place; empty where it is missing, and Get says how to get it.
	Found, Get string
	Needed     bool // no run on real servers without it
}

// Inventory looks for everything that a run can use.
func Inventory(ctx context.Context) []Part {
	redis := Part{Name: "redis-server", For: "all runs on real servers; it is the Sentinels, too", Get: "apt-get install redis-server", Needed: true}
	if path, err := findRedis(); err == nil {
		redis.Found = firstLine(ctx, path, "--version")
	}
	postgres := Part{Name: "postgres", For: "scenarios with resource: postgres, real servers only", Get: "apt-get install postgresql"}
	if dir, err := findPostgres(); err == nil {
		postgres.Found = firstLine(ctx, filepath.Join(dir, "postgres"), "--version")
	}
	return []Part{
		redis,
		program(ctx, "python3", "the example host in examples/hosts/", "apt-get install python3", "--version"),
		{Name: "libfaketime", For: "clock faults on real servers; without it clocks jump by shifting TTLs, and have no rate",
			Get: "apt-get install libfaketime", Found: findFaketime().lib},
		postgres,
	}
}

func program(ctx context.Context, name, what, get string, args ...string) Part {
	p := Part{Name: name, For: what, Get: get}
	if path, err := exec.LookPath(name); err == nil {
		p.Found = firstLine(ctx, path, args...)
	}
	return p
}

// firstLine is the first line that a program prints, or its path.
func firstLine(ctx context.Context, path string, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).Output()
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || line == "" {
		return path
	}
	return line
}
