// Package remote has clusters whose servers are not of this machine.
package remote

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Plain is a server that this program did not start: a plain address, and no agent.
// It says where a secret is to be found, and never the secret.
type Plain struct {
	// Server is host:port.
	Server string `yaml:"server"`
	// User and the password are those of Redis's ACL; without a user, the password is
	// that of the user default.
	User         string `yaml:"user,omitempty"`
	PasswordEnv  string `yaml:"password_env,omitempty"`  // an environment variable
	PasswordFile string `yaml:"password_file,omitempty"` // or a file; its last line end is not part of it
	// TLS wraps connections. CA is a file of certificates to trust in place of the
	// system's, Cert and Key are the client's own, and ServerName is the name in the
	// server's certificate, where it is not the host of the address.
	TLS        bool   `yaml:"tls,omitempty"`
	CA         string `yaml:"ca,omitempty"`
	Cert       string `yaml:"cert,omitempty"`
	Key        string `yaml:"key,omitempty"`
	ServerName string `yaml:"server_name,omitempty"`

	// Password is refused: it is here so that the refusal does not repeat it.
	Password string `yaml:"password,omitempty"`
}

// PlainRoles are those that a plain server can have: it keeps keys, and has nothing
// to do with other nodes.
func PlainRoles() []string { return []string{"lock", "resource", "tokens"} }

// Check reports the first thing that is wrong. It never repeats what may be a secret.
func (p Plain) Check(roles []string) error {
	for _, r := range roles {
		if !slices.Contains(PlainRoles(), r) {
			return fmt.Errorf("a plain server cannot have the role %q, only %s: masters, replicas and Sentinels need an agent",
				r, strings.Join(PlainRoles(), ", "))
		}
	}
	switch {
	case p.Password != "":
		return errors.New("a password does not belong in a cluster file: name an environment variable (password_env) or a file (password_file)")
	case strings.ContainsAny(p.Server, "@/"): // redis://user:secret@host
		return errors.New("server: expected host:port alone; the user and the password have keys of their own")
	case p.PasswordEnv != "" && p.PasswordFile != "":
		return errors.New("password_env and password_file exclude each other")
	case p.User != "" && p.PasswordEnv == "" && p.PasswordFile == "":
		return fmt.Errorf("user %q needs a password: password_env or password_file", p.User)
	case !p.TLS && p.CA+p.Cert+p.Key+p.ServerName != "":
		return errors.New("ca, cert, key and server_name are for tls: true")
	case (p.Cert == "") != (p.Key == ""):
		return errors.New("cert and key go together")
	}
	return p.checkAddress()
}

func (p Plain) checkAddress() error {
	host, port, err := net.SplitHostPort(p.Server)
	if err == nil && host == "" {
		err = errors.New("no host")
	}
	if err == nil {
		var n uint64
		if n, err = strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			err = fmt.Errorf("port %q, expected 1 to 65535", port)
		}
	}
	if err != nil {
		return fmt.Errorf("server %q: %w: expected host:port", p.Server, err)
	}
	return nil
}
