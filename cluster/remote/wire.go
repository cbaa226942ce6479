package remote

import (
	"errors"
	"net/netip"
	"strings"
	"time"

	"lockchaos/cluster"
)

// wireVersion is of the requests below; both sides must have the same.
const wireVersion = "1"

// The paths of an agent.
const (
	pathHealth  = "/v1/health"
	pathPrepare = "/v1/prepare" // does what takes time but once, before the first PostgreSQL
	pathSession = "/v1/session" // upgraded: the agent is held as long as the connection is open
	pathTunnel  = "/v1/tunnel"  // upgraded: the bytes of the node's server
	pathNode    = "/v1/node"    // PUT starts the node, DELETE ends it
	pathLog     = "/v1/node/log"
	pathControl = "/v1/node/" // + a control
	pathLink    = "/v1/link/" // + a peer + / + a control
)

// Headers of requests beside Authorization.
const (
	headerVersion = "Lockchaos-Version"
	headerSession = "Lockchaos-Session"
	headerRun     = "Lockchaos-Run" // with pathSession: who asks, for messages
	upgradeTo     = "lockchaos"
)

// The controls of a node.
const (
	doPause  = "pause"
	doResume = "resume"
	doCrash  = "crash"
	doStart  = "start"
	doJump   = "jump-clock"
	doRate   = "set-clock-rate"
	doSync   = "sync"
	doCut    = "cut-power"
	doEvict  = "evict"
	doFree   = "free-memory"
	doSlow   = "slow"
	doHurry  = "hurry"
)

// The controls of a link to a peer.
const (
	doApply   = "apply"
	doLift    = "lift"
	doDelay   = "delay"
	doUndelay = "undelay"
	doReset   = "reset"
	doProbe   = "probe"
	doCounts  = "counts"
)

// Health is what an agent says of itself.
type Health struct {
	Version  string `json:"version"` // of what is spoken with it
	Commit   string `json:"commit,omitempty"`
	Redis    string `json:"redis,omitempty"` // redis-server --version; empty where there is none
	Postgres string `json:"postgres,omitempty"`
	Clocks   string `json:"clocks"`         // how clocks are set there
	Held     string `json:"held,omitempty"` // by which run; empty where nobody holds it
}

// String is a line for people.
func (h Health) String() string {
	state := "free"
	if h.Held != "" {
		state = "held by " + h.Held
	}
	var has []string
	for _, s := range []string{h.Redis, h.Postgres, "clocks by " + h.Clocks} {
		if s != "" {
			has = append(has, s)
		}
	}
	return state + "; " + strings.Join(has, "; ")
}

// job is the node that an agent is to run.
type job struct {
	Spec cluster.Spec `json:"spec"` // the whole cluster, without hosts
	Self string       `json:"self"`
	// Announced and Peers are there where nodes have to do with each other: the
	// loopback address that stands for each, and the agent behind which it is.
	Announced map[string]netip.AddrPort `json:"announced,omitempty"`
	Peers     map[string]string         `json:"peers,omitempty"`
}

// control are the arguments of a control; each takes some.
type control struct {
	By     time.Duration `json:"by,omitempty"`
	Rate   float64       `json:"rate,omitempty"`
	ID     string        `json:"id,omitempty"`
	Rule   *cluster.Rule `json:"rule,omitempty"`
	Jitter time.Duration `json:"jitter,omitempty"`
}

// answer is what comes back.
type answer struct {
	Proof  string          `json:"proof,omitempty"`
	RunID  string          `json:"run_id,omitempty"` // of the node's server, after the call
	Took   time.Duration   `json:"took,omitempty"`
	Count  int             `json:"count,omitempty"`
	Counts *cluster.Counts `json:"counts,omitempty"`

	Error string `json:"error,omitempty"`
	Idle  bool   `json:"idle,omitempty"` // the error is one of cluster.ErrIdle
}

// err is the error of an answer.
func (a answer) err() error {
	switch {
	case a.Error == "":
		return nil
	case a.Idle:
		return idleError(a.Error)
	}
	return errors.New(a.Error)
}

// idleError says that there was nothing to do, in the words of the agent.
type idleError string

func (e idleError) Error() string { return string(e) }
func (e idleError) Unwrap() error { return cluster.ErrIdle }
