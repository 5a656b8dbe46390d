package stub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
)

// refusal is an answer to a request that the real endpoints would refuse.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

// refuse makes a refusal with status 400.
func refuse(format string, args ...any) error {
	return &refusal{status: http.StatusBadRequest, why: fmt.Sprintf(format, args...)}
}

// errorBody encodes an error for a wire.
func errorBody(w Wire, f Fail) (status int, body []byte) {
	f = f.withDefaults(w)
	kind, code := f.names(w)
	if w == Anthropic {
		return f.Status, marshal(map[string]any{
			"type":       "error",
			"error":      map[string]any{"type": kind, "message": f.Message},
			"request_id": "req_stub",
		})
	}
	var param any
	if f.Kind == kernel.FailContext {
		param = "messages"
	}
	return f.Status, marshal(map[string]any{
		"error": map[string]any{"message": f.Message, "type": kind, "param": param, "code": code},
	})
}

// withDefaults fills in the usual status and text.
func (f Fail) withDefaults(w Wire) Fail {
	status, message := http.StatusInternalServerError, "The server had an error while processing the request."
	switch {
	case f.Kind == kernel.FailQuota && w == Anthropic:
		status, message = http.StatusBadRequest, "Your credit balance is too low to access the API. Go to Plans & Billing to buy credits."
	case f.Kind == kernel.FailQuota:
		status, message = http.StatusTooManyRequests, "You exceeded your current quota, please check your plan and billing details."
	case f.Kind == kernel.FailFilter && w == Anthropic:
		status, message = http.StatusBadRequest, "Output blocked by content filtering policy"
	case f.Kind == kernel.FailFilter:
		status, message = http.StatusBadRequest, "The response was filtered due to the prompt triggering the content management policy."
	case f.Kind == kernel.FailContext && w == Anthropic:
		status, message = http.StatusBadRequest, "prompt is too long: 210000 tokens > 200000 maximum"
	case f.Kind == kernel.FailContext:
		status, message = http.StatusBadRequest, "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens."
	case f.Status != 0:
		message = "status " + strconv.Itoa(f.Status)
	}
	if f.Status == 0 {
		f.Status = status
	}
	if f.Message == "" {
		f.Message = message
	}
	return f
}

// names returns the wire's error type and, for OpenAI, its code or nil.
func (f Fail) names(w Wire) (kind string, code any) {
	if w == Anthropic {
		if f.Kind == kernel.FailQuota && f.Status != http.StatusBadRequest {
			return "billing_error", nil
		}
		return anthropicErrorType(f.Status), nil
	}
	switch {
	case f.Kind == kernel.FailQuota:
		return "insufficient_quota", "insufficient_quota"
	case f.Kind == kernel.FailContext:
		return "invalid_request_error", "context_length_exceeded"
	case f.Kind == kernel.FailFilter:
		return "invalid_request_error", "content_filter"
	case f.Status == http.StatusUnauthorized:
		return "invalid_request_error", "invalid_api_key"
	case f.Status == http.StatusTooManyRequests:
		return "requests", "rate_limit_exceeded"
	case f.Status >= http.StatusInternalServerError:
		return "server_error", nil
	}
	return "invalid_request_error", nil
}

func anthropicErrorType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// marshal encodes v without escaping HTML. The values of this package always
// encode.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// seconds renders d as a whole number of seconds, rounded up.
func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}
