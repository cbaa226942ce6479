package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"lockchaos/cluster"
	"lockchaos/internal/concurrent"
)

var _ cluster.StorageControl = (*Cluster)(nil)

// With appendfsync everysec Redis 7 syncs its append-only file at the first
// flush in a new second of its clock, and not again in that second:
//
//	second S                              second S+1
//	│ boundary                            │ boundary
//	├─●─────────●──────────────●──────────├─●──
//	  │fsync    │size noted    │power cut   fsync
//	            │(SyncNode)    │(CutPower)
//
// What the file has grown by between the last two was only ever in the page
// cache. The size is noted after the fsync of its second, so nothing that may
// be on disk is cut; what is written between the two is kept, though a real
// loss of power might have taken it.
type synced struct {
	file  string    // the incremental file that is written to
	size  int64     // what is on disk is no more than this
	until time.Time // no fsync before, if its clock is let be
	sets  int       // how often that had been set
}

// errRate: the seconds of such a clock end at other times than reckoned here.
var errRate = errors.New("its clock does not run at the rate of the machine's, and it is by its clock that it syncs once a second")

// early is the part of a second in which there is no need to wait for the next one.
const early = 300 * time.Millisecond

// syncMargin is taken off the end of the second, for clocks that are slewed.
const syncMargin = 10 * time.Millisecond

// syncKey is set and deleted, so that there is something to sync.
const syncKey = "lockchaos:sync"

// SyncNode waits for the fsync of a second, and notes the size of the file.
func (c *Cluster) SyncNode(ctx context.Context, name string) (string, error) {
	n, addr, err := c.reach(name)
	if err != nil {
		return "", err
	}
	switch n.persist {
	case cluster.PersistNone:
		return "persistence none: nothing is on disk", nil
	case cluster.PersistAlways:
		return "persistence always: synced before each reply", nil
	}
	clock := n.setting()
	if clock.rate != 1 {
		return "", fmt.Errorf("node %s: %w", name, errRate)
	}
	s, err := n.sync(ctx, addr)
	s.sets = clock.sets
	if err != nil {
		return "", fmt.Errorf("node %s: %w", name, err)
	}
	return c.withNode(name, func(n *node) (string, error) {
		n.synced = s
		return fmt.Sprintf("%s synced up to byte %d at most", filepath.Base(s.file), s.size), nil
	})
}

func (n *node) sync(ctx context.Context, addr string) (synced, error) {
	if _, err := ask(ctx, "", addr, "SET", n.prefix+syncKey, "1"); err != nil {
		return synced{}, err
	}
	for {
		s, err := n.trySync(ctx, addr)
		if !errors.Is(err, errNextSecond) {
			return s, err
		}
	}
}

// errNextSecond: the second has changed before all was seen.
var errNextSecond = errors.New("the next second has begun")

// trySync waits for the early part of a second and for the fsync in it.
func (n *node) trySync(ctx context.Context, addr string) (synced, error) {
	asked := time.Now()
	second, into, _, err := n.syncClock(ctx)
	if err != nil {
		return synced{}, err
	}
	left := time.Second - into
	if into > early {
		if err := concurrent.Sleep(ctx, left); err != nil {
			return synced{}, err
		}
		return synced{}, errNextSecond
	}
	file, before, err := n.aof()
	if err != nil {
		return synced{}, err
	}
	if _, err := ask(ctx, "", addr, "DEL", n.prefix+syncKey); err != nil {
		return synced{}, err
	}
	var size int64
	// A flush in this second has synced, or its second has been synced before. One
	// that Redis puts off, as an fsync is under way, is seen by the size.
	err = poll(ctx, func() (bool, error) {
		now, _, pending, err := n.syncClock(ctx)
		if err != nil {
			return false, err
		}
		if now != second {
			return false, errNextSecond
		}
		_, size, err = n.aof()
		return size > before && !pending, err
	})
	if errors.Is(err, errNextSecond) { // there must be something to write then, too
		_, err2 := ask(ctx, "", addr, "SET", n.prefix+syncKey, "1")
		return synced{}, errors.Join(err2, err)
	}
	return synced{file: file, size: size, until: asked.Add(left - syncMargin)}, err
}

// syncClock is the second that the server goes by, how far it is into it, and
// whether an fsync is under way.
func (n *node) syncClock(ctx context.Context) (second int64, into time.Duration, pending bool, err error) {
	info, err := n.section(ctx, "everything")
	if err != nil {
		return 0, 0, false, err
	}
	us, err := strconv.ParseInt(info["server_time_usec"], 10, 64)
	if err != nil {
		return 0, 0, false, fmt.Errorf("INFO: server_time_usec: %w", err)
	}
	fsyncs, ok := info["aof_pending_bio_fsync"]
	if !ok {
		return 0, 0, false, errors.New("INFO has no aof_pending_bio_fsync: the append-only file is off")
	}
	return us / 1e6, time.Duration(us%1e6) * time.Microsecond, fsyncs != "0", nil
}

// aof is the incremental file that the manifest names last, and its size.
func (n *node) aof() (path string, size int64, err error) {
	dir := filepath.Join(n.dir, "appendonlydir")
	b, err := os.ReadFile(filepath.Join(dir, "appendonly.aof.manifest"))
	if err != nil {
		return "", 0, err
	}
	for line := range strings.Lines(string(b)) { // file NAME seq N type i
		if f := strings.Fields(line); len(f) == 6 && f[5] == "i" {
			path = filepath.Join(dir, f[1])
		}
	}
	if path == "" {
		return "", 0, fmt.Errorf("%s names no incremental file:\n%s", dir, b)
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", 0, err
	}
	return path, st.Size(), nil
}

// CutPower kills the server and cuts its file. That may be in the middle of a
// command: Redis leaves out what is not complete.
func (c *Cluster) CutPower(ctx context.Context, name string) (string, error) {
	return c.withNode(name, func(n *node) (string, error) {
		s := n.synced
		n.synced = synced{}
		proof, err := n.proc.crash(ctx)
		if err != nil {
			return "", err
		}
		ended := time.Now()
		switch n.persist {
		case cluster.PersistNone:
			return proof + ", nothing was on disk", nil
		case cluster.PersistAlways:
			return proof + ", 0 bytes of its file were not synced", nil
		}
		lost, err := s.cut(n, ended)
		if err != nil {
			return "", fmt.Errorf("node %s: %w", name, err)
		}
		return proof + ", " + lost, nil
	})
}

// setting is that of a clock that was never set where the node has the machine's.
func (n *node) setting() setting {
	if n.clock == nil {
		return setting{rate: 1}
	}
	return n.clock.setting()
}

func (s synced) cut(n *node, ended time.Time) (string, error) {
	file, size, err := n.aof()
	switch {
	case err != nil:
		return "", err
	case s.file == "":
		return "", errors.New("it was never seen to sync its file, so nobody knows what is not synced")
	case file != s.file:
		return "", fmt.Errorf("it has begun the file %s since it synced %s", filepath.Base(file), filepath.Base(s.file))
	case n.setting().sets != s.sets:
		return "", fmt.Errorf("%w: its clock was set meanwhile, and by it the file may have been synced again", cluster.ErrIdle)
	case ended.After(s.until):
		return "", fmt.Errorf("%w: the power was cut %s late, the file may have been synced again",
			cluster.ErrIdle, ended.Sub(s.until).Round(time.Millisecond))
	case size <= s.size:
		return "", fmt.Errorf("%w: nothing was written since the last sync, 0 bytes are cut", cluster.ErrIdle)
	}
	if err := os.Truncate(file, s.size); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d bytes cut that were not synced (%s: %d → %d)", size-s.size, filepath.Base(file), size, s.size), nil
}
