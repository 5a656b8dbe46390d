//go:build linux || darwin

package mcp

import (
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// checkURL refuses an endpoint that would be spoken to in clear over a network.
func checkURL(raw string, insecure bool) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.User != nil:
		return plain("its url is not one, or holds a user or a password")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && (insecure || loopback(u.Hostname())):
		return nil
	case u.Scheme == "http":
		return plain("its url must be https: http is for servers on this machine, unless insecure is set")
	}
	return plain("its url must begin with https://")
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// safeURL is a URL without what may be secret in it.
func safeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(its url)"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// endpoint is the way to a server over HTTP. The values of its headers are
// looked up now.
func (s *server) endpoint(l *link) (sdk.Transport, error) {
	headers := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(s.config.HeadersEnv)) {
		variable := s.config.HeadersEnv[name]
		value := s.source.config.Getenv(variable)
		switch {
		case value == "":
			return nil, plain("the environment has no " + variable + ", which holds its header " + name)
		case !validHeader(name, value):
			return nil, plain("the header " + name + " from " + variable + " is not one")
		}
		headers.Set(name, value)
	}
	client, err := newClient(s.config.URL, headers)
	if err != nil {
		return nil, err
	}
	l.client = client
	t := &sdk.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: client, MaxEventSize: 2 * maxMessage}
	if headers.Get("Authorization") != "" {
		return t, nil
	}
	if t.OAuthHandler, err = s.authoriser(); err != nil {
		return nil, err
	}
	return t, nil
}

// authoriser is what authorises requests. nil: nothing does.
func (s *server) authoriser() (auth.OAuthHandler, error) {
	if o := s.config.OAuth; o != nil && o.Machine {
		credentials, err := s.credentials()
		if err != nil {
			return nil, err
		}
		return &machine{credentials: credentials}, nil
	}
	if s.source.config.Tokens == nil {
		return nil, nil //nolint:nilnil // as its comment says
	}
	login, err := s.source.config.Tokens.Load(s.name, s.config.URL)
	if err != nil {
		return nil, err
	}
	return &keeper{server: s, login: login}, nil
}

func validHeader(name, value string) bool {
	for _, r := range name {
		if r <= ' ' || r >= 0x7f || r == ':' {
			return false
		}
	}
	for _, r := range value {
		if r < ' ' && r != '\t' || r == 0x7f {
			return false
		}
	}
	return name != ""
}

// newClient is an HTTP client whose headers go to one origin alone, and that
// follows no redirect away from it.
func newClient(endpoint string, headers http.Header) (*http.Client, error) {
	home, err := url.Parse(endpoint)
	if err != nil {
		return nil, plain("its url is not one")
	}
	base, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	own := base.Clone()
	return &http.Client{
		Transport: &homeward{base: own, home: home, headers: headers},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) >= 5 || r.URL.Scheme != home.Scheme || r.URL.Host != home.Host {
				return http.ErrUseLastResponse
			}
			return nil
		},
	}, nil
}

// homeward adds headers to the requests to one origin, and bounds the answers.
type homeward struct {
	base    *http.Transport
	home    *url.URL
	headers http.Header
}

// RoundTrip sends a request.
func (h *homeward) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == h.home.Scheme && r.URL.Host == h.home.Host && len(h.headers) > 0 {
		r = r.Clone(r.Context())
		maps.Copy(r.Header, h.headers)
	}
	answer, err := h.base.RoundTrip(r)
	if err == nil {
		err = shorten(answer, askedID(r))
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// CloseIdleConnections closes what is not in use.
func (h *homeward) CloseIdleConnections() { h.base.CloseIdleConnections() }
