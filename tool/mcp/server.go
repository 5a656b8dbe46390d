//go:build linux || darwin

package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/tool"
)

// State says how a server or a tool stands.
type State string

// The states.
const (
	Starting State = "starting"  // it was not up yet
	Ready    State = "ready"     // its tools can be called
	Failed   State = "failed"    // it could not be started, or it has ended; Reason says why
	Closed   State = "closed"    // the source was closed
	SetAside State = "set aside" // of a tool that cannot be offered; Reason says why
)

// server is one server's life.
type server struct {
	name    string
	config  Server
	source  *Servers
	secrets secrets
	settled chan struct{} // closed once it was up, or has failed, for the first time
	changed atomic.Bool   // it says that its list has changed
	overdue atomic.Bool   // somebody has waited for that list in vain
	asking  asking

	mu      sync.Mutex
	state   State
	reason  string
	link    *link         // of a server that is ready
	tools   []*remote     // as they were last listed, those set aside too
	notes   []string      // about the list
	listing chan struct{} // closed when the list that is being read again is; nil: none is
	again   time.Time     // when the next start is due, of one that failed; zero: never
	moved   chan struct{} // closed when state changes
	closing sync.Once
}

func newServer(source *Servers, name string, c Server) *server {
	return &server{
		name: name, config: c, source: source, secrets: secretsOf(c, source.config.Getenv),
		state: Starting, settled: make(chan struct{}), moved: make(chan struct{}),
	}
}

// live starts the server, and starts it again, until ctx ends or it has failed
// too often.
func (s *server) live(ctx context.Context) {
	defer s.become(Closed, "the servers were closed", nil)
	legacy := false
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		l, err := s.start(ctx, legacy)
		if err == nil {
			err = s.serve(ctx, l)
		} else {
			// Some servers cannot bear to be asked for the latest protocol.
			legacy = !legacy
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= steady {
			failures = 0
		}
		if failures++; failures > MaxRestarts {
			s.due(time.Time{})
			s.become(Failed, err.Error()+"; it was started "+strconv.Itoa(failures)+" times and is given up", nil)
			<-ctx.Done()
			return
		}
		s.pause(ctx, failures, err)
	}
}

// pause waits before the next start.
func (s *server) pause(ctx context.Context, failures int, err error) {
	wait := min(s.source.config.Backoff<<(failures-1), maxBackoff)
	s.due(time.Now().Add(wait))
	s.become(Failed, err.Error(), nil)
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// due notes when the next start is due. Zero: never.
func (s *server) due(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.again = at
}

// serve is the time that the server is up. It returns why that is over.
func (s *server) serve(ctx context.Context, l *link) error {
	s.become(Ready, "", l)
	select {
	case <-l.over:
	case <-ctx.Done():
	}
	s.due(time.Now()) // or soon after, once it is known how it has ended
	s.become(Failed, "it has ended", nil)
	return l.end()
}

// become changes the state, wakes who waits for that, and publishes it.
func (s *server) become(state State, reason string, l *link) {
	s.mu.Lock()
	if s.state == Closed {
		s.mu.Unlock()
		return
	}
	s.state, s.reason, s.link = state, reason, l
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
	s.closing.Do(func() { close(s.settled) })
	s.source.publish()
}

// link is a connection to a server.
type link struct {
	server  *server
	session *sdk.ClientSession
	child   *child        // nil: over HTTP
	client  *http.Client  // nil: a child
	over    chan struct{} // closed once the connection has ended
	broken  atomic.Bool   // a call has failed on it, so that it is about to end
}

// start connects to the server and lists its tools.
func (s *server) start(ctx context.Context, legacy bool) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.StartTimeout)
	defer cancel()
	l, err := s.connect(ctx, legacy)
	if err != nil {
		return nil, err
	}
	if err := s.list(ctx, l); err != nil {
		err = l.explain(ctx, err, "its tools could not be listed")
		_ = l.end()
		return nil, err
	}
	return l, nil
}

// connect makes the link, or says why there is none.
func (s *server) connect(ctx context.Context, legacy bool) (*link, error) {
	l := &link{server: s, over: make(chan struct{})}
	transport, err := s.transport(l)
	if err != nil {
		return nil, err
	}
	options := &sdk.ClientSessionOptions{}
	if legacy {
		options.ProtocolVersion = clientLegacy
	}
	l.session, err = s.client().Connect(ctx, transport, options)
	if err != nil {
		err = l.explain(ctx, err, "no connection")
		l.drop()
		return nil, err
	}
	go func() {
		defer close(l.over)
		_ = l.session.Wait() // why it ended is what explain finds out
	}()
	return l, nil
}

// transport is the way to the server.
func (s *server) transport(l *link) (sdk.Transport, error) {
	if s.config.URL != "" {
		return s.endpoint(l)
	}
	c, err := s.launch()
	if err != nil {
		return nil, err
	}
	l.child = c
	return c, nil
}

// client is what speaks to the server. It offers what there is: an answer to
// questions where somebody can be asked, and nothing else.
func (s *server) client() *sdk.Client {
	options := &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			if s.config.URL != "" { // else it was heard when it was read, and may be old news by now
				s.changed.Store(true)
			}
		},
	}
	if s.source.config.Elicit != nil {
		options.ElicitationHandler = s.elicit
		options.Capabilities.Elicitation = &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}
	}
	client := sdk.NewClient(s.source.config.implementation(), options)
	client.AddSendingMiddleware(freshLists)
	return client
}

// freshLists keeps the SDK from answering out of its memory when a list is asked for:
// that is done when the tools are said to be others.
func freshLists(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		answer, err := next(ctx, method, r)
		if list, ok := answer.(*sdk.ListToolsResult); ok {
			list.TTLMs = 0
		}
		return answer, err
	}
}

// end closes the link and returns why it had ended. When it returns the child is
// gone.
func (l *link) end() error {
	var err error
	select {
	case <-l.over:
		err = l.explain(context.Background(), sdk.ErrConnectionClosed, "the connection has ended")
	default:
		err = errors.New("it was closed")
	}
	if l.child != nil {
		l.child.stop() // first: a session that is closed waits for it
	}
	_ = l.session.Close() // the connection is over either way
	<-l.over
	l.drop()
	return err
}

// drop lets go of what a link is made of.
func (l *link) drop() {
	if l.child != nil {
		l.child.stop()
	}
	if l.client != nil {
		l.client.CloseIdleConnections()
	}
}

// explain words what went wrong with a link, of what the server left behind.
func (l *link) explain(ctx context.Context, err error, what string) error {
	s := l.server
	var b strings.Builder
	late := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case l.child != nil && l.child.givenUp() != "": // and told to end, which is no news
		b.WriteString(l.child.givenUp())
	case l.child != nil && !(late && l.child.told.Load()) && l.child.ended(err):
		b.WriteString(l.child.obituary())
	case late: // what was told to end for that has not died of itself
		b.WriteString("it was not up within " + s.config.StartTimeout.String())
		if l.child != nil {
			b.WriteString(l.child.noise() + l.child.complaint())
		}
	default:
		b.WriteString(what + ": " + err.Error())
	}
	return plain(s.redact(b.String()))
}

// maxReason bounds a reason, in bytes.
const maxReason = 2 << 10

// published are the tools that can be called, and what is missing, in words.
func (s *server) published() (tools []tool.Tool, warnings []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Ready {
		reason := s.reason
		if s.state == Starting {
			reason = "it is still starting"
		}
		return nil, []string{"mcp server " + s.name + " is left out: " + reason}
	}
	for _, r := range s.tools {
		if r.aside != "" {
			warnings = append(warnings, r.label()+" is left out: "+r.aside)
			continue
		}
		tools = append(tools, r)
	}
	for _, note := range s.notes {
		warnings = append(warnings, "mcp server "+s.name+": "+note)
	}
	if s.listing != nil {
		warnings = append(warnings, "mcp server "+s.name+": its tools have changed, and the list is still being read")
	}
	return tools, warnings
}
