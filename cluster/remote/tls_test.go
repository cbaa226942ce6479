package remote

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"lockchaos/internal/redistest"
)

// certificate makes one for a name, which is its own authority.
func certificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	save := func(file, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return save("cert.pem", "CERTIFICATE", der), save("key.pem", "EC PRIVATE KEY", keyDER)
}

// A server that wants TLS, a certificate of the client and a login is used like any
// other; one that is not who it should be is not told the password.
func TestTLS(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	l.Close()
	cert, key := certificate(t, "redis.test")
	s := redistest.Start(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", cert)
	good := limited(t, s)
	good.Server, good.TLS, good.CA, good.Cert, good.Key, good.ServerName = addr, true, cert, cert, key, "redis.test"
	with := func(change func(*Plain)) Plain {
		p := good
		change(&p)
		return p
	}
	stranger, strangersKey := certificate(t, "redis.test")
	for name, c := range map[string]struct {
		plain Plain
		says  string
	}{
		"all right":             {good, ""},
		"another name":          {with(func(p *Plain) { p.ServerName = "" }), "certificate"},
		"an unknown authority":  {with(func(p *Plain) { p.CA = "" }), "unknown authority"},
		"another's CA":          {with(func(p *Plain) { p.CA = stranger }), "TLS with"},
		"no client certificate": {with(func(p *Plain) { p.Cert, p.Key = "", "" }), "log in at"},
		"another's certificate": {with(func(p *Plain) { p.Cert, p.Key = stranger, strangersKey }), "log in at"},
		"no TLS":                {with(func(p *Plain) { p.TLS = false }), "log in at"},
		"no such file":          {with(func(p *Plain) { p.CA = "/nonexistent" }), "ca: open /nonexistent"},
		"a key as CA":           {with(func(p *Plain) { p.CA = key }), "no certificate in it"},
		"a key that is another": {with(func(p *Plain) { p.Key = strangersKey }), "does not match"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := openPlainServers(deadline(t), map[string]Plain{"n": c.plain})
			if err == nil {
				err = p.Close()
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v, expected %q", err, c.says)
			}
		})
	}
}
