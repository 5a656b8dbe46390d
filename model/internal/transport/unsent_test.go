package transport

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// secured starts a TLS server that says nothing.
func secured(t *testing.T, c *tls.Config) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.TLS = c
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestNothingSent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String()
	l.Close()
	old := secured(t, &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	for name, tt := range map[string]struct{ url, message string }{
		"refused":    {closed, "the endpoint refused the connection"},
		"name":       {"http://no..name", "the endpoint's name was not resolved"},
		"an old TLS": {old.URL, refusedTLS},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := post(t.Context(), client(t, tt.url), time.Minute)
			fails(t, err, kernel.FailConnection)
			if err.Message != tt.message {
				t.Errorf("message %q, want %q", err.Message, tt.message)
			}
		})
	}
}

// What waiting does not heal is told apart from a network that may come back.
func TestUntrusted(t *testing.T) {
	secure := secured(t, nil)
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	noTLS := "https" + strings.TrimPrefix(plain.URL, "http")
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	at := func(when time.Time) *tls.Config {
		return &tls.Config{RootCAs: roots, Time: func() time.Time { return when }}
	}
	for name, tt := range map[string]struct {
		url     string
		own     *tls.Config // nil: of the client made here
		message string
	}{
		"authority":    {secure.URL, nil, "the endpoint's certificate is of an authority that this machine does not trust"},
		"another host": {secure.URL, &tls.Config{RootCAs: roots, ServerName: "other.test"}, "the endpoint's certificate is for another host"},
		"expired":      {secure.URL, at(secure.Certificate().NotAfter.Add(time.Hour)), "the endpoint's certificate has expired, or is not valid yet"},
		"too early":    {secure.URL, at(secure.Certificate().NotBefore.Add(-time.Hour)), "the endpoint's certificate has expired, or is not valid yet"},
		"no TLS":       {noTLS, nil, "the endpoint does not speak TLS"},
		"no TLS, own":  {noTLS, &tls.Config{}, "the endpoint does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			c := client(t, tt.url)
			if tt.own != nil {
				c.HTTP = NewHTTP(&http.Client{Transport: &http.Transport{TLSClientConfig: tt.own}})
			}
			_, err := post(t.Context(), c, time.Minute)
			fails(t, err, kernel.FailTLS)
			if err.Message != tt.message {
				t.Errorf("message %q, want %q", err.Message, tt.message)
			}
			c.CloseIdle()
		})
	}
}

// A certificate that cannot be used for what it is used for.
func TestNotAccepted(t *testing.T) {
	err := &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.IncompatibleUsage, Detail: secret}}
	if got := untrusted(err); got != "the endpoint's certificate was not accepted" {
		t.Errorf("%q", got)
	}
}

// staying is a listener whose connections end with the test: what a server says
// before it closes one always arrives.
type staying struct {
	net.Listener
	t *testing.T
}

func (l staying) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.t.Cleanup(func() { c.Close() })
	return open{c}, nil
}

type open struct{ net.Conn }

func (open) Close() error { return nil }

// Whether the request is on its way when a server asks for a certificate is not
// for this side to decide.
func TestACertificateOfTheClient(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.Listener = staying{secure.Listener, t}
	secure.StartTLS()
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	c := client(t, secure.URL)
	c.HTTP = NewHTTP(&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}})
	defer c.CloseIdle()
	_, err := post(t.Context(), c, time.Minute)
	if err == nil || err.Kind != kernel.FailCut && err.Kind != kernel.FailConnection || err.Message != refusedTLS {
		t.Errorf("%+v", err)
	}
}
