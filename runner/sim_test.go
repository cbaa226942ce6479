package runner

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"

	"lockchaos/checker"
	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/cluster/sim"
	"lockchaos/history"
	"lockchaos/results"
	"lockchaos/scenario"
	"lockchaos/scenarios"
)

type simWorld struct{}

func (simWorld) Up(_ context.Context, spec cluster.Spec) (Cluster, error) {
	return sim.Up(spec, sim.DefaultLatency), nil
}

type localWorld struct{ *local.Machine }

func (w localWorld) Up(ctx context.Context, spec cluster.Spec) (Cluster, error) {
	c, err := w.Machine.Up(ctx, spec)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func catalogue(t *testing.T, world string) []*scenario.Scenario {
	t.Helper()
	all, err := scenario.NewCatalogue(scenarios.Files).Find("*/*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(s *scenario.Scenario) bool { return !s.RunsOn(world) })
}

// simulate runs one seed in a bubble and returns the history as written.
func simulate(t *testing.T, s *scenario.Scenario, guard string, seed int64) (*history.History, []byte) {
	t.Helper()
	s, err := s.Drawn(seed)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h := &history.History{}
	sim.Bubble(t, func() {
		err = Run{Name: s.Name, World: scenario.Simulation, Scenario: s, Guard: guard, Seed: seed, Keep: h}.
			Do(context.Background(), simWorld{}, &out)
	})
	if err != nil {
		t.Fatalf("%s guard %s seed %d: %v", s.Name, guard, seed, err)
	}
	return h, out.Bytes()
}

// Each vote names its node, whatever the lock system and its commands, so that
// the picture of a run has whose keys the nodes held.
func TestVotesNameTheirNodes(t *testing.T) {
	for _, s := range catalogue(t, scenario.Simulation) {
		h, _ := simulate(t, s, s.Guards[0], 1)
		grants := map[int64]bool{}
		for _, e := range h.Events {
			if e.Kind == history.Return && e.Do == history.Acquire && e.Result == history.OK {
				grants[e.Op] = true
			}
		}
		for _, e := range h.Events {
			if e.Kind == history.Trace && e.Result == history.OK {
				if e.Node == "" {
					t.Errorf("%s: %+v names no node", s.Name, e)
				}
				delete(grants, e.Op)
			}
		}
		if len(grants) > 0 {
			t.Errorf("%s: grants without a vote: %v", s.Name, grants)
		}
		v, tl, err := checker.Examine(h)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		// The answer that would have told of the key of a wedged lock is what was lost.
		wedged := v.Told() >= 0 && v.Findings[v.Told()].ID == checker.Wedge
		if len(tl.Nodes) == 0 || len(tl.Keys) == 0 && !wedged {
			t.Errorf("%s: the nodes %v, %d keys", s.Name, tl.Nodes, len(tl.Keys))
		}
	}
}

// The same seed gives the same history, byte for byte: with one thread and with
// two, and with both processors kept busy.
func TestDeterminism(t *testing.T) {
	busy, stop := context.WithCancel(t.Context())
	defer stop()
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, s := range catalogue(t, scenario.Simulation) {
		for _, g := range s.Guards {
			for seed := int64(1); seed <= 2; seed++ {
				runtime.GOMAXPROCS(1)
				_, want := simulate(t, s, g, seed)
				runtime.GOMAXPROCS(2)
				_, got := simulate(t, s, g, seed)
				if !bytes.Equal(want, got) {
					t.Fatalf("%s guard %s seed %d: the histories differ from line %d on", s.Name, g, seed, firstLine(want, got))
				}
			}
		}
	}
	for range 2 {
		go func() {
			for busy.Err() == nil {
				runtime.Gosched()
			}
		}()
	}
	s := catalogue(t, scenario.Simulation)[0]
	_, want := simulate(t, s, s.Guards[0], 1)
	_, got := simulate(t, s, s.Guards[0], 1)
	if !bytes.Equal(want, got) {
		t.Errorf("%s: under load the histories differ from line %d on", s.Name, firstLine(want, got))
	}
}

func firstLine(a, b []byte) int {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return i + 1
		}
	}
	return min(len(x), len(y))
}

// What is kept in memory is what is written.
func TestKeep(t *testing.T) {
	s := catalogue(t, scenario.Simulation)[0]
	h, written := simulate(t, s, s.Guards[0], 1)
	read, err := history.ReadAll(bytes.NewReader(written), "written")
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Events) != len(h.Events) || read.Header != h.Header || !h.Complete {
		t.Errorf("%d events kept and %d written, headers %+v and %+v", len(h.Events), len(read.Events), h.Header, read.Header)
	}
	for i := range h.Events {
		if h.Events[i].Seq != read.Events[i].Seq || h.Events[i].T != read.Events[i].T || h.Events[i].Kind != read.Events[i].Kind {
			t.Fatalf("event %d: kept %+v, written %+v", i, h.Events[i], read.Events[i])
		}
	}
}

// The catalogue gives the same in both worlds: the expected outcome, and the
// same kinds of deciding finding, but for those that a scenario leaves open.
func TestWorldsAgree(t *testing.T) {
	m, err := local.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	slots := make(chan struct{}, 3*runtime.NumCPU()) // most of the time they wait
	t.Run("catalogue", func(t *testing.T) {
		for _, s := range catalogue(t, scenario.Local) {
			if !s.RunsOn(scenario.Simulation) || s.Hammer != nil {
				continue
			}
			for _, g := range s.Guards {
				h, _ := simulate(t, s, g, 1)
				t.Run(s.Name+"/"+g, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					compare(t, s, g, verdict(t, s, g, h), onServers(t, m, s, g))
				})
			}
		}
	})
}

// onServers runs on real servers; again where the machine was too busy.
func onServers(t *testing.T, m *local.Machine, s *scenario.Scenario, guard string) *checker.Verdict {
	for try := 0; ; try++ {
		h := &history.History{}
		r := Run{Name: s.Name, World: scenario.Local, Scenario: s, Guard: guard, Seed: 1, Logs: t.TempDir(), Keep: h}
		if err := r.Do(t.Context(), localWorld{m}, io.Discard); err != nil {
			t.Fatal(err)
		}
		v, differences := judged(t, s, guard, h)
		if try < mostSpoilt && spoilt(&results.Assessment{Verdict: v, Differences: differences}) {
			t.Logf("%s, guard %s: done again, after %v", s.Name, guard, differences)
			continue
		}
		for _, d := range differences {
			t.Errorf("on %s: %s", h.Header.World, d.Text)
		}
		return v
	}
}

func verdict(t *testing.T, s *scenario.Scenario, guard string, h *history.History) *checker.Verdict {
	t.Helper()
	v, differences := judged(t, s, guard, h)
	for _, d := range differences {
		t.Errorf("on %s: %s", h.Header.World, d.Text)
	}
	return v
}

func judged(t *testing.T, s *scenario.Scenario, guard string, h *history.History) (*checker.Verdict, []scenario.Difference) {
	t.Helper()
	v, err := checker.Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	return v, s.Expected(guard, false).Against(v)
}

func compare(t *testing.T, s *scenario.Scenario, guard string, a, b *checker.Verdict) {
	t.Helper()
	open := s.Expect[guard].May
	kinds := func(v *checker.Verdict) string {
		var all []string
		for _, f := range v.Findings {
			if checker.Safety(f.ID) && !f.Contained && !slices.Contains(open, f.ID) && !slices.Contains(all, f.ID) {
				all = append(all, f.ID)
			}
		}
		slices.Sort(all)
		return strings.Join(all, " ")
	}
	if a.Outcome != b.Outcome || kinds(a) != kinds(b) {
		t.Errorf("simulated: %s [%s]; on real servers: %s [%s]", a.Outcome, kinds(a), b.Outcome, kinds(b))
	}
}
