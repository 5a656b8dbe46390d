package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
)

// statusOverloaded is the wire's own status for an overloaded provider.
const statusOverloaded = 529

// problem is the error object of an error answer, or of an error event inside
// a 200. Nothing of it is shown.
type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// UnmarshalJSON accepts anything: a field of the wrong type, or an error that
// is no object, leaves an error without that field.
func (p *problem) UnmarshalJSON(data []byte) error {
	type plain problem
	_ = json.Unmarshal(data, (*plain)(p))
	return nil
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
// whose status is that of its type.
func (p *problem) failure(status int) *model.Error {
	if p == nil {
		p = &problem{}
	}
	if status == 0 {
		status = p.status()
	}
	message := strings.ToLower(p.Message)
	var e *model.Error
	switch {
	case p.Type == "billing_error", status == http.StatusPaymentRequired,
		status == http.StatusBadRequest && strings.Contains(message, "credit balance is too low"):
		e = transport.Quota()
	case status == http.StatusBadRequest &&
		(strings.Contains(message, "prompt is too long") || strings.Contains(message, "exceed context limit")):
		e = transport.ContextTooLong()
	case status == http.StatusBadRequest && strings.Contains(message, "content filtering policy"):
		e = transport.Filtered()
	default:
		return transport.Status(status)
	}
	e.Status = status
	return e
}

func (p *problem) status() int {
	switch p.Type {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return statusOverloaded
	}
	return http.StatusInternalServerError
}
