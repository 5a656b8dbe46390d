package anthropic

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdfast-run/holdfast/kernel"
)

// problems are errors of the wire, as the body of an error answer with the
// status, and as an event inside a 200.
var problems = []struct {
	status  int
	problem string
	want    kernel.FailureKind
}{
	{529, `{"type":"overloaded_error","message":"sk-secret"}`, kernel.FailStatus},
	{429, `{"type":"rate_limit_error"}`, kernel.FailStatus},
	{500, `{"type":"api_error"}`, kernel.FailStatus},
	{504, `{"type":"timeout_error"}`, kernel.FailStatus},
	{400, `{"type":"invalid_request_error","message":"sk-secret"}`, kernel.FailStatus},
	{400, `{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}`, kernel.FailContext},
	{400, "{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 1 + 2 > 2\"}", kernel.FailContext},
	{400, `{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}`, kernel.FailQuota},
	{402, `{"type":"billing_error"}`, kernel.FailQuota},
	{400, `{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}`, kernel.FailFilter},
	{401, `{"type":"authentication_error"}`, kernel.FailStatus},
	{403, `{"type":"permission_error"}`, kernel.FailStatus},
	{404, `{"type":"not_found_error"}`, kernel.FailStatus},
	{413, `{"type":"request_too_large"}`, kernel.FailStatus},
	{500, `{"type":7,"message":["sk-secret"]}`, kernel.FailStatus},
	{500, `"sk-secret"`, kernel.FailStatus},
}

func TestErrorAnswers(t *testing.T) {
	for _, tt := range problems {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			io.WriteString(w, `{"type":"error","error":`+tt.problem+`}`)
		}))
		_, err := newModel(t, srv.URL).Call(t.Context(), request(user(say("hi"))), nil)
		srv.Close()
		if e := fails(t, err, tt.want); e.Status != tt.status {
			t.Errorf("%s: status %d, want %d", tt.problem, e.Status, tt.status)
		}
	}
}

func TestErrorEvents(t *testing.T) {
	for _, tt := range problems {
		body := `{"type":"error","error":` + tt.problem + `}`
		_, _, err := stream(t, begun, start(0, `{"type":"text","text":"Hel"}`), body)
		e := fails(t, err, tt.want)
		if e.Status != tt.status || e.Usage == nil {
			t.Errorf("%s: status %d, want %d; usage %v", tt.problem, e.Status, tt.status, e.Usage)
		}
		_, _, err = plain(t, body)
		fails(t, err, tt.want)
	}
	_, _, err := stream(t, `{"type":"error"}`)
	fails(t, err, kernel.FailStatus)
}
