// Package secret is the token that those must know who are to be listened to.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// Variable names the environment variable with the token, where no file is named.
const Variable = "LOCKCHAOS_TOKEN"

// shortest keeps out what can be guessed.
const shortest = 16

// Token is a secret that several programs share. It prints as nothing.
type Token struct{ secret string }

// String and GoString keep the token out of logs.
func (Token) String() string   { return "(token)" }
func (Token) GoString() string { return "(token)" }

// Absent tells that there is none.
func (t Token) Absent() bool { return t.secret == "" }

// Read reads the token from a file, or from the environment where none is
// named; absent where neither is there. What stands around it does not count.
// The variable is taken out of the environment: children have no use for it.
func Read(file string) (Token, error) {
	from, secret := "the environment variable "+Variable, os.Getenv(Variable)
	if err := os.Unsetenv(Variable); err != nil {
		return Token{}, err
	}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return Token{}, fmt.Errorf("cannot read the token: %w", err)
		}
		from, secret = file, string(b)
	} else if secret == "" {
		return Token{}, nil
	}
	secret = strings.TrimSpace(secret)
	if len(secret) < shortest {
		return Token{}, fmt.Errorf("the token in %s has %d characters, expected %d or more: head -c 32 /dev/urandom | base64 makes one",
			from, len(secret), shortest)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Token{}, fmt.Errorf("the token in %s: expected letters, digits and signs of ASCII on one line", from)
	}
	return Token{secret}, nil
}

// New makes a token of a text.
func New(text string) Token { return Token{text} }

// Set puts the token on a request.
func (t Token) Set(h http.Header) {
	if !t.Absent() {
		h.Set("Authorization", "Bearer "+t.secret)
	}
}

// Admits tells whether a request carries the token: as a bearer, or as the password
// that a browser asks its reader for. It takes as long for a wrong one.
func (t Token) Admits(r *http.Request) bool {
	if t.Absent() {
		return true
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		_, given, ok = r.BasicAuth()
	}
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(t.secret))
	return ok && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// ErrNone is returned for an address that others can reach, without a token.
var ErrNone = errors.New("no token: name a file with --token-file, or set " + Variable)

// MayListen refuses an address beyond this machine without a token.
func (t Token) MayListen(addr string) error {
	if !t.Absent() {
		return nil
	}
	if here, err := Loopback(addr); here || err != nil {
		return err
	}
	return fmt.Errorf("%s can be reached from other machines, and there is %w", addr, ErrNone)
}

// Loopback tells whether only this machine can reach an address to listen on.
func Loopback(addr string) (bool, error) {
	name, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false, fmt.Errorf("address %q: %w", addr, err)
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback(), nil
}
