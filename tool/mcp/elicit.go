//go:build linux || darwin

package mcp

import (
	"context"
	"encoding/json"

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

// elicit puts a server's question to a person.
func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	ctx, cancel := context.WithTimeout(ctx, elicitWait)
	defer cancel()
	q := Question{Server: s.name, Message: s.redact(r.Params.Message), URL: r.Params.URL}
	if r.Params.RequestedSchema != nil {
		schema, err := rawJSON(hideIn(r.Params.RequestedSchema, s.secrets.all))
		if err != nil {
			return &sdk.ElicitResult{Action: "decline"}, nil
		}
		q.Schema = schema
	}
	answer, err := s.source.config.Elicit(ctx, q)
	switch {
	case err != nil:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case !answer.Accept:
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	return &sdk.ElicitResult{Action: "accept", Content: answer.Content}, nil
}
