package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// procStat is what /proc/PID/stat says of a process or thread.
type procStat struct {
	state  string // R running, S sleeping, T stopped, Z zombie, …
	parent int
	group  int
	start  uint64 // in clock ticks since boot: with the pid, it names a process for good
}

func readStat(path string) (procStat, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return procStat{}, err
	}
	// The second field is the command in parentheses, with any characters in it.
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 20 {
		return procStat{}, fmt.Errorf("%s: %d fields are too few", path, len(f))
	}
	parent, err := strconv.Atoi(f[1])
	if err != nil {
		return procStat{}, fmt.Errorf("%s: parent: %w", path, err)
	}
	group, err := strconv.Atoi(f[2])
	if err != nil {
		return procStat{}, fmt.Errorf("%s: process group: %w", path, err)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return procStat{}, fmt.Errorf("%s: start time: %w", path, err)
	}
	return procStat{state: f[0], parent: parent, group: group, start: start}, nil
}

func statOf(pid int) (procStat, error) { return readStat(fmt.Sprintf("/proc/%d/stat", pid)) }

// groupOf lists the processes of a group that are not zombies.
func groupOf(pgid int) ([]int, error) {
	return processes(func(st procStat) bool { return st.group == pgid })
}

// childrenOf lists the children of a process that are not zombies.
func childrenOf(pid int) ([]int, error) {
	return processes(func(st procStat) bool { return st.parent == pid })
}

func processes(want func(procStat) bool) ([]int, error) {
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, dir := range dirs {
		st, err := readStat(dir + "/stat")
		if err != nil { // ended meanwhile
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && want(st) && st.state != "Z" {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// threadStates are the states of all threads of processes, as "T", "S", ….
func threadStates(pids []int) ([]string, error) {
	var states []string
	for _, pid := range pids {
		paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			st, err := readStat(path)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
				continue // the thread has ended
			}
			if err != nil {
				return nil, err
			}
			states = append(states, st.state)
		}
	}
	return states, nil
}

// bootID tells one run of the machine from another.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}
