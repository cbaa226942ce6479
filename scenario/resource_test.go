package scenario_test

import (
	"errors"
	"strings"
	"testing"

	"lockchaos/scenario"
)

// onPostgres is a scenario with a line of its own at the end.
func onPostgres(line string) string {
	return "lock: {system: single, ttl: 1s}\nhosts: 2\nworkload: {kind: counter, rounds: 1}\nguards: [none]\n" +
		"expect: {none: {outcome: safe}}\nresource: postgres\n" + line + "\n"
}

func TestResource(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		says string // "" where it is valid
	}{
		"postgres":          {onPostgres(""), ""},
		"another":           {strings.Replace(onPostgres(""), "postgres", "mysql", 1), `x.yaml:6: resource: "mysql", expected one of redis, postgres`},
		"in the simulation": {onPostgres("worlds: [local, sim]"), "x.yaml:7: worlds[1]: a PostgreSQL resource is a real server"},
		"a command":         {onPostgres("faults: [{fault: hold, nodes: [n1, resource], direction: requests, commands: [SET], from: at 0s, for: 1s}]"), "x.yaml:7: faults[0].commands: commands are those of Redis"},
		"a command of n1":   {onPostgres("faults: [{fault: hold, nodes: [n1], direction: requests, commands: [SET], from: at 0s, for: 1s}]"), ""},
		"a fault of Redis":  {onPostgres("faults: [{fault: flush-scripts, nodes: [resource], from: at 0s}]"), "x.yaml:7: faults[0].nodes: flush-scripts is for Redis"},
		"one of n1":         {onPostgres("faults: [{fault: flush-scripts, nodes: [n1], from: at 0s}]"), ""},
		"a restart":         {onPostgres("faults: [{fault: restart-node, nodes: [resource], from: at 0s}]"), ""},
		"a partition":       {onPostgres("faults: [{fault: partition, nodes: [resource], from: at 0s, for: 1s}]"), ""},
	} {
		s, err := scenario.Parse([]byte(c.text), "x.yaml")
		var e *scenario.Error
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.says != "" && (!errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", name, err, c.says)
		case c.says == "" && (s.RunsOn(scenario.Simulation) || !s.RunsOn(scenario.Local)):
			t.Errorf("%s: it is for the wrong world", name)
		}
	}
}
