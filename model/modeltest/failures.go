package modeltest

import (
	"fmt"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model/modeltest/stub"
)

// fails checks the failure of one step, streamed and plain.
func fails(t *testing.T, f Factory, step stub.Step, kind kernel.FailureKind, status int) {
	t.Helper()
	f.both(t, func(t *testing.T, stream bool) {
		b := f.start(t, Config{Stream: stream}, stub.Options{})
		b.srv.Play(step)
		e := b.failure(user("hi"))
		if e.Kind != kind || e.Status != status {
			t.Errorf("%s %d, want %s %d", e.Kind, e.Status, kind, status)
		}
		if n := b.srv.Count(); n != 1 {
			t.Errorf("%d requests were sent for one call", n) // Report A42, Case 25
		}
	})
}

// testStatuses: error answers, each by its kind, sent once.
func testStatuses(t *testing.T, f Factory) {
	for _, status := range []int{400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 504, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			fails(t, f, stub.Status(status), kernel.FailStatus, status)
		})
	}
	t.Run("body that is no JSON", func(t *testing.T) {
		fails(t, f, stub.Step{Raw: &stub.Raw{Status: 502, ContentType: "text/html", Body: "<html>bad gateway</html>"}}, kernel.FailStatus, 502)
	})
	t.Run("no body", func(t *testing.T) {
		fails(t, f, stub.Step{Raw: &stub.Raw{Status: 503}}, kernel.FailStatus, 503)
	})
	t.Run("endless body", func(t *testing.T) {
		fails(t, f, stub.Step{Raw: &stub.Raw{Status: 500, ContentType: stub.JSON, Body: `{"x":"`}, Flood: filler}, kernel.FailStatus, 500)
	})
	for _, status := range []int{302, 307} {
		t.Run(fmt.Sprintf("redirect %d", status), func(t *testing.T) {
			fails(t, f, stub.Step{Raw: &stub.Raw{Status: status}, Header: http.Header{"Location": {"/v1/elsewhere"}}}, kernel.FailStatus, status)
		})
	}
	t.Run("quota", func(t *testing.T) {
		status := 429
		if f.Wire == stub.Anthropic {
			status = 400
			fails(t, f, stub.Step{Fail: &stub.Fail{Kind: kernel.FailQuota, Status: 403}}, kernel.FailQuota, 403)
		}
		fails(t, f, stub.Quota(), kernel.FailQuota, status)
	})
	t.Run("context too long", func(t *testing.T) {
		fails(t, f, stub.TooLong(), kernel.FailContext, 400)
	})
	t.Run("filtered", func(t *testing.T) {
		fails(t, f, stub.Filtered(), kernel.FailFilter, 400)
	})
}

// testRetryAfter: every form of the wish to wait (Report A17, Case 19).
func testRetryAfter(t *testing.T, f Factory) {
	now := time.Date(2026, time.October, 21, 7, 27, 50, 0, time.UTC)
	const never = time.Duration(-1)
	for _, tc := range []struct {
		header []string
		want   time.Duration
	}{
		{nil, never},
		{[]string{"Retry-After", "0"}, 0},
		{[]string{"Retry-After", "3"}, 3 * time.Second},
		{[]string{"Retry-After", "1.5"}, 1500 * time.Millisecond},
		{[]string{"Retry-After", "-1"}, never},
		{[]string{"Retry-After", "nan"}, never},
		{[]string{"Retry-After", "inf"}, never},
		{[]string{"Retry-After", "soon"}, never},
		{[]string{"Retry-After", ""}, never},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT"}, 10 * time.Second},
		{[]string{"Retry-After", "Wed, 21 Oct 2026 07:27:00 GMT"}, never},
		{[]string{"Retry-After", "99999999"}, 99999999 * time.Second},
		{[]string{"Retry-After", "1e400"}, never},
		{[]string{"Retry-After", "99999999999999999999"}, math.MaxInt64},
		{[]string{"Retry-After-Ms", "1500"}, 1500 * time.Millisecond},
		{[]string{"Retry-After-Ms", "soon", "Retry-After", "3"}, 3 * time.Second},
		{[]string{"Retry-After-Ms", "1500", "Retry-After", "3"}, 1500 * time.Millisecond},
	} {
		t.Run(fmt.Sprintf("%q", tc.header), func(t *testing.T) {
			b := f.start(t, Config{Stream: true, Now: func() time.Time { return now }}, stub.Options{})
			for _, status := range []int{429, 503} {
				b.srv.Play(stub.Status(status, tc.header...))
				e := b.failure(user("hi"))
				got := never
				if e.RetryAfter != nil {
					got = *e.RetryAfter
				}
				if e.Kind != kernel.FailStatus || e.Status != status || got != tc.want {
					t.Errorf("%s %d, RetryAfter %v; want %s %d, %v (%v: nil)", e.Kind, e.Status, got, kernel.FailStatus, status, tc.want, never)
				}
			}
		})
	}
}

// testErrorEvents: an error inside a 200 stream is what its status would be,
// and an answer that began is none.
func testErrorEvents(t *testing.T, f Factory) {
	for _, status := range []int{429, 500, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			want := status
			if f.Wire == stub.OpenAI && status >= 500 {
				want = 500 // its event does not say which
			}
			b := f.start(t, Config{Stream: true}, stub.Options{})
			b.srv.Play(stub.ErrorEvent("Hello there", status))
			r, deltas, err := call(t, b.model, user("hi"))
			if e := failureOf(t, r, err); e.Kind != kernel.FailStatus || e.Status != want {
				t.Errorf("%s %d, want %s %d", e.Kind, e.Status, kernel.FailStatus, want)
			}
			if deltas != "Hello there" {
				t.Errorf("deltas %q", deltas)
			}
		})
	}
	t.Run("at once", func(t *testing.T) {
		body := `data: {"error":{"message":"no","type":"server_error","code":502}}` + "\n\n"
		want := 502
		if f.Wire == stub.Anthropic {
			body = "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"no"}}` + "\n\n"
			want = 500
		}
		b := f.start(t, Config{Stream: true}, stub.Options{})
		b.srv.Play(stub.Bytes(body))
		if e := b.failure(user("hi")); e.Kind != kernel.FailStatus || e.Status != want {
			t.Errorf("%s %d, want %s %d", e.Kind, e.Status, kernel.FailStatus, want)
		}
	})
	t.Run("quota", func(t *testing.T) {
		b := f.start(t, Config{Stream: true}, stub.Options{})
		b.srv.Play(stub.Step{Reply: &stub.Reply{Text: "x"}, Fail: &stub.Fail{Kind: kernel.FailQuota, Status: 402}})
		if e := b.failure(user("hi")); e.Kind != kernel.FailQuota {
			t.Errorf("kind %s, want %s", e.Kind, kernel.FailQuota)
		}
	})
}
