//go:build linux || darwin

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Question is what a server wants to know of a person during a call. All of it
// comes from the server.
type Question struct {
	Server  string
	Message string
	// Schema describes the fields of the answer, a JSON Schema of a flat object;
	// nil where a page is to be visited.
	Schema json.RawMessage
	URL    string // a page to visit; empty: there is a form to fill
}

// Answer is what a person says to a Question. The zero value declines.
type Answer struct {
	Accept  bool
	Content map[string]any // the fields, of an accepted form
}

// The bounds of what a server asks.
const (
	maxQuestions = 20       // while calls are under way
	maxForm      = 16 << 10 // bytes of a form
	maxFields    = 32       // of a form
	maxPage      = 2 << 10  // bytes of the address of a page
)

// asking are the questions of a server. They belong to its calls: with none under
// way there is none, and with the last call they end.
type asking struct {
	mu     sync.Mutex
	calls  int             // under way
	asked  int             // since there was none
	open   int             // that a person has not answered
	ctx    context.Context //nolint:containedctx // of the calls that are under way
	cancel context.CancelFunc
}

// begin notes a call, until end is called.
func (a *asking) begin() (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls++; a.calls == 1 {
		a.asked = 0
		a.ctx, a.cancel = context.WithCancel(context.Background())
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.calls--; a.calls == 0 {
			a.cancel()
		}
	}
}

// question notes one, until end is called, or says why there must not be another.
func (a *asking) question(ctx context.Context) (own context.Context, end func(), err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.calls == 0:
		return nil, nil, plain("questions are taken during a call, and none is under way")
	case a.asked == maxQuestions:
		return nil, nil, plain(fmt.Sprintf("it has asked %d questions, and no more are taken before its calls are over", maxQuestions))
	}
	a.asked++
	a.open++
	own, cancel := context.WithTimeout(ctx, elicitWait)
	stop := context.AfterFunc(a.ctx, cancel)
	return own, func() {
		stop()
		cancel()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.open--
	}, nil
}

// waiting reports whether a person is asked.
func (a *asking) waiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open > 0
}

// elicit puts a server's question to a person.
func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	q, err := s.questionOf(r.Params)
	if err != nil {
		return nil, s.declined(err)
	}
	ctx, end, err := s.asking.question(ctx)
	if err != nil {
		return nil, s.declined(err)
	}
	defer end()
	answer, err := s.source.config.Elicit(ctx, q)
	switch {
	case err != nil:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case !answer.Accept:
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	return &sdk.ElicitResult{Action: "accept", Content: answer.Content}, nil
}

// questionOf is what a person is shown, or why they are not.
func (s *server) questionOf(p *sdk.ElicitParams) (Question, error) {
	q := Question{Server: s.name, Message: s.redact(p.Message), URL: p.URL}
	if p.URL != "" {
		page, err := url.Parse(p.URL)
		if err != nil || len(p.URL) > maxPage || page.Host == "" || page.Scheme != "https" && page.Scheme != "http" {
			return q, plain("the page that it wants to be visited is none, or its address is over 2 KiB")
		}
	}
	if p.RequestedSchema == nil {
		return q, nil
	}
	schema, err := rawJSON(hideIn(p.RequestedSchema, s.secrets.all))
	var form struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	switch {
	case err != nil || json.Unmarshal(schema, &form) != nil:
		return q, plain("its form is none")
	case len(schema) > maxForm || len(form.Properties) > maxFields:
		return q, plain(fmt.Sprintf("its form is over %d KiB, or has over %d fields", maxForm>>10, maxFields))
	}
	q.Schema = schema
	return q, nil
}

// declined is what a server is told of a question that nobody is asked.
func (s *server) declined(why error) error {
	s.source.config.Logger.Warn("a question of an mcp server was refused", "server", s.name, "reason", why.Error())
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: why.Error()}
}
