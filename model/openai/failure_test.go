package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
	"github.com/holdfast-run/holdfast/model/internal/transport"
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
		// What vLLM, llama.cpp and Azure say.
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, kernel.FailContext},
		{400, `{"object":"error","message":"sk-secret","type":"BadRequestError","param":null,"code":400}`, kernel.FailStatus},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`, kernel.FailContext},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it"}}`, kernel.FailContext},
		// And other servers and gateways; what only sounds like it is another refusal.
		{400, `{"error":{"message":"Your input exceeds the context window of this model. sk-secret","type":"invalid_request_error"}}`, kernel.FailContext},
		{400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, kernel.FailContext},
		{400, `{"error":{"message":"The input (9000 tokens) is longer than the model's context length (8192 tokens).","code":null}}`, kernel.FailContext},
		{400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, kernel.FailContext},
		{400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum","type":"invalid_request_error"}}`, kernel.FailContext},
		{400, `{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096 completion tokens."}}`, kernel.FailStatus},
		{400, `{"error":{"message":"Invalid 'messages[0].name': string too long. Expected a string with maximum length 64."}}`, kernel.FailStatus},
		{429, `{"error":{"message":"prompt is too long for your rate: 30000 tokens a minute"}}`, kernel.FailStatus},
		{400, `{"error":{"message":"sk-secret","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, kernel.FailFilter},
		{429, `{"message":"sk-secret","type":"insufficient_quota"}`, kernel.FailQuota},
		{400, `[{"error":{"code":"context_length_exceeded"}}]`, kernel.FailContext},
		{400, `{"detail":"sk-secret"}`, kernel.FailStatus},
		{400, `[]`, kernel.FailStatus},
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
		{`{"code":"content_filter"}`, kernel.FailFilter, 400},
		{`{"type":"exceed_context_size_error","code":400}`, kernel.FailContext, 400},
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

// Compatible servers send an error that is no field of an object, in a stream
// and as a whole answer.
func TestFlatErrors(t *testing.T) {
	for body, want := range map[string]*model.Error{
		`{"object":"error","message":"sk-secret","type":"InternalServerError","code":500}`:                        {Kind: kernel.FailStatus, Status: 500},
		`{"object":"error","message":"sk-secret","type":"BadRequestError","param":null,"code":400}`:               {Kind: kernel.FailStatus, Status: 400},
		`{"object":"error","message":"This model's maximum context length is 9 tokens","type":"BadRequestError"}`: {Kind: kernel.FailContext, Status: 400},
		`{"message":"sk-secret","code":429}`:                                    {Kind: kernel.FailStatus, Status: 429},
		`{"message":"sk-secret","type":"exceed_context_size_error","code":400}`: {Kind: kernel.FailContext, Status: 400},
		`{"type":"error","message":"sk-secret","code":"content_filter"}`:        {Kind: kernel.FailFilter, Status: 400},
	} {
		_, _, streamed := stream(t, chunk(`{"content":"Hel"}`), body, done)
		_, _, whole := plain(t, body)
		for _, err := range []error{streamed, whole} {
			fails(t, err, want.Kind)
			var e *model.Error
			if errors.As(err, &e) && e.Status != want.Status {
				t.Errorf("%s: status %d, want %d", body, e.Status, want.Status)
			}
		}
	}
	// Chunks without choices are no errors by themselves.
	r, _, err := stream(t, `{"type":"ping"}`, `{"message":"wait"}`, `{"object":"x","code":7}`, chunk(`{"content":"hi"}`), finish("stop"), done)
	if err != nil || textOf(r) != "hi" {
		t.Errorf("%v", err)
	}
}

// The end of the caller's context is never a reply, however far the stream was.
func TestAbortAfterTheFinishReason(t *testing.T) {
	for cause, whole := range map[error]bool{transport.ErrTimeout: true, io.ErrUnexpectedEOF: true, context.Canceled: false, context.DeadlineExceeded: false} {
		var a assembly
		err := a.ReadStream(streamOf(io.MultiReader(strings.NewReader(events(chunk(`{"content":"hi"}`), finish("stop"))), iotest.ErrReader(cause))))
		if (err == nil) != whole {
			t.Errorf("%v: %v", cause, err)
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
