package results

import (
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lockchaos/scenario"
)

// Manifest says what was run, where, and with what: all that is needed to run
// it again and to judge it without anything else.
type Manifest struct {
	Version int    `json:"version"`
	Run     string `json:"run"` // the run's path within the results
	Key

	World   string    `json:"world"`
	Seed    int64     `json:"seed"`
	Started time.Time `json:"started"`
	// Ended is absent where the harness was ended before the run.
	Ended *time.Time `json:"ended,omitempty"`
	// Error is what stopped the run, where it was not judged.
	Error string `json:"error,omitempty"`
	// Dropped says that the harness was interrupted in the run, so its error tells of
	// nothing else.
	Dropped bool `json:"dropped,omitempty"`
	// Spoilt is how often the run was done before, and its history put aside (SpoiltFiles),
	// because the harness or a host had stood still in it, with nothing done to it.
	Spoilt int `json:"spoilt,omitempty"`
	// Suite is what it is part of; Canary says that the suite must find it violated.
	Suite  string `json:"suite,omitempty"`
	Canary bool   `json:"canary,omitempty"`
	// Repeat is the command that runs it again.
	Repeat string `json:"repeat"`

	System string `json:"system"`
	// Options are the scenario with every default filled in.
	Options json.RawMessage `json:"options"`
	// LockOptions are all options of the lock system and of its Redis client, with
	// the values in effect: the libraries' own where the scenario sets none. Absent
	// for an external host.
	LockOptions map[string]any  `json:"lock_options,omitempty"`
	Expect      scenario.Expect `json:"expect"`
	// Machine is what it ran on.
	Machine Machine `json:"machine"`
}

// ManifestVersion is the version of the manifest's format.
const ManifestVersion = 1

// Machine is what a run ran on.
type Machine struct {
	Commit string `json:"commit,omitempty"`
	Dirty  bool   `json:"dirty,omitempty"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	Kernel string `json:"kernel"`
	CPUs   int    `json:"cpus"`
	Redis  string `json:"redis"`
	// Clock is by what clocks are set; only of a run that sets one.
	Clock string `json:"clock,omitempty"`
	// Postgres is absent where no run of the batch used it.
	Postgres string            `json:"postgres,omitempty"`
	Modules  map[string]string `json:"modules"`
}

// Commit is set when the program is linked (-ldflags -X), for builds without
// version control information.
var Commit string

// modules are those whose versions a verdict may hang on.
var modules = []string{
	"github.com/go-redsync/redsync/v4", "github.com/redis/go-redis/v9",
	"github.com/Shopify/toxiproxy/v2", "github.com/anishathalye/porcupine",
	"github.com/jackc/pgx/v5",
}

// ThisMachine describes the machine; redis is what redis-server says of itself.
func ThisMachine(redis string) Machine {
	m := Machine{
		Go: runtime.Version(), OS: osName(), Kernel: kernel(), CPUs: runtime.NumCPU(),
		Redis: redis, Modules: map[string]string{}, Commit: Commit,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			m.Commit = s.Value
		case "vcs.modified":
			m.Dirty = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		for _, name := range modules {
			if d.Path == name {
				m.Modules[name] = d.Version
			}
		}
	}
	return m
}

func osName() string {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return runtime.GOOS
	}
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return runtime.GOOS
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}
