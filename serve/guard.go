package serve

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"

	"lockchaos/internal/secret"
)

// What pages may load: the server's own style and script, and nothing from elsewhere.
const (
	policyPage = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// A report brings its style along, and has no script.
	policyReport = "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	// Porcupine's picture is a script, which gets an origin of its own.
	policyPicture = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
)

// guarded refuses calls that no page of ours makes, and sets what limits a page.
func (s *server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policyPage)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store") // results change, and are nobody else's
		switch {
		case !s.known(r.Host):
			refuse(w, http.StatusForbidden, errors.New("this server is not called so: use its address, or name the host with --host"))
		case !s.Token.Admits(r):
			h.Set("WWW-Authenticate", `Basic realm="lockchaos: the token is the password", charset="UTF-8"`)
			refuse(w, http.StatusUnauthorized, errors.New("the token is missing or wrong: it is the password, with any name"))
		case foreign(r):
			refuse(w, http.StatusForbidden, errors.New("pages of other sites may not load anything from here"))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			h.Set("Allow", "GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, errors.New("the results are only for reading"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// known tells whether the server may be called by this host. A name could be
// anybody's who lets it lead here (DNS rebinding); an address cannot.
func (s *server) known(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	if ip := net.ParseIP(host); ip != nil {
		return s.Public || ip.IsLoopback()
	}
	return host == "localhost" || slices.ContainsFunc(s.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// foreign tells that another site's page makes this call, and not by leading its
// reader here. Browsers say so.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}

// ErrPublic says that an address would be open to other machines.
var ErrPublic = errors.New("this address can be reached from other machines; --public allows that")

// CheckAddr refuses an address to listen on that is not loopback's.
func CheckAddr(addr string, public bool) error {
	if here, err := secret.Loopback(addr); here || public || err != nil {
		return err
	}
	return ErrPublic
}
