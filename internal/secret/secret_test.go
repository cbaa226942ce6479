package secret_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockchaos/internal/secret"
)

func TestToken(t *testing.T) {
	t.Setenv(secret.Variable, "")
	file := filepath.Join(t.TempDir(), "token")
	if token, err := secret.Read(""); err != nil || !token.Absent() {
		t.Errorf("without any: %v, %v", token, err)
	}
	if err := os.Setenv(secret.Variable, "0123456789abcdef"); err != nil {
		t.Fatal(err)
	}
	if token, err := secret.Read(""); err != nil || token.Absent() || os.Getenv(secret.Variable) != "" {
		t.Errorf("by the environment: absent %v, %v, and left in it %q", token.Absent(), err, os.Getenv(secret.Variable))
	}
	for text, says := range map[string]string{
		"0123456789abcdef\n": "", "short": "5 characters", "two words, and long enough": "on one line", "": "0 characters",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		token, err := secret.Read(file)
		if says == "" && (err != nil || token.String() != "(token)" || token.Absent()) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%q: %v, %v", text, token, err)
		}
		if err != nil && text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	for addr, ok := range map[string]bool{
		"127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true, "127.3.0.1:1": true,
		":1": false, "0.0.0.0:1": false, "10.0.0.1:1": false, "[::]:1": false, "name:1": false, "nonsense": false,
	} {
		if err := (secret.Token{}).MayListen(addr); (err == nil) != ok {
			t.Errorf("without a token on %s: %v", addr, err)
		}
	}
}

func TestAdmits(t *testing.T) {
	t.Parallel()
	token := secret.New("0123456789abcdef")
	for name, c := range map[string]struct {
		set func(*http.Request)
		ok  bool
	}{
		"bearer":         {func(r *http.Request) { token.Set(r.Header) }, true},
		"password":       {func(r *http.Request) { r.SetBasicAuth("anybody", "0123456789abcdef") }, true},
		"nothing":        {func(*http.Request) {}, false},
		"another bearer": {func(r *http.Request) { secret.New("0123456789abcdeg").Set(r.Header) }, false},
		"a part":         {func(r *http.Request) { secret.New("0123456789abcde").Set(r.Header) }, false},
		"empty bearer":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer ") }, false},
		"another one":    {func(r *http.Request) { r.SetBasicAuth("0123456789abcdef", "") }, false},
		"another scheme": {func(r *http.Request) { r.Header.Set("Authorization", "Basic 0123456789abcdef") }, false},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.set(r)
		if got := token.Admits(r); got != c.ok {
			t.Errorf("%s: %v", name, got)
		}
		if !(secret.Token{}).Admits(r) {
			t.Errorf("%s: refused where there is no token", name)
		}
	}
}
