package local

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// servers lists the processes of Postgres servers in the directory. Those of a
// dead server end by themselves, but not while they are stopped; they are in
// groups of their own and write over their environment, but stand in the
// server's data directory.
func (s *sweep) servers() []entry {
	var list []entry
	paths, _ := filepath.Glob("/proc/[0-9]*/cwd") // the pattern is well formed
	for _, path := range paths {
		proc := filepath.Dir(path)
		cwd, err := os.Readlink(path)
		if err != nil || !strings.HasPrefix(cwd+"/", s.dir+"/") {
			continue
		}
		exe, err := os.Readlink(filepath.Join(proc, "exe"))
		if err != nil || filepath.Base(exe) != "postgres" {
			continue // somebody who looks around
		}
		pid, _ := strconv.Atoi(filepath.Base(proc))
		if st, err := statOf(pid); err == nil {
			list = append(list, entry{What: "process of a postgres", PID: pid, Start: st.start, Boot: s.boot})
		}
	}
	return list
}

// release gives back the shared memory of the servers in the directory.
func (s *sweep) release() error {
	all := releasePosix(s.dir, s.dir)
	for _, pattern := range []string{"*", "*/*"} { // the template, and a cluster's nodes
		paths, _ := filepath.Glob(filepath.Join(s.dir, pattern, postmasterFile)) // the pattern is well formed
		for _, path := range paths {
			all = errors.Join(all, releaseShared(filepath.Dir(path)))
		}
	}
	return all
}
