package remote_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-run/holdfast/desk/examples/remote"
	"github.com/holdfast-run/holdfast/desk/examples/remote/service"
)

// Row 106: what counts as an answer of the service. Whatever proves nothing leaves
// the submission unknown, and is never taken for "not there".
func TestAnswers(t *testing.T) {
	t.Parallel()
	// KEY in a body stands for the key of the request.
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "KEY", r.Header.Get(service.KeyHeader)))
		}
	}
	for _, c := range []struct {
		name      string
		post, get http.Handler // nil: the service itself
		state     remote.State
		sent      int // an answer that says "not there" lets it be sent again
	}{
		{"another's 404 to a question", answers(502, ""), answers(404, "<h1>not found</h1>"), remote.Unknown, 1},
		{"a 404 of another key", answers(502, ""), answers(404, `{"key":"T2"}`), remote.Unknown, 1},
		{"a ticket of another key", answers(502, ""), answers(200, `{"id":"S-9","key":"T2"}`), remote.Unknown, 1},
		{"a key that stands for something else", answers(409, `{"key":"KEY"}`), sameKey(), remote.Unknown, 1},
		{"a question sent elsewhere", answers(502, ""), http.RedirectHandler("/tickets", http.StatusFound), remote.Unknown, 1},
		{"an order sent elsewhere", http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect), nil, remote.Unknown, 3},
		{"too many", answers(429, `{"key":"KEY"}`), nil, remote.Unknown, 3},
		{"too early", answers(425, `{"key":"KEY"}`), nil, remote.Unknown, 3},
		{"beside another of its key", answers(409, `{"error":"a request with this key is being processed","key":"KEY"}`), nil, remote.Unknown, 3},
		{"an answer that cannot be read", answers(201, `{"id":`), nil, remote.Unknown, 3},
		{"a receipt of another key", answers(201, `{"id":"S-9","key":"T2"}`), nil, remote.Unknown, 3},
		{"a receipt of something else", answers(201, `{"id":"S-9","key":"KEY","subject":"s","body":"b"}`), nil, remote.Unknown, 3},
		{"a login page", answers(200, `{"id":"req-77","status":"login required"}`), nil, remote.Unknown, 3},
		{"another's refusal", answers(403, `{"error":"log in first"}`), nil, remote.Unknown, 3},
		{"another's 404", answers(404, "<h1>not found</h1>"), nil, remote.Unknown, 3},
		{"a refusal without a reason", answers(403, `{"key":"KEY"}`), nil, remote.NotSent, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			w := newWorldBehind(t, remote.PromiseLookup, front(c.post, c.get, &sent))
			w.want(t, w.submit(t, w.open(t)), c.state, 0, 0)
			if got := sent.Load(); int(got) != c.sent {
				t.Errorf("it was sent %d times, want %d", got, c.sent)
			}
		})
	}
}

// Row 106: where the service cannot be asked, an answer that proves nothing leaves
// the submission unknown all the same, and is not sent again but under a key.
func TestAnswersAlone(t *testing.T) {
	t.Parallel()
	for p, sent := range map[remote.Promise]int32{remote.PromiseKeys: 3, remote.PromiseNothing: 1} {
		for status, body := range map[int]string{200: `{"id":"req-77"}`, 403: `{"error":"log in first"}`, 409: `{"error":"it is being processed"}`} {
			t.Run(fmt.Sprintf("%s/%d", p, status), func(t *testing.T) {
				t.Parallel()
				var got atomic.Int32
				w := newWorldBehind(t, p, front(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(status)
					_, _ = io.WriteString(w, body)
				}), nil, &got))
				w.want(t, w.submit(t, w.open(t)), remote.Unknown, 0, 0)
				if got.Load() != sent {
					t.Errorf("it was sent %d times, want %d", got.Load(), sent)
				}
			})
		}
	}
}

// sameKey answers a question by key with another ticket of that key.
func sameKey() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"id":"S-9","key":%q,"subject":"s","body":"b"}`, strings.TrimPrefix(r.URL.Path, "/tickets/by-key/"))
	}
}

// front stands before the service: it counts the orders, and answers them and
// the questions by key where it is told to.
func front(post, get http.Handler, sent *atomic.Int32) func(http.Handler) http.Handler {
	return func(service http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				sent.Add(1)
			}
			switch {
			case r.Method == http.MethodPost && post != nil:
				post.ServeHTTP(w, r)
			case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/tickets/by-key/") && get != nil:
				get.ServeHTTP(w, r)
			default:
				service.ServeHTTP(w, r)
			}
		})
	}
}

// Row 106: a service that is not there has made nothing, and that is known.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	for _, p := range []remote.Promise{remote.PromiseLookup, remote.PromiseKeys, remote.PromiseNothing} {
		t.Run(string(p), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			w.drain()
			w.want(t, w.submit(t, w.open(t)), remote.NotSent, 0, 0)
		})
	}
}
