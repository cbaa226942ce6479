package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"lockchaos/internal/secret"
)

// client is the runner's end of an agent that it holds.
type client struct {
	name, addr string // of the agent
	token      secret.Token
	http       *http.Client
	session    string
	conn       net.Conn // the hold

	mu    sync.Mutex
	runID string // as the agent told last
}

// dialTimeout bounds a connect to an agent.
const dialTimeout = 5 * time.Second

// retry is how often an agent that is held is asked again: it may be about to
// end the node of a runner that has gone.
const retry = 100 * time.Millisecond

func newHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: alive}).DialContext,
		MaxIdleConnsPerHost: 4, DisableCompression: true,
	}}
}

// head makes a request of an agent.
func head(ctx context.Context, method, addr, path string, t secret.Token, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set(headerVersion, wireVersion)
	t.Set(r.Header)
	return r, nil
}

// AskHealth asks an agent how it is.
func AskHealth(ctx context.Context, addr string, t secret.Token) (Health, error) {
	var h Health
	err := ask(ctx, http.MethodGet, addr, pathHealth, t, &h)
	return h, err
}

// ask asks an agent something that needs no hold of it.
func ask(ctx context.Context, method, addr, path string, t secret.Token, into any) error {
	r, err := head(ctx, method, addr, path, t, nil)
	if err != nil {
		return err
	}
	c := newHTTP()
	defer c.CloseIdleConnections()
	resp, err := c.Do(r)
	if err != nil {
		return plain(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// plain takes the request's own words off an error.
func plain(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// refusal is the error that an agent answers.
func refusal(resp *http.Response) error {
	var a answer
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostBody)).Decode(&a); err != nil || a.Error == "" {
		return fmt.Errorf("it answers %s: is it an agent (chaos node)?", resp.Status)
	}
	return a.err()
}

// errHeld: another has the agent.
var errHeld = errors.New("held")

// dialUpgraded opens a connection to an agent that is more than a request.
func dialUpgraded(ctx context.Context, addr, path string, t secret.Token, set func(http.Header)) (net.Conn, http.Header, error) {
	r, err := head(ctx, http.MethodPost, addr, path, t, nil)
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", upgradeTo)
	set(r.Header)
	c, err := (&net.Dialer{Timeout: dialTimeout, KeepAliveConfig: alive}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	err = r.Write(c)
	var resp *http.Response
	in := bufio.NewReader(c)
	if err == nil {
		resp, err = http.ReadResponse(in, r)
	}
	if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
		if err = refusal(resp); resp.StatusCode == http.StatusConflict {
			err = fmt.Errorf("%w: %w", errHeld, err)
		}
	}
	if err == nil && in.Buffered() > 0 {
		err = errors.New("bytes came before the first request")
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return c, resp.Header, nil
}

// dialTunnel connects to the server behind an agent.
func dialTunnel(ctx context.Context, addr string, t secret.Token) (net.Conn, error) {
	c, _, err := dialUpgraded(ctx, addr, pathTunnel, t, func(http.Header) {})
	return c, err
}

// hold takes an agent. Where another has it, it waits for a while.
func hold(ctx context.Context, m Member, t secret.Token, run string) (*client, error) {
	c := &client{name: m.Name, addr: m.Agent, token: t, http: newHTTP()}
	for {
		conn, h, err := dialUpgraded(ctx, m.Agent, pathSession, t, func(h http.Header) { h.Set(headerRun, run) })
		if err == nil {
			c.conn, c.session = conn, h.Get(headerSession)
			return c, nil
		}
		if !errors.Is(err, errHeld) {
			return nil, c.wrap(err)
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return nil, c.wrap(err)
		}
	}
}

func (c *client) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("agent %s at %s: %w", c.name, c.addr, err)
}

// call asks the agent something as its holder.
func (c *client) call(ctx context.Context, method, path string, body any) (answer, error) {
	var a answer
	b, err := json.Marshal(body)
	if err != nil {
		return a, err
	}
	resp, err := c.send(ctx, method, path, bytes.NewReader(b))
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return a, c.wrap(err)
	}
	if a.RunID != "" {
		c.mu.Lock()
		c.runID = a.RunID
		c.mu.Unlock()
	}
	return a, nil
}

func (c *client) send(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	r, err := head(ctx, method, c.addr, path, c.token, body)
	if err != nil {
		return nil, c.wrap(err)
	}
	r.Header.Set(headerSession, c.session)
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.wrap(plain(err))
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		return nil, c.wrap(refusal(resp))
	}
	return resp, nil
}

// control does something to the node.
func (c *client) control(ctx context.Context, do string, q control) (string, error) {
	a, err := c.call(ctx, http.MethodPost, pathControl+do, q)
	return a.Proof, err
}

// RunID is that of the node's server.
func (c *client) RunID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.runID
}

// mostLog is as much as is fetched of a server's log.
const mostLog = 16 << 20

// saveLog fetches what the node's server has written.
func (c *client) saveLog(ctx context.Context, path string) error {
	resp, err := c.send(ctx, http.MethodGet, pathLog, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, io.LimitReader(resp.Body, mostLog))
	return errors.Join(err, f.Close())
}

// close ends the node, and the hold.
func (c *client) close(ctx context.Context) error {
	_, err := c.call(ctx, http.MethodDelete, pathNode, nil)
	c.http.CloseIdleConnections()
	return errors.Join(err, c.conn.Close())
}
