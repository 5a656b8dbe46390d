//go:build linux || darwin

// Package mcp gives a run the tools of Model Context Protocol servers, as a
// tool.Source.
//
// A server is a child process that is spoken to over its standard input and
// output, or an endpoint of the streamable HTTP transport. Each has its own
// goroutine, limits and fate: one that is slow, broken or dead leaves its tools
// out and holds up nothing else. What a server says of its tools is foreign: a
// definition is shown to a model and checked, and it grants nothing.
//
// A call is sent once. What became of one that was cut off, by its time or by
// the end of its server, is in doubt unless the tool is configured as a read;
// nothing here sends it again.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/oauth2"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// Defaults and bounds of a Config.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultStartTimeout = 10 * time.Second
	DefaultWait         = 2 * time.Second
	DefaultBackoff      = 250 * time.Millisecond
	MaxServers          = 32
	// MaxRestarts is how often a server is started again in a row. Having been up
	// for a minute ends the row.
	MaxRestarts  = 5
	maxTimeout   = time.Hour
	maxBackoff   = 10 * time.Second
	steady       = time.Minute
	elicitWait   = 10 * time.Minute // for a person's answer, on top of a call's time
	maxBlocks    = 1000
	maxChars     = 1 << 20
	maxResult    = 64 << 10 // bytes of a result for a model
	clientName   = "holdfast"
	clientLegacy = "2025-11-25" // for servers that cannot bear to be asked for a later one
)

// Config says which servers there are.
type Config struct {
	// Servers by name: 1–40 letters, digits, "-" and single "_", letters or digits
	// at both ends. At least one, at most MaxServers.
	Servers map[string]Server
	// Dir is the working directory of the servers, and where a relative path of a
	// command starts from. Empty: the host's own.
	Dir string
	// Elicit asks a person what a server wants to know during a call. It must be
	// safe for concurrent use. nil: servers are told that nobody can be asked.
	Elicit func(ctx context.Context, q Question) (Answer, error)
	// Getenv finds the values of EnvFrom and HeadersEnv when a server is connected to, such as
	// os.Getenv. nil: there are none.
	Getenv func(string) string
	// Tokens holds what logins have brought. nil: none.
	Tokens TokenStore
	// Wait bounds how long Snapshot waits for servers: once for those that
	// start, and each time for lists that have changed. 0: 2 s.
	Wait time.Duration
	// Backoff is the time before a server is started again, which doubles up to
	// 10 s. 0: 250 ms.
	Backoff time.Duration
	Logger  *slog.Logger // what servers print on standard output that is no message; nil: nothing is logged
	Version string       // of the host, told to servers
}

// Server is one server: Command or URL.
type Server struct {
	Command []string          // argv; started without a shell
	Env     map[string]string // added to a short environment; nothing else of the host's is seen
	// EnvFrom is added to that, too: the server's variables by those that Getenv knows
	// their values by.
	EnvFrom map[string]string
	URL     string // https, or http of this machine
	// HeadersEnv are HTTP headers by the environment variables that hold their
	// values.
	HeadersEnv map[string]string
	// Insecure allows an http URL of another machine.
	Insecure     bool
	OAuth        *OAuth        // as which client the host logs in, of a URL; nil: one that registers itself
	Timeout      time.Duration // of a call, at most 1 h; 0: 30 s
	StartTimeout time.Duration // of connecting and listing, at most 1 h; 0: 10 s
	// Effects are the classes of tools by their names at the server: read, idempotent or
	// once. Of others it is once.
	Effects map[string]kernel.EffectClass
	// Pin holds hashes of definitions (see Status.Hash) by tool. A pinned tool with another
	// definition is set aside.
	Pin    map[string]string
	Limits *Limits // nil: results are shortened to what fits, and not refused
}

// Limits refuse the results of a server that are not what was agreed: text that
// is not blank, in so many blocks and characters.
type Limits struct {
	Blocks     int  // 1–1000; 0: 1000
	Chars      int  // of all blocks together, 1–1,048,576; 0: 1,048,576
	Structured bool // structured content is accepted
}

// Servers is the tool.Source of the configured servers. It is safe for
// concurrent use. Close it.
type Servers struct {
	config  Config
	servers []*server // in the order of their names
	ctx     context.Context
	cancel  context.CancelFunc
	begin   sync.Once
	first   chan struct{} // closed when the wait for the first start is over
	work    sync.WaitGroup

	// life guards closed. A server's own lock may be held where it is taken, and no
	// other one is taken under it.
	life   sync.Mutex
	closed bool

	mu       sync.Mutex // a server's own lock may be taken under it, and not the other way round
	version  int        // counts what the servers publish
	made     int        // the version that set and warnings are of
	set      *tool.Set
	warnings []string
}

var (
	_ tool.Source    = (*Servers)(nil)
	_ tool.Immediate = (*Servers)(nil)
)

// New returns the servers' source, or CONFIGURATION. It starts nothing.
func New(c Config) (*Servers, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Servers{config: c, ctx: ctx, cancel: cancel, first: make(chan struct{}), made: -1}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		s.servers = append(s.servers, newServer(s, name, c.Servers[name]))
	}
	return s, nil
}

// Start starts the servers, at once and in parallel, unless they were started
// or the source is closed. It does not wait.
func (s *Servers) Start() {
	s.begin.Do(func() {
		for _, one := range s.servers {
			s.spawn(func() { one.live(s.ctx) })
		}
		if !s.spawn(s.awaitFirst) {
			close(s.first)
		}
	})
}

// awaitFirst ends the wait for the first start.
func (s *Servers) awaitFirst() {
	defer close(s.first)
	timer := time.NewTimer(s.config.Wait)
	defer timer.Stop()
	for _, one := range s.servers {
		select {
		case <-one.settled:
		case <-timer.C:
			return
		case <-s.ctx.Done():
			return
		}
	}
}

// Snapshot returns the tools of the servers that are up, and starts them where
// nobody has. It waits at most Config.Wait, once, for those that are starting, and at most as
// long for the lists of those that have said that theirs has changed: once for a list
// that is not there by then. What is left out is named in the warnings.
func (s *Servers) Snapshot(ctx context.Context) (*tool.Set, []string) {
	s.Start()
	select {
	case <-s.first:
	case <-ctx.Done():
	}
	s.refresh(ctx)
	return s.snapshot()
}

// refresh lists the tools of the servers whose lists have changed.
func (s *Servers) refresh(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Wait)
	defer cancel()
	var all sync.WaitGroup
	for _, one := range s.servers {
		if one.stale() {
			all.Go(func() { one.relist(ctx) })
		}
	}
	all.Wait()
}

// Immediate reports whether no server has said that its tools have changed, and
// nobody has waited yet for what they are now.
func (s *Servers) Immediate() bool {
	return !slices.ContainsFunc(s.servers, func(one *server) bool { return one.stale() && !one.overdue.Load() })
}

// snapshot joins what the servers have published.
func (s *Servers) snapshot() (*tool.Set, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == s.version {
		return s.set, s.warnings
	}
	s.made = s.version
	var tools []tool.Tool
	s.warnings = nil
	for _, one := range s.servers {
		more, warnings := one.published()
		tools = append(tools, more...)
		s.warnings = append(s.warnings, warnings...)
	}
	tools, aside := distinct(tools)
	s.warnings = append(s.warnings, aside...)
	set, err := tool.NewSet(tools...)
	if err != nil { // each was judged before
		s.warnings = append(s.warnings, "mcp: the tools are left out: "+err.Error())
	}
	if s.set == nil || set.Digest() != s.set.Digest() || !same(s.set, set) {
		s.set = set
	}
	return s.set, s.warnings
}

// same reports whether two sets hold the same tools, and not only equal ones.
func same(a, b *tool.Set) bool {
	return slices.EqualFunc(a.Names(), b.Names(), func(x, y string) bool {
		one, _ := a.Lookup(x)
		other, _ := b.Lookup(y)
		return x == y && one == other
	})
}

// distinct leaves out tools whose names are taken, and those that are too many
// for a set.
func distinct(tools []tool.Tool) (kept []tool.Tool, warnings []string) {
	taken := map[string]bool{}
	for _, t := range tools {
		r, _ := t.(*remote)
		switch {
		case taken[r.spec.Name]:
			warnings = append(warnings, r.label()+" is left out: its name is taken")
		case len(kept) == tool.MaxTools:
			warnings = append(warnings, r.label()+" is left out: there are over "+strconv.Itoa(tool.MaxTools)+" tools")
		default:
			taken[r.spec.Name] = true
			kept = append(kept, t)
		}
	}
	return kept, warnings
}

// spawn starts work that Close waits for. Once it was called nothing is started.
func (s *Servers) spawn(work func()) bool {
	s.life.Lock()
	defer s.life.Unlock()
	if !s.closed {
		s.work.Go(work)
	}
	return !s.closed
}

// publish notes that a server has something new to say.
func (s *Servers) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
}

// Close ends the servers and fails the calls that are under way. When it returns
// their processes have ended, whole groups of them. It never fails, and may be called more than
// once.
func (s *Servers) Close() error {
	s.cancel()
	s.life.Lock()
	s.closed = true
	s.life.Unlock()
	s.begin.Do(func() { close(s.first) })
	s.work.Wait()
	return nil
}

// complete fills in the defaults and judges the rest.
func (c *Config) complete() error {
	if len(c.Servers) == 0 || len(c.Servers) > MaxServers {
		return configuration("there must be from 1 to "+strconv.Itoa(MaxServers)+" servers", "")
	}
	if c.Wait < 0 || c.Backoff < 0 {
		return configuration("the waits of mcp servers must be positive", "")
	}
	c.Wait = orDefault(c.Wait, DefaultWait)
	c.Backoff = orDefault(c.Backoff, DefaultBackoff)
	if c.Getenv == nil {
		c.Getenv = func(string) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Servers = maps.Clone(c.Servers)
	for name, s := range c.Servers {
		if !legalServer(name) {
			return configuration(fmt.Sprintf("an mcp server cannot be named %.80q", name), `use 1–40 letters, digits, "-" and single "_", with letters or digits at both ends`)
		}
		if err := s.complete(); err != nil {
			return configuration("mcp server "+name+": "+err.Error(), "")
		}
		c.Servers[name] = s
	}
	return nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

func (s *Server) complete() error {
	s.Timeout = orDefault(s.Timeout, DefaultTimeout)
	s.StartTimeout = orDefault(s.StartTimeout, DefaultStartTimeout)
	s.Command, s.Env, s.HeadersEnv = slices.Clone(s.Command), maps.Clone(s.Env), maps.Clone(s.HeadersEnv)
	s.EnvFrom, s.Effects, s.Pin = maps.Clone(s.EnvFrom), maps.Clone(s.Effects), maps.Clone(s.Pin)
	switch {
	case (len(s.Command) == 0) == (s.URL == ""):
		return plain("it needs a command or a url, and not both")
	case len(s.Command) > 0 && s.Command[0] == "":
		return plain("its command names no program")
	case len(s.Command) > 0 && len(s.HeadersEnv) > 0:
		return plain("headers are for servers with a url")
	case s.URL != "" && len(s.Env)+len(s.EnvFrom) > 0:
		return plain("an environment is for servers with a command")
	case s.Timeout < 0 || s.Timeout > maxTimeout || s.StartTimeout < 0 || s.StartTimeout > maxTimeout:
		return plain("its timeouts must be positive and at most 1h")
	}
	for name, effect := range s.Effects {
		if effect != kernel.Read && effect != kernel.Idempotent && effect != kernel.Once {
			return plain(fmt.Sprintf("the effect class of %.80q must be read, idempotent or once", name))
		}
	}
	if err := s.completeURL(); err != nil {
		return err
	}
	return s.completeLimits()
}

func (s *Server) completeURL() error {
	switch {
	case s.URL == "" && s.OAuth != nil:
		return plain("logins are for servers with a url")
	case s.URL == "":
		return nil
	}
	if err := checkURL(s.URL, s.Insecure); err != nil || s.OAuth == nil {
		return err
	}
	own := *s.OAuth
	own.Scopes = slices.Clone(own.Scopes)
	s.OAuth = &own
	return own.check()
}

func (s *Server) completeLimits() error {
	if s.Limits == nil {
		return nil
	}
	l := *s.Limits
	if l.Blocks == 0 {
		l.Blocks = maxBlocks
	}
	if l.Chars == 0 {
		l.Chars = maxChars
	}
	if l.Blocks < 0 || l.Blocks > maxBlocks || l.Chars < 0 || l.Chars > maxChars {
		return plain(fmt.Sprintf("its limits must be positive, blocks at most %d and chars at most %d", maxBlocks, maxChars))
	}
	s.Limits = &l
	return nil
}

// plain is an error that is all words.
type plain string

func (p plain) Error() string { return string(p) }

func configuration(msg, hint string) error {
	return &kernel.Error{Code: kernel.CodeConfiguration, Message: msg, Hint: hint}
}

// TokenStore keeps what a login brought, by server. It is safe for concurrent
// use.
type TokenStore interface {
	// Load returns what was saved for a server with that URL, and nil where there
	// is nothing.
	Load(server, url string) (*Login, error)
	// Save keeps it.
	Save(server, url string, login *Login) error
}

// Login is what a login brought. It is secret.
type Login struct {
	Token  *oauth2.Token `json:"token"`
	Client oauth2.Config `json:"client"` // to refresh the token
}

// implementation is what servers are told of the host.
func (c *Config) implementation() *sdk.Implementation {
	version := c.Version
	if version == "" {
		version = "dev"
	}
	return &sdk.Implementation{Name: clientName, Version: version}
}

// rawJSON marshals what came out of JSON before.
func rawJSON(v any) (json.RawMessage, error) { return json.Marshal(v) }
