package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"lockchaos/cluster"
	"lockchaos/cluster/local"
	"lockchaos/internal/secret"
)

// Agent supervises one node for whoever holds the token.
type Agent struct {
	machine *local.Machine
	token   secret.Token
	health  Health

	changing sync.Mutex // over the start and the end of a node
	mu       sync.Mutex // guards what follows
	held     *session   // nil while nobody holds the agent
}

// session is one runner's hold of an agent.
type session struct {
	id, run string
	conn    net.Conn
	cluster *local.Cluster // nil before the node was started, and after it has ended
	job     job
	dir     string // of its logs
}

// NewAgent makes an agent of a machine.
func NewAgent(ctx context.Context, m *local.Machine, t secret.Token, commit string) *Agent {
	a := &Agent{machine: m, token: t}
	a.health = Health{Version: wireVersion, Commit: commit, Clocks: m.Clocks()}
	a.health.Redis, _ = m.Version(ctx) // an agent may be there for either of them
	a.health.Postgres, _ = m.PostgresVersion(ctx)
	return a
}

// Limits of a connection to an agent.
const (
	headerTimeout = 5 * time.Second
	mostBody      = 1 << 20
	closeTimeout  = 5 * time.Second
)

// alive finds a runner that is gone without a word.
var alive = net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 5}

// Serve listens until ctx ends, and then ends the node. said is called with the
// address once it listens.
func (a *Agent) Serve(ctx context.Context, addr string, said func(addr string)) error {
	if err := a.token.MayListen(addr); err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{KeepAliveConfig: alive}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen: %w", err)
	}
	said(ln.Addr().String())
	server := &http.Server{
		Handler: a.handler(ctx), ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	err = server.Serve(ln)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	a.mu.Lock()
	s := a.held
	a.mu.Unlock()
	return errors.Join(err, a.release(s))
}

func (a *Agent) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathHealth, a.tell)
	mux.HandleFunc("POST "+pathPrepare, a.prepare)
	mux.HandleFunc("POST "+pathSession, func(w http.ResponseWriter, r *http.Request) { a.hold(ctx, w, r) })
	mux.HandleFunc("POST "+pathTunnel, func(w http.ResponseWriter, r *http.Request) { a.tunnel(ctx, w, r) })
	mux.HandleFunc("PUT "+pathNode, a.withSession(a.start))
	mux.HandleFunc("DELETE "+pathNode, a.withSession(a.end))
	mux.HandleFunc("GET "+pathLog, a.log)
	mux.HandleFunc("POST "+pathControl+"{do}", a.withSession(a.controlNode))
	mux.HandleFunc("POST "+pathLink+"{peer}/{do}", a.withSession(a.controlLink))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !a.token.Admits(r):
			refuse(w, http.StatusUnauthorized, errors.New("the token is missing or wrong"))
		case r.Header.Get(headerVersion) != wireVersion:
			refuse(w, http.StatusBadRequest, fmt.Errorf("version %q is spoken, and here %q: use one version of chaos on all machines",
				r.Header.Get(headerVersion), wireVersion))
		default:
			r.Body = http.MaxBytesReader(w, r.Body, mostBody)
			mux.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, err error) {
	send(w, status, answer{Error: err.Error(), Idle: errors.Is(err, cluster.ErrIdle)})
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who asked is gone where it fails
}

func (a *Agent) tell(w http.ResponseWriter, _ *http.Request) {
	h := a.health
	a.mu.Lock()
	if a.held != nil {
		h.Held = a.held.run
	}
	a.mu.Unlock()
	send(w, http.StatusOK, h)
}

// prepare makes the first PostgreSQL start as fast as any.
func (a *Agent) prepare(w http.ResponseWriter, r *http.Request) {
	if err := a.machine.PreparePostgres(r.Context()); err != nil {
		refuse(w, http.StatusUnprocessableEntity, err)
		return
	}
	send(w, http.StatusOK, answer{})
}

// upgrade takes the connection of a request over.
func upgrade(w http.ResponseWriter, r *http.Request, headers string) (net.Conn, error) {
	if r.Header.Get("Upgrade") != upgradeTo {
		return nil, fmt.Errorf("expected the header Upgrade: %s", upgradeTo)
	}
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if buffered.Reader.Buffered() > 0 {
		return nil, errors.Join(errors.New("bytes came before the answer"), c.Close())
	}
	_ = c.SetDeadline(time.Time{})
	_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+upgradeTo+"\r\n"+headers+"\r\n")
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// hold gives the agent to one runner, until its connection ends.
func (a *Agent) hold(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	s := &session{id: rand.Text(), run: r.Header.Get(headerRun)}
	a.mu.Lock()
	if a.held != nil {
		defer a.mu.Unlock()
		refuse(w, http.StatusConflict, fmt.Errorf("it is held by %s", a.held.run))
		return
	}
	c, err := upgrade(w, r, headerSession+": "+s.id+"\r\n")
	if err != nil {
		a.mu.Unlock()
		slog.Warn("a runner cannot hold the agent", "run", s.run, "error", err)
		return
	}
	s.conn, a.held = c, s
	a.mu.Unlock()
	slog.Info("held", "run", s.run)
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, c) // it ends with the runner
	if err := a.release(s); err != nil {
		slog.Error("the node has not ended in order", "run", s.run, "error", err)
	}
	slog.Info("free", "run", s.run)
}

// release ends the node of a session, and the session.
func (a *Agent) release(s *session) error {
	if s == nil {
		return nil
	}
	_ = s.conn.Close()
	err := a.endNode(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == s {
		a.held = nil
	}
	return err
}

// running is the cluster of a session, of one node; nil where there is none.
func (a *Agent) running(s *session) *local.Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.cluster
}

func (a *Agent) endNode(s *session) error {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.mu.Lock()
	c, dir := s.cluster, s.dir
	s.cluster = nil
	a.mu.Unlock()
	if c == nil {
		return nil
	}
	return errors.Join(c.Close(), os.RemoveAll(dir))
}

// holder is the session of who asks; nil where that is not the one that holds the agent.
func (a *Agent) holder(r *http.Request) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil || a.held.id != r.Header.Get(headerSession) {
		return nil
	}
	return a.held
}

var errNotHeld = errors.New("it is not held by who asks")

// withSession admits requests of the runner that holds the agent.
func (a *Agent) withSession(do func(context.Context, *session, *http.Request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := a.holder(r)
		if s == nil {
			refuse(w, http.StatusConflict, errNotHeld)
			return
		}
		ans, err := do(r.Context(), s, r)
		if err != nil {
			refuse(w, http.StatusUnprocessableEntity, err)
			return
		}
		if c := a.running(s); c != nil {
			ans.RunID = c.RunID(s.job.Self)
		}
		send(w, http.StatusOK, ans)
	}
}

func body(r *http.Request, v any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	return nil
}

// start brings the node up, fresh.
func (a *Agent) start(ctx context.Context, s *session, r *http.Request) (answer, error) {
	var j job
	if err := body(r, &j); err != nil {
		return answer{}, err
	}
	if err := a.endNode(s); err != nil {
		return answer{}, err
	}
	a.changing.Lock()
	defer a.changing.Unlock()
	dir, err := os.MkdirTemp(a.machine.Dir(), "logs-")
	if err != nil {
		return answer{}, err
	}
	spec, out := a.part(j)
	spec.Logs = dir
	c, err := a.machine.UpWith(ctx, spec, out)
	if err != nil {
		return answer{}, errors.Join(err, os.RemoveAll(dir))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held != s { // the runner has gone in the meantime
		return answer{}, errors.Join(errNotHeld, c.Close(), os.RemoveAll(dir))
	}
	s.cluster, s.job, s.dir = c, j, dir
	return answer{}, nil
}

// part is what an agent runs of a job: its own node, with the ways to its peers.
func (a *Agent) part(j job) (cluster.Spec, local.Outside) {
	spec := j.Spec
	spec.Hosts, spec.Nodes = nil, nil
	out := local.Outside{Servers: map[string]local.Server{}, Announced: j.Announced, Part: true}
	for _, n := range j.Spec.Nodes {
		agent, ok := j.Peers[n.Name]
		if n.Name != j.Self && !ok {
			continue
		}
		spec.Nodes = append(spec.Nodes, n)
		if n.Name != j.Self {
			out.Servers[n.Name] = local.Server{
				Dial:  func(ctx context.Context) (net.Conn, error) { return dialTunnel(ctx, agent, a.token) },
				RunID: func() string { return "" },
			}
		}
	}
	return spec, out
}

func (a *Agent) end(_ context.Context, s *session, _ *http.Request) (answer, error) {
	return answer{}, a.endNode(s)
}

// log sends what the node's server has written.
func (a *Agent) log(w http.ResponseWriter, r *http.Request) {
	s := a.holder(r)
	if s == nil {
		refuse(w, http.StatusConflict, errNotHeld)
		return
	}
	if a.running(s) == nil {
		refuse(w, http.StatusConflict, errNoNode)
		return
	}
	http.ServeFile(w, r, filepath.Join(s.dir, s.job.Self+".log"))
}

var errNoNode = errors.New("it runs no node")

// tunnel carries the bytes of the node's server.
func (a *Agent) tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	addr, err := "", errNoNode
	if s := a.held; s != nil && s.cluster != nil {
		addr, err = s.cluster.NodeAddr(s.job.Self)
	}
	a.mu.Unlock()
	var far net.Conn
	if err == nil {
		far, err = (&net.Dialer{}).DialContext(r.Context(), "tcp4", addr)
	}
	if err != nil {
		refuse(w, http.StatusBadGateway, err)
		return
	}
	near, err := upgrade(w, r, "")
	if err != nil {
		_ = far.Close()
		return
	}
	local.Splice(ctx, near, far)
}
