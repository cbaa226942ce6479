package remote

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

// mostSecret is the largest password file, in bytes.
const mostSecret = 4096

// secret reads the password. A variable of the environment stays until forget.
func (p Plain) secret() (string, error) {
	switch {
	case p.PasswordEnv != "":
		s, ok := os.LookupEnv(p.PasswordEnv)
		if !ok || s == "" {
			return "", fmt.Errorf("password_env: the environment variable %s is not set", p.PasswordEnv)
		}
		return s, nil
	case p.PasswordFile != "":
		f, err := os.Open(p.PasswordFile)
		if err != nil {
			return "", fmt.Errorf("password_file: %w", err)
		}
		defer f.Close()
		b, err := io.ReadAll(io.LimitReader(f, mostSecret+1))
		if err != nil {
			return "", fmt.Errorf("password_file: %w", err)
		}
		s := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		if s == "" || len(b) > mostSecret {
			return "", fmt.Errorf("password_file %s: expected 1 to %d bytes", p.PasswordFile, mostSecret)
		}
		return s, nil
	}
	return "", nil
}

// forget takes the password out of the environment, which children would inherit.
func (p Plain) forget() {
	if p.PasswordEnv != "" {
		_ = os.Unsetenv(p.PasswordEnv) // fails for impossible names only
	}
}

// dialer connects, and logs in, so that whoever uses the connection needs no secret.
type dialer struct {
	addr  string
	login []string // AUTH …; absent where nobody logs in
	tls   *tls.Config
}

func (p Plain) dialer() (*dialer, error) {
	password, err := p.secret()
	if err != nil {
		return nil, err
	}
	d := &dialer{addr: p.Server}
	switch {
	case p.User != "":
		d.login = []string{"AUTH", p.User, password}
	case password != "":
		d.login = []string{"AUTH", password}
	}
	if p.TLS {
		d.tls, err = p.tlsConfig()
	}
	return d, err
}

func (p Plain) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: p.ServerName}
	if c.ServerName == "" {
		c.ServerName, _, _ = net.SplitHostPort(p.Server) // checked
	}
	if p.CA != "" {
		pem, err := os.ReadFile(p.CA)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca %s: no certificate in it", p.CA)
		}
	}
	if p.Cert != "" {
		pair, err := tls.LoadX509KeyPair(p.Cert, p.Key)
		if err != nil {
			return nil, fmt.Errorf("cert %s: %w", p.Cert, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Dial opens a connection that is logged in.
func (d *dialer) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.addr)
	if err != nil {
		return nil, err
	}
	ready, err := d.ready(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return ready, nil
}

func (d *dialer) ready(ctx context.Context, conn net.Conn) (net.Conn, error) {
	if d.tls != nil {
		c := tls.Client(conn, d.tls)
		if err := c.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS with %s: %w", d.addr, err)
		}
		conn = c
	}
	if d.login == nil {
		return conn, nil
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
	err := d.authenticate(conn)
	if !stop() { // the deadline may come yet
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return nil, fmt.Errorf("log in at %s: %w", d.addr, err)
	}
	return conn, nil
}

// authenticate reads no byte beyond the reply.
func (d *dialer) authenticate(conn net.Conn) error {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(d.login))
	for _, w := range d.login {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(w), w)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return err
	}
	const longest = 1024
	var line []byte
	for one := make([]byte, 1); len(line) < longest; {
		if _, err := io.ReadFull(conn, one); err != nil {
			return err
		}
		if line = append(line, one[0]); one[0] == '\n' {
			break
		}
	}
	if text := strings.TrimSpace(string(line)); text != "+OK" {
		return errors.New(strings.TrimPrefix(text, "-")) // the server's words; they name no password
	}
	return nil
}
