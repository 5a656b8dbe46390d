package openai

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// fails asserts the kind of a failure, and that no form of it tells a secret.
func fails(t *testing.T, err error, want kernel.FailureKind) {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Errorf("got %v, want %s", err, want)
		return
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if s := fmt.Sprintf(verb, e); strings.Contains(s, "secret") {
			t.Errorf("%s tells: %s", verb, s)
		}
	}
}

func TestErrorAnswers(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   kernel.FailureKind
	}{
		{429, `{"error":{"message":"sk-secret","type":"requests","code":"rate_limit_exceeded"}}`, kernel.FailStatus},
		{429, `{"error":{"message":"sk-secret","type":"insufficient_quota","code":"insufficient_quota"}}`, kernel.FailQuota},
		{429, `{"error":{"code":"billing_hard_limit_reached"}}`, kernel.FailQuota},
		{402, `{"error":{"message":"Insufficient Balance"}}`, kernel.FailQuota},
		{429, `not JSON`, kernel.FailStatus},
		{429, ``, kernel.FailStatus},
		{400, `{"error":{"code":"context_length_exceeded"}}`, kernel.FailContext},
		{400, `{"error":{"code":400,"message":"This model's maximum context length is 10 tokens."}}`, kernel.FailContext},
		{400, `{"error":{"code":"invalid_value","message":7}}`, kernel.FailStatus},
		{400, `{"error":"sk-secret"}`, kernel.FailStatus},
		{401, `{"error":{"message":"Incorrect API key provided: sk-secret"}}`, kernel.FailStatus},
		{404, ``, kernel.FailStatus},
		{500, ``, kernel.FailStatus},
		{503, ``, kernel.FailStatus},
	}
	for _, tt := range tests {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		}))
		_, err := newModel(t, srv.URL).Call(t.Context(), question(), nil)
		srv.Close()
		fails(t, err, tt.want)
		var e *model.Error
		if errors.As(err, &e) && e.Status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.body, e.Status, tt.status)
		}
	}
}

// An error event inside a 200 means the status of its code or type.
func TestErrorEvents(t *testing.T) {
	tests := []struct {
		problem string
		want    kernel.FailureKind
		status  int
	}{
		{`{"message":"sk-secret","type":"server_error"}`, kernel.FailStatus, 500},
		{`{"type":"requests","code":"rate_limit_exceeded"}`, kernel.FailStatus, 429},
		{`{"code":"insufficient_quota"}`, kernel.FailQuota, 429},
		{`{"code":502,"message":"sk-secret"}`, kernel.FailStatus, 502},
		{`{"code":"503"}`, kernel.FailStatus, 503},
		{`{"code":9999}`, kernel.FailStatus, 500},
		{`{"type":"invalid_request_error"}`, kernel.FailStatus, 400},
		{`{"type":"invalid_request_error","code":"context_length_exceeded"}`, kernel.FailContext, 400},
		{`{"code":"invalid_api_key"}`, kernel.FailStatus, 401},
		{`"sk-secret"`, kernel.FailStatus, 500},
	}
	for _, tt := range tests {
		_, _, err := stream(t, chunk(`{"content":"Hel"}`), `{"error":`+tt.problem+`}`)
		fails(t, err, tt.want)
		var e *model.Error
		if errors.As(err, &e) && e.Status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.problem, e.Status, tt.status)
		}
	}
	for _, none := range []string{"null", "{}", `""`} {
		r, _, err := stream(t, `{"error":`+none+`,"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}`, done)
		if err != nil || textOf(r) != "hi" {
			t.Errorf("error %s: %v", none, err)
		}
	}
}

// A break after the finish reason loses nothing of the reply.
func TestAbruptEnd(t *testing.T) {
	for last, want := range map[string]bool{finish("stop"): true, chunk(`{"content":"hi"}`): false} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, events(chunk(`{"content":"Hel"}`), last))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}))
		_, err := newModel(t, srv.URL).Call(t.Context(), question(), nil)
		srv.Close()
		if want && err != nil {
			t.Errorf("after the reason: %v", err)
		}
		if !want {
			fails(t, err, kernel.FailCut)
		}
	}
}
