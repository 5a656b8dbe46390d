package config

import (
	"net"
	"net/url"
	"strings"
)

// MCPOAuth says as which client holdfast logs in to a server.
type MCPOAuth struct {
	ClientID string
	Secret   Variable // its name is empty: the client has none
	Issuer   string
	Redirect string // the address that browsers come back to; empty: one with a free port
	Scopes   []string
	Machine  bool // the client gets a token for itself
}

// The grants that a client may use.
const (
	grantCode    = "authorization_code"
	grantMachine = "client_credentials"
)

func (s *MCPServer) decodeOAuth(v value) error {
	o := &MCPOAuth{}
	grant := grantCode
	err := v.mapping(fields{
		"client_id":         into(&o.ClientID, nonEmpty),
		"client_secret_env": into(&o.Secret, variable),
		"issuer":            into(&o.Issuer, mcpURL),
		"redirect":          into(&o.Redirect, loopbackURL),
		"scopes": func(v value) error {
			return v.list(func(v value) error {
				scope, err := nonEmpty(v)
				o.Scopes = append(o.Scopes, scope)
				return err
			})
		},
		"grant": into(&grant, choice(grantCode, grantMachine)),
	})
	o.Machine = grant == grantMachine
	s.OAuth = o
	if err == nil && s.OAuth.Machine && o.Redirect != "" {
		return v.fail("take redirect out", "no browser comes back with the grant "+grantMachine)
	}
	return err
}

// loopbackURL reads an address of this machine that a browser can be sent back to.
func loopbackURL(v value) (string, error) {
	s, err := v.text()
	if err != nil {
		return "", err
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" || u.Port() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !strings.HasPrefix(u.Path, "/") || !isLoopback(u.Hostname()) {
		return "", v.fail("write http://127.0.0.1:8976/callback", "%.200q is no address of this machine that a browser can come back to", s)
	}
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// storedOAuth is how a client is kept with a run.
type storedOAuth struct {
	ClientID string   `json:"client_id,omitempty"`
	Secret   string   `json:"client_secret_env,omitempty"`
	Issuer   string   `json:"issuer,omitempty"`
	Redirect string   `json:"redirect,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
	Machine  bool     `json:"machine,omitempty"`
}

func storeOAuth(o *MCPOAuth) *storedOAuth {
	if o == nil {
		return nil
	}
	return &storedOAuth{ClientID: o.ClientID, Secret: o.Secret.Name, Issuer: o.Issuer, Redirect: o.Redirect, Scopes: o.Scopes, Machine: o.Machine}
}

func restoreOAuth(o *storedOAuth) *MCPOAuth {
	if o == nil {
		return nil
	}
	return &MCPOAuth{ClientID: o.ClientID, Secret: Variable{Name: o.Secret}, Issuer: o.Issuer, Redirect: o.Redirect, Scopes: o.Scopes, Machine: o.Machine}
}
