package remote

import (
	"strings"
	"testing"
)

func TestPlainCheck(t *testing.T) {
	for name, c := range map[string]struct {
		plain Plain
		roles []string
		says  string // empty where it is right
	}{
		"an address":         {Plain{Server: "10.0.0.5:6379"}, []string{"lock"}, ""},
		"a name":             {Plain{Server: "redis.example:6379", TLS: true, ServerName: "r"}, []string{"resource", "tokens"}, ""},
		"IPv6":               {Plain{Server: "[::1]:6379", User: "u", PasswordEnv: "P"}, nil, ""},
		"nothing":            {Plain{}, nil, "expected host:port"},
		"no port":            {Plain{Server: "10.0.0.5"}, nil, "expected host:port"},
		"no host":            {Plain{Server: ":6379"}, nil, "no host"},
		"a port of letters":  {Plain{Server: "h:redis"}, nil, `port "redis"`},
		"port 0":             {Plain{Server: "h:0"}, nil, `port "0"`},
		"a master":           {Plain{Server: "h:1"}, []string{"lock", "master"}, `the role "master"`},
		"a URL":              {Plain{Server: "redis://u:" + hush + "@h:1"}, nil, "host:port alone"},
		"user@host":          {Plain{Server: "u:" + hush + "@h:1"}, nil, "host:port alone"},
		"a password":         {Plain{Server: "h:1", Password: hush}, nil, "does not belong in a cluster file"},
		"two passwords":      {Plain{Server: "h:1", PasswordEnv: "A", PasswordFile: "b"}, nil, "exclude"},
		"user, no password":  {Plain{Server: "h:1", User: "u"}, nil, "needs a password"},
		"ca without tls":     {Plain{Server: "h:1", CA: "ca.pem"}, nil, "tls: true"},
		"cert without a key": {Plain{Server: "h:1", TLS: true, Cert: "c.pem"}, nil, "go together"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.plain.Check(c.roles)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, expected %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), hush) {
				t.Errorf("it repeats a secret: %v", err)
			}
		})
	}
}

// hush is a secret, which nothing may repeat.
const hush = "hush-hush-8d1f"
