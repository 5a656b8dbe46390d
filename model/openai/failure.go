package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// problem is the error object of an error answer, or of an error event inside
// a 200. Nothing of it is shown.
type problem struct {
	Type    string `json:"type"`
	Code    any    `json:"code"` // a name, or with some gateways a status
	Message string `json:"message"`
}

// UnmarshalJSON accepts the bare text that some servers send for an error.
func (p *problem) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &p.Message)
	}
	type plain problem
	// A field of the wrong type leaves an error without that field.
	_ = json.Unmarshal(data, (*plain)(p))
	return nil
}

func (p *problem) empty() bool {
	return p == nil || p.Type == "" && p.Code == nil && p.Message == ""
}

// flat returns the error that an answer without choices is itself, as some
// servers send it: {"object":"error","message":…,"type":…,"code":…}. Nil: it is
// none.
func flat(v transport.Value) *problem {
	p := &problem{}
	object := ""
	for name, m := range v.Members {
		switch string(name) {
		case "object":
			object, _ = m.Text()
		case "message":
			p.Message, _ = m.Text()
		case "type":
			p.Type, _ = m.Text()
		case "code":
			_ = json.Unmarshal(m, &p.Code) // valid JSON fits any
		}
	}
	if object != "error" && (p.Message == "" || p.Type == "" && p.Code == nil) {
		return nil
	}
	return p
}

// classify says what an error answer means. A body that says nothing leaves the
// status.
func classify(status int, body []byte) *model.Error {
	v, _ := transport.Parse(body)
	for first := range v.Elements { // some gateways send a list of one
		v = first
		break
	}
	p := flat(v)
	for name, m := range v.Members {
		if string(name) == "error" && !m.Null() {
			p = &problem{}
			_ = json.Unmarshal(m, p) // it takes anything
		}
	}
	if p == nil {
		p = &problem{}
	}
	return p.failure(status)
}

// failure says what an error with this status means; 0 is an error event,
// whose status is that of its code or type.
func (p *problem) failure(status int) *model.Error {
	code, _ := p.Code.(string)
	if status == 0 {
		status = p.status(code)
	}
	is := func(names ...string) bool { return slices.Contains(names, code) || slices.Contains(names, p.Type) }
	var e *model.Error
	switch {
	case is("insufficient_quota", "billing_hard_limit_reached"), status == http.StatusPaymentRequired:
		e = transport.Quota()
	case is("context_length_exceeded", "exceed_context_size_error"), status == http.StatusBadRequest && p.tooLong():
		e = transport.ContextTooLong()
	case is("content_filter", "content_policy_violation"):
		e = transport.Filtered()
	default:
		return transport.Status(status)
	}
	e.Status = status
	return e
}

// tooLong knows the words of compatible servers that give no code.
func (p *problem) tooLong() bool {
	message := strings.ToLower(p.Message)
	return slices.ContainsFunc([]string{
		"maximum context length", "available context size", "exceeds the context window", "maximum prompt length",
		"longer than the model's context length", "input token count", "prompt is too long", "exceed context limit",
	}, func(words string) bool { return strings.Contains(message, words) })
}

func (p *problem) status(code string) int {
	if n, ok := p.Code.(float64); ok && n >= 400 && n <= 599 {
		return int(n)
	}
	if n, err := strconv.Atoi(code); err == nil && n >= 400 && n <= 599 {
		return n
	}
	for _, name := range []string{code, p.Type} {
		switch name {
		case "rate_limit_exceeded", "rate_limit_error", "requests", "tokens", "insufficient_quota":
			return http.StatusTooManyRequests
		case "invalid_request_error", "BadRequestError", "context_length_exceeded", "exceed_context_size_error",
			"content_filter", "content_policy_violation":
			return http.StatusBadRequest
		case "invalid_api_key", "authentication_error":
			return http.StatusUnauthorized
		case "permission_error":
			return http.StatusForbidden
		case "model_not_found", "not_found_error":
			return http.StatusNotFound
		}
	}
	return http.StatusInternalServerError
}
