//go:build linux || darwin

package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/tool"
)

// borderSlack is what the border waits longer than a call.
const borderSlack = 5 * time.Second

// unconfirmed begins what a model is told of a call whose outcome is unknown.
const unconfirmed = "the external call could not be confirmed: "

// rejected is the code by which the SDK marks what its transport reports, and no
// server.
const rejected = -32005

// errOverdue is the cause of a call that has had its time.
var errOverdue = errors.New("the call has had its time")

// Run sends the call to the server, once.
func (r *remote) Run(ctx context.Context, c tool.Call) (tool.Result, error) {
	l, err := r.reach(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	own, stop := r.server.within(ctx)
	defer stop()
	answer, err := l.session.CallTool(own, &sdk.CallToolParams{Name: r.original, Arguments: c.Arguments})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code == longResult {
		return unusable(tooLong), nil
	}
	if err != nil {
		return tool.Result{}, r.failed(own, l, err)
	}
	return r.server.result(answer)
}

// reach returns the link to a server that still has the tool as it was offered.
// It waits a moment for one that is being started. Its errors say that nothing
// was sent.
func (r *remote) reach(ctx context.Context) (*link, error) {
	s := r.server
	unsent := func(code kernel.Code, why string) error {
		return &tool.Error{Code: code, Message: "not sent: " + why, Disposition: kernel.DidNotHappen}
	}
	timer := time.NewTimer(s.source.config.Wait)
	defer timer.Stop()
	for {
		s.mu.Lock()
		l, state, reason, moved := s.link, s.state, s.reason, s.moved
		known := slices.ContainsFunc(s.tools, func(t *remote) bool { return t.original == r.original && t.hash == r.hash && t.aside == "" })
		s.mu.Unlock()
		switch {
		case state == Ready && l.dead():
			// The state follows at once.
		case state == Ready && !known:
			return nil, unsent(kernel.CodeUnknownTool, "the server "+s.name+" no longer has this tool, or has changed it")
		case state == Ready:
			return l, nil
		case state == Closed, state == Failed && !s.soon():
			return nil, unsent(tool.CodeFailed, "the server "+s.name+" is not up: "+reason)
		}
		select {
		case <-moved:
		case <-timer.C:
			return nil, unsent(tool.CodeFailed, "the server "+s.name+" is not up: "+reason)
		case <-ctx.Done():
			return nil, unsent(tool.CodeTimeout, "the server "+s.name+" was not up in time")
		}
	}
}

// dead reports whether nothing can be sent over the link any more, as far as is
// known.
func (l *link) dead() bool {
	if l.child != nil {
		select {
		case <-l.child.proc.Done():
			return true
		default:
		}
	}
	select {
	case <-l.over:
		return true
	default:
		return l.broken.Load()
	}
}

// soon reports whether the next start of a server that is down is near enough to
// wait for.
func (s *server) soon() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.again) < s.source.config.Wait && !s.again.IsZero()
}

// within gives a call its time, which stands still while a person is asked.
func (s *server) within(ctx context.Context) (context.Context, func()) {
	if s.source.config.Elicit == nil {
		return context.WithTimeoutCause(ctx, s.config.Timeout, errOverdue)
	}
	over := s.asking.begin()
	own, cancel := context.WithCancelCause(ctx)
	timer := time.NewTimer(s.config.Timeout)
	done := make(chan struct{})
	go func() {
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				if s.asking.waiting() {
					timer.Reset(s.config.Timeout)
					continue
				}
				cancel(errOverdue)
				return
			}
		}
	}()
	return own, func() {
		close(done)
		cancel(nil)
		over()
	}
}

// failed classifies what came instead of a result.
func (r *remote) failed(ctx context.Context, l *link, err error) error {
	s := r.server
	if refusal, ok := errors.AsType[unauthorised](err); ok {
		return &tool.Error{Code: tool.CodeFailed, Message: "the server " + s.name + " has refused the call: " + s.redact(refusal.Error()), Disposition: kernel.DidNotHappen, Err: err}
	}
	if wire, ok := errors.AsType[*jsonrpc.Error](err); ok && wire.Code != rejected {
		return s.refused(wire)
	}
	switch {
	case errors.Is(context.Cause(ctx), errOverdue):
		return &tool.Error{Code: tool.CodeTimeout, Message: unconfirmed + "no answer within " + s.config.Timeout.String(), Err: err}
	case ctx.Err() != nil:
		return context.Cause(ctx) // the border knows what became of the run
	}
	l.broken.Store(l.child != nil) // over HTTP one call may fail alone
	why := l.explain(context.Background(), err, "the connection has failed")
	return &tool.Error{Message: unconfirmed + "the server " + s.name + ": " + why.Error(), Err: err}
}

// refused is a failure that the server itself has reported. That it knows no such
// tool or refuses the arguments is proof that nothing happened.
func (s *server) refused(wire *jsonrpc.Error) error {
	e := &tool.Error{Message: s.redact(fmt.Sprintf("the server %s reports an error: %s", s.name, wire.Message)), Err: wire}
	switch wire.Code {
	case jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams, jsonrpc.CodeInvalidRequest, jsonrpc.CodeParseError:
		e.Disposition = kernel.DidNotHappen
	}
	return e
}
