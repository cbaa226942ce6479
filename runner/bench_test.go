package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4/redis"
	goredislib "github.com/redis/go-redis/v9"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/host"
	"lockchaos/locks"
)

// benchmarkHosts is how many clients acquire and release at a time, each a lock of its own.
const benchmarkHosts = 8

// BenchmarkHarness measures acquire+release cycles through host, link and
// recording against a plain go-redis loop on the same server with equal
// concurrency, in one run, and reports the ratio. The plain loop runs in one
// process (plain), and with a process for each client (processes), as clients of
// a lock are in life. It also reports the cycles with parts of the harness left
// out, which says what takes the rest.
func BenchmarkHarness(b *testing.B) {
	w := newBench(b)
	for b.Loop() {
		plain := w.rate(b, w.plain)
		processes := w.processes(b)
		pooled := w.rate(b, w.inProcess(true))
		linked := w.rate(b, w.inProcess(false))
		full := w.rate(b, w.full)
		b.ReportMetric(plain, "plain/s")
		b.ReportMetric(pooled/plain, "lock/plain")
		b.ReportMetric(linked/plain, "lock+link/plain")
		b.ReportMetric(full/plain, "harness/plain")
		b.ReportMetric(full/processes, "harness/processes")
	}
	b.ReportMetric(0, "ns/op") // one iteration is a whole comparison
}

type bench struct {
	c     *local.Cluster
	hosts []host.Host
	rec   *history.Recorder
	sched *faults.Schedule
	addr  string
}

func newBench(b *testing.B) *bench {
	ctx := b.Context()
	m, err := local.Open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	spec := cluster.Spec{Name: "bench", Logs: b.TempDir(), Nodes: []cluster.NodeSpec{{Name: "n1"}}}
	for i := range benchmarkHosts {
		spec.Hosts = append(spec.Hosts, cluster.HostSpec{Name: fmt.Sprint("w", i+1)})
	}
	w := &bench{}
	if w.c, err = m.Up(ctx, spec); err != nil {
		b.Fatal(err)
	}
	if w.rec, err = history.NewRecorder(io.Discard, history.Header{TTL: time.Second}); err != nil {
		b.Fatal(err)
	}
	if w.sched, err = faults.NewSchedule(w.rec, w.c, nil, nil); err != nil {
		b.Fatal(err)
	}
	w.sched.Run(ctx)
	for _, h := range spec.Hosts {
		init := host.Init{System: "single", TTLMS: 60_000, Discipline: history.Trusting}
		p, err := w.c.StartHost(ctx, h.Name, init, nil)
		if err != nil {
			b.Fatal(err)
		}
		w.hosts = append(w.hosts, p)
	}
	if w.addr, err = w.c.NodeAddr("n1"); err != nil {
		b.Fatal(err)
	}
	return w
}

// long is how long each loop runs.
const long = 2 * time.Second

// rate runs one loop on each host for a while and returns cycles a second.
func (w *bench) rate(b *testing.B, loop func(i int) func() error) float64 {
	var wg sync.WaitGroup
	counts := make([]int, benchmarkHosts)
	start := time.Now()
	for i := range benchmarkHosts {
		cycle := loop(i)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Since(start) < long {
				if err := cycle(); err != nil {
					b.Error(err)
					return
				}
				counts[i]++
			}
		}()
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / time.Since(start).Seconds()
}

// processes runs the plain loop with a process for each client.
func (w *bench) processes(b *testing.B) float64 {
	var wg sync.WaitGroup
	counts := make([]int, benchmarkHosts)
	for i := range benchmarkHosts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			out, err := exec.Command(os.Args[0], "plain", w.addr, strconv.Itoa(i)).Output()
			if err == nil {
				counts[i], err = strconv.Atoi(string(out))
			}
			if err != nil {
				b.Error(err)
			}
		}()
	}
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / long.Seconds()
}

// plainProcess is one of them. It prints how many cycles it has done.
func plainProcess(addr, key string) error {
	cycle, n := plainCycle(addr, "process"+key), 0
	for start := time.Now(); time.Since(start) < long; n++ {
		if err := cycle(); err != nil {
			return err
		}
	}
	fmt.Print(n)
	return nil
}

// plain is what a program without the harness does.
func (w *bench) plain(i int) func() error { return plainCycle(w.addr, fmt.Sprint("plain", i)) }

func plainCycle(addr, key string) func() error {
	ctx := context.Background()
	rdb := goredislib.NewClient(&goredislib.Options{Addr: addr})
	del := goredislib.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)
	return func() error {
		if ok, err := rdb.SetNX(ctx, key, "owner", time.Minute).Result(); !ok || err != nil {
			return fmt.Errorf("set: %v %w", ok, err)
		}
		return del.Run(ctx, rdb, []string{key}, "owner").Err()
	}
}

// inProcess is the lock system in this process, with or without a link.
func (w *bench) inProcess(direct bool) func(i int) func() error {
	return func(i int) func() error {
		pool := w.c.Direct("n1")
		if !direct {
			pool = w.c.Pool(fmt.Sprint("w", i+1), "n1")
		}
		sys, _ := locks.Find("single")
		l, _ := sys.New(locks.Config{Pools: []redis.Pool{pool}, Name: fmt.Sprint("in", direct, i), TTL: time.Minute})
		return func() error {
			g, err := l.Acquire(context.Background())
			if err != nil {
				return err
			}
			return g.Release(context.Background())
		}
	}
}

// full is the whole way: session, host process, link, recording.
func (w *bench) full(i int) func() error {
	name := fmt.Sprint("w", i+1)
	s := &session{
		name: name, lock: fmt.Sprint("lock", i), host: w.hosts[i], rec: w.rec, schedule: w.sched,
		links: []cluster.Link{w.c.Link(name, "n1")}, ttl: time.Minute, dogs: map[int64]context.CancelFunc{}, pace: func(int64) {},
	}
	return func() error {
		g, err := s.Acquire(context.Background())
		if err != nil || g == nil {
			return fmt.Errorf("acquire: %v %w", g, err)
		}
		return s.Release(context.Background(), g)
	}
}
