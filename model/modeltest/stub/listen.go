package stub

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// Listener serves a handler on a port of the loopback interface.
type Listener struct {
	url    string
	server *http.Server
	served chan struct{}
	conns  sync.WaitGroup
}

// Listen starts a Listener on 127.0.0.1 and a free port. Close it.
func Listen(h http.Handler) (*Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &kernel.Error{
			Code:    kernel.CodeInternal,
			Message: "the stub server cannot listen on 127.0.0.1",
			Hint:    "check that this process may open a loopback port",
			Err:     fmt.Errorf("listen: %w", err),
		}
	}
	s := &Listener{url: "http://" + l.Addr().String(), served: make(chan struct{})}
	s.server = &http.Server{
		Handler:           h,
		ConnState:         s.count,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // a client that hangs up is no news
		ReadHeaderTimeout: time.Minute,
	}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(l) // ends with Close
	}()
	return s, nil
}

// count keeps the number of open connections.
func (s *Listener) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.conns.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.conns.Done()
	}
}

// URL is the address of the root, without a slash at the end.
func (s *Listener) URL() string { return s.url }

// OpenAIURL is the base URL for OpenAI-compatible clients; it ends in /v1.
func (s *Listener) OpenAIURL() string { return s.url + "/v1" }

// AnthropicURL is the base URL for Anthropic clients, without /v1.
func (s *Listener) AnthropicURL() string { return s.url }

// Close breaks every connection and returns when all handlers have ended. A
// second Close does nothing.
func (s *Listener) Close() {
	_ = s.server.Close()
	<-s.served
	// A connection that was accepted during the first Close is closed here.
	_ = s.server.Close()
	s.conns.Wait()
}

// Server is a Handler with a Listener.
type Server struct {
	*Handler
	*Listener
}

// Start starts a strict stub server. Close it.
func Start(o Options) (*Server, error) {
	h := New(o)
	l, err := Listen(h)
	if err != nil {
		return nil, err
	}
	return &Server{Handler: h, Listener: l}, nil
}
