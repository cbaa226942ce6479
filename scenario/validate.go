package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"lockchaos/checker"
	"lockchaos/cluster"
	"lockchaos/faults"
	"lockchaos/history"
	"lockchaos/locks"
)

var (
	guards = []string{
		history.GuardNone, history.GuardFence, history.GuardFenceRead,
		history.GuardFenceGreater, history.GuardFenceGreaterOrEqual, history.GuardVersion, history.GuardAtomic,
	}
	disciplines = []string{history.Trusting, history.ChecksLease}
	workloads   = []string{"counter"}
	outcomes    = []string{string(checker.Safe), string(checker.Violated), string(checker.Inconclusive)}
	persistence = []string{cluster.PersistNone, cluster.PersistEverySec, cluster.PersistAlways}
	resources   = []string{ResourceRedis, ResourcePostgres}
	directions  = []string{string(cluster.Requests), string(cluster.Replies), string(cluster.Both)}
	// A run that proves nothing is an outcome; nobody expects it as a finding.
	findings = slices.DeleteFunc(checker.IDs(), func(id string) bool { return id == checker.NoConclusion })
	causes   = checker.Causes()
)

// Most hosts, most rounds of all together, and most writes of a round, of one scenario.
const (
	MostHosts  = 50
	MostWrites = 100
	MostRounds = 1_000_000
)

// mostTTL is far above any lease, and far below where Redis overflows.
const mostTTL = locks.Duration(24 * time.Hour)

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*(/[a-z0-9][a-z0-9-]*)*$`)

func (s *Scenario) defaults(w written) {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	set(&s.Workload.Discipline, history.Trusting)
	set(&s.Nodes.Persistence, cluster.PersistNone)
	set(&s.Resource, ResourceRedis)
	set(&s.Control, string(checker.Safe))
	if s.Name == "" {
		s.Name = strings.TrimSuffix(filepath.Base(s.File), filepath.Ext(s.File))
	}
	s.hammerDefaults()
	if s.Workload.Writes == 0 {
		s.Workload.Writes = 1
	}
	if s.Workload.Retry == 0 {
		s.Workload.Retry = locks.Duration(DefaultRetry)
	}
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Most == 0 {
			f.Most = locks.Duration(faults.DefaultMost)
		}
		set(&f.Direction, string(cluster.Both))
	}
	s.needsDefault(w)
	s.needsEachDefault(w)
}

func oneOf(path, value string, allowed []string) *problem {
	if slices.Contains(allowed, value) {
		return nil
	}
	return &problem{path, fmt.Sprintf("%q, expected one of %s", value, strings.Join(allowed, ", "))}
}

// first returns the first problem there is.
func first(ps ...*problem) *problem {
	for _, p := range ps {
		if p != nil {
			return p
		}
	}
	return nil
}

func must(ok bool, path, format string, args ...any) *problem {
	if ok {
		return nil
	}
	return &problem{path, fmt.Sprintf(format, args...)}
}

func (s *Scenario) validate() *problem {
	p := first(
		must(!strings.ContainsFunc(s.About, unicode.IsControl), "about", "%q, expected one line", s.About),
		oneOf("resource", s.Resource, resources),
		s.validateWorlds(),
		s.validateLock(),
		s.validateNodes(),
		must(s.Hosts >= 1 && s.Hosts <= MostHosts, "hosts", "%d, expected 1 to %d", s.Hosts, MostHosts),
		s.validateWorkload(),
	)
	if p != nil { // the rest counts hosts and nodes, and needs them to be few
		return p
	}
	return first(
		s.validateGuards(),
		validatePhases("needs", s.Needs),
		validatePhases("needs_each", s.NeedsEach),
		validatePhases("demand", s.Demand),
		must(s.Deadline > 0, "deadline", "%s, expected above 0", s.Deadline),
		s.validateOrder(),
		s.validateFaults(),
		s.validateHammer(),
		s.validateExpect(),
	)
}

// mostName is how long a name may be: it is that of a directory, too.
const mostName = 100

// validateName looks at the name, which is that of the file where none is written.
func (s *Scenario) validateName(w written) *problem {
	says := nameProblem(s.Name)
	if says == "" {
		return nil
	}
	if given := w.value("name"); given == nil || given == "" {
		return &problem{path: "name", message: says + ": it is taken from the name of the file, as there is no other in it"}
	}
	return &problem{path: "name", message: says}
}

func nameProblem(name string) string {
	switch {
	case len(name) > mostName:
		return fmt.Sprintf("%q, expected at most %d letters and not %d", name, mostName, len(name))
	case !nameForm.MatchString(name):
		return fmt.Sprintf("%q, expected small letters, digits, - and /", name)
	}
	return ""
}

func (s *Scenario) validateWorlds() *problem {
	for i, w := range s.Worlds {
		path := fmt.Sprintf("worlds[%d]", i)
		if p := first(
			oneOf(path, w, []string{Local, Simulation, Remote}),
			must(s.Lock.System != locks.External || w != Simulation, path, "an external host is a real program, it cannot run in the simulation"),
			must(s.Resource != ResourcePostgres || w != Simulation, path, "a PostgreSQL resource is a real server, it cannot run in the simulation; redis can"),
		); p != nil {
			return p
		}
	}
	return nil
}

func (s *Scenario) validateLock() *problem {
	l := s.Lock
	ms := locks.Duration(time.Millisecond)
	if p := must(l.TTL >= ms && l.TTL%ms == 0 && l.TTL <= mostTTL, "lock.ttl",
		"%s, expected whole milliseconds from 1ms to %s", l.TTL, mostTTL); p != nil {
		return p
	}
	if l.System == locks.External {
		_, err := json.Marshal(l.Settings) // as they go to the host
		return first(
			must(err == nil, "lock.settings", "%v", err),
			must(len(l.Command) > 0, "lock.command", "an external host needs the command that runs it"),
			oneOf("lock.nodes", string(l.Layout), layouts),
			must(len(l.Set()) == 0, "lock", "%s is for the built-in systems, an external host gets its own under settings", strings.Join(l.Set(), ", ")),
		)
	}
	sys, err := locks.Find(l.System)
	if err != nil {
		return &problem{"lock.system", err.Error()}
	}
	if err := l.Check(sys); err != nil {
		return &problem{"lock", err.Error()}
	}
	return first(
		must(len(l.Command) == 0, "lock.command", "only for the system external"),
		must(l.Layout == "", "lock.nodes", "only for the system external, %s has %d", sys.Name, sys.Nodes+sys.Replicas),
		must(len(l.Settings) == 0, "lock.settings", "only for the system external"),
	)
}

func (s *Scenario) validateWorkload() *problem {
	w := s.Workload
	return first(
		oneOf("workload.kind", w.Kind, workloads),
		oneOf("workload.discipline", w.Discipline, disciplines),
		must(w.Rounds >= 1 && w.Rounds <= MostRounds && w.Rounds*s.Hosts <= MostRounds, "workload.rounds", "%d for each of %d hosts, expected 1 to %d in all", w.Rounds, s.Hosts, MostRounds),
		must(w.Writes >= 1 && w.Writes <= MostWrites, "workload.writes", "%d, expected 1 to %d", w.Writes, MostWrites),
		must(w.Work >= 0, "workload.work", "%s, expected 0 or more", w.Work),
		must(w.Rest >= 0, "workload.rest", "%s, expected 0 or more", w.Rest),
		must(w.Retry > 0, "workload.retry", "%s, expected above 0", w.Retry),
	)
}

func (s *Scenario) validateGuards() *problem {
	if len(s.Guards) == 0 {
		return &problem{"guards", "none given, expected some of " + strings.Join(guards, ", ")}
	}
	for i, g := range s.Guards {
		path := fmt.Sprintf("guards[%d]", i)
		if p := oneOf(path, g, guards); p != nil {
			return p
		}
		if slices.Index(s.Guards, g) != i {
			return &problem{path, fmt.Sprintf("%q stands twice", g)}
		}
		if p := must(s.mints() || !history.Fenced(g), path,
			"%s needs a fencing token, and %s mints none", g, s.Lock.System); p != nil {
			return p
		}
	}
	return nil
}

func (s *Scenario) mints() bool {
	if s.Lock.System == locks.External {
		return true // it may; a grant without a token is refused at the resource
	}
	sys, err := locks.Find(s.Lock.System)
	return err == nil && sys.MintsWith(s.Lock.Options)
}

func (s *Scenario) validateOrder() *problem {
	for i, o := range s.Order {
		path := fmt.Sprintf("order[%d]", i)
		if p := first(s.hostExists(path, o.Step.Host), s.validateTrigger(path, o.After)); p != nil {
			return p
		}
	}
	return s.validateOrders()
}

func (s *Scenario) hostExists(path, host string) *problem {
	if slices.Contains(s.HostNames(), host) {
		return nil
	}
	return &problem{path, fmt.Sprintf("host %q, expected %s to %s", host, HostName(0), HostName(s.Hosts-1))}
}

func (s *Scenario) nodeExists(path, node string) *problem {
	if node == cluster.Resource || slices.Contains(s.NodeNames(), node) {
		return nil
	}
	all := s.DataNodes()
	expected := fmt.Sprintf("%s to %s", all[0], all[len(all)-1])
	if others := s.NodeNames()[len(all):]; len(others) > 0 {
		expected += ", " + span(others)
	}
	return &problem{path, fmt.Sprintf("node %q, expected %s, or %s", node, expected, cluster.Resource)}
}

func (s *Scenario) validateExpect() *problem {
	for _, g := range slices.Sorted(maps.Keys(s.Expect)) { // sorted: the same error each time
		e, path := s.Expect[g], "expect."+g
		if !slices.Contains(s.Guards, g) {
			return &problem{path, fmt.Sprintf("no such guard in this scenario, which has %s", strings.Join(s.Guards, ", "))}
		}
		if p := first(oneOf(path+".outcome", e.Outcome, append(slices.Clone(outcomes), AnyOutcome)), must(e.Refused >= 0, path+".refused", "%d, expected 0 or more", e.Refused)); p != nil {
			return p
		}
		for _, list := range [][]string{e.Findings, e.May, e.Never} {
			for _, id := range list {
				if p := validateFinding(path, id); p != nil {
					return p
				}
			}
		}
		for _, id := range e.Findings {
			bare, _, _ := strings.Cut(id, "/")
			both := slices.Contains(e.Never, id) || slices.Contains(e.Never, bare)
			if p := must(!both, path+".never", "%s must be found, and never must be: it cannot be both", id); p != nil {
				return p
			}
		}
	}
	for _, g := range s.Guards {
		if _, ok := s.Expect[g]; !ok {
			return &problem{"expect", "nothing is expected for the guard " + g}
		}
	}
	return oneOf("control", s.Control, append(slices.Clone(outcomes), NoControl))
}

// CheckFinding says whether there is a finding of that name, with a cause or
// without: double-grant, double-grant/state-loss.
func CheckFinding(name string) error {
	if p := validateFinding("finding", name); p != nil {
		return errors.New(p.message)
	}
	return nil
}

func validateFinding(path, id string) *problem {
	id, cause, has := strings.Cut(id, "/")
	if p := oneOf(path, id, findings); p != nil {
		return p
	}
	if has {
		return first(
			oneOf(path, cause, causes),
			must(id == checker.DoubleGrant, path, "%s has no causes, only %s has", id, checker.DoubleGrant),
		)
	}
	return nil
}
