package openai

import (
	"encoding/json"
	"net/http"
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

// classify says what an error answer means.
func classify(status int, body []byte) *model.Error {
	var v struct {
		Error problem `json:"error"`
	}
	// A body that says nothing leaves the status.
	_ = json.Unmarshal(transport.ValidUTF8(body), &v)
	return v.Error.failure(status)
}

// failure says what an error with this status means; 0 is an error event,
// whose status is that of its code or type.
func (p *problem) failure(status int) *model.Error {
	code, _ := p.Code.(string)
	if status == 0 {
		status = p.status(code)
	}
	is := func(name string) bool { return code == name || p.Type == name }
	switch {
	case is("insufficient_quota"), is("billing_hard_limit_reached"), status == http.StatusPaymentRequired:
		e := transport.Quota()
		e.Status = status
		return e
	case is("context_length_exceeded"), status == http.StatusBadRequest && p.tooLong():
		e := transport.ContextTooLong()
		e.Status = status
		return e
	}
	return transport.Status(status)
}

// tooLong knows the words of compatible servers that give no code.
func (p *problem) tooLong() bool {
	return strings.Contains(strings.ToLower(p.Message), "maximum context length")
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
		case "invalid_request_error", "context_length_exceeded":
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
