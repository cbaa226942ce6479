package remote

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"lockchaos/scenario"
)

// Plain is a server that this program did not start: a plain address, and no agent.
// It says where a secret is to be found, and never the secret.
type Plain struct {
	// Server is host:port.
	Server string `yaml:"server,omitempty"`
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
}

// plainRoles are those that a plain server can have: it keeps keys, and has nothing
// to do with other nodes.
var plainRoles = []string{RoleLock, RoleResource, RoleTokens}

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// check tells what is wrong, and with which key.
func (p Plain) check(roles []string) (key, message string) {
	for i, r := range roles {
		if !slices.Contains(plainRoles, r) {
			return fmt.Sprintf("roles[%d]", i), fmt.Sprintf("%q, and a plain server can only be %s: what else there is needs an agent", r, strings.Join(plainRoles, ", "))
		}
	}
	if err := CheckAddress(p.Server); err != nil {
		return "server", err.Error()
	}
	switch {
	case p.PasswordEnv != "" && p.PasswordFile != "":
		return "password_file", "there is a password_env, too: expected one of them"
	case p.PasswordEnv != "" && !variableForm.MatchString(p.PasswordEnv): // it might be the password itself
		return "password_env", "expected the name of an environment variable: letters, digits and _"
	case p.User != "" && p.PasswordEnv == "" && p.PasswordFile == "":
		return "user", fmt.Sprintf("%q needs a password: password_env or password_file", p.User)
	case !p.TLS && p.CA+p.Cert+p.Key+p.ServerName != "":
		return "server", "ca, cert, key and server_name are for tls: true"
	case (p.Cert == "") != (p.Key == ""):
		return "tls", "cert and key go together"
	}
	return "", ""
}

// A secret in a cluster file is refused before the file is read as YAML, whose errors
// show the lines around them.
var (
	passwordKey = regexp.MustCompile(`(?i)(^|[\s{,"'-])(password|requirepass|auth|secret)["']?\s*:`)
	comment     = regexp.MustCompile(`(^|\s)#.*`)
	addressUser = regexp.MustCompile(`://|:[^\s"']*@`)
)

func checkSecrets(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := comment.ReplaceAllString(lines.Text(), "")
		switch {
		case passwordKey.MatchString(text):
			return &scenario.Error{File: path, Line: n, Message: "a secret does not belong in a cluster file: name an environment variable (password_env) or a file (password_file)"}
		case addressUser.MatchString(text):
			return &scenario.Error{File: path, Line: n, Message: "an address is host:port alone: the user and the password have keys of their own"}
		}
	}
	return nil // what is too long for a line is no YAML of ours, and is refused there
}
