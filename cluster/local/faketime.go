package local

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// clocksVariable names the environment variable that picks the means by hand.
const clocksVariable = "LOCKCHAOS_CLOCKS"

// The means by which clocks are set.
const (
	byFaketime = "libfaketime"
	byShift    = "ttl-shift" // every key's TTL is shifted: to a lock, that is the same as a jump
)

// faketimePattern is where distributions put the library.
const faketimePattern = "/usr/lib/*/faketime/libfaketimeMT.so.1"

// clockMeans is how the clocks of nodes are set: by shifting TTLs where it has no library.
type clockMeans struct {
	lib string
	// libc must follow it in LD_PRELOAD: the library alone calls itself for ever
	// in a server with an allocator of its own.
	libc string
}

// String is what a manifest says of it.
func (m clockMeans) String() string {
	if m.lib == "" {
		return byShift
	}
	return byFaketime + " " + m.lib
}

func findClockMeans() (clockMeans, error) {
	switch how := os.Getenv(clocksVariable); how {
	case "":
		return findFaketime(), nil
	case byShift:
		return clockMeans{}, nil
	case byFaketime:
		m := findFaketime()
		if m.lib == "" {
			return m, &SettingError{fmt.Errorf("%s is %q, and there is no %s: install it (apt-get install libfaketime)", clocksVariable, how, faketimePattern)}
		}
		return m, nil
	default:
		return clockMeans{}, &SettingError{fmt.Errorf("%s is %q, expected %s, %s or nothing", clocksVariable, how, byFaketime, byShift)}
	}
}

// findFaketime looks for a library that was built for this kind of machine:
// others may lie beside it.
func findFaketime() clockMeans {
	ours, err := machineOf("/proc/self/exe")
	if err != nil {
		return clockMeans{}
	}
	libs, _ := filepath.Glob(faketimePattern) // the pattern is well formed
	for _, lib := range libs {
		libc := filepath.Join(filepath.Dir(filepath.Dir(lib)), "libc.so.6")
		if m, err := machineOf(lib); err != nil || m != ours {
			continue
		}
		if _, err := os.Stat(libc); err == nil {
			return clockMeans{lib, libc}
		}
	}
	return clockMeans{}
}

func machineOf(path string) (elf.Machine, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Machine, nil
}

// environment is env with the library in it, and nothing else that sets its clock.
func (m clockMeans) environment(env []string, file string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "FAKETIME") })
	return append(env,
		"LD_PRELOAD="+m.lib+" "+m.libc,
		"FAKETIME_TIMESTAMP_FILE="+file,
		"FAKETIME_NO_CACHE=1", // the file is read each time that the clock is
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
}

// removeShared removes the shared memory that libfaketime makes for each process
// and leaves behind when the process is killed. The process does not need the
// names: they are for children that it might start.
func removeShared(pid int) {
	for _, name := range []string{"faketime_shm_%d", "sem.faketime_sem_%d"} {
		_ = os.Remove(filepath.Join("/dev/shm", fmt.Sprintf(name, pid))) // mostly it is gone
	}
}
