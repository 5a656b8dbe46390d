package remote_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-run/holdfast/desk/examples/remote"
)

// Row 106: what counts as an answer of the service. Whatever proves nothing leaves
// the submission unknown, and is never taken for "not there".
func TestAnswers(t *testing.T) {
	t.Parallel()
	answers := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
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
		{"a question sent elsewhere", answers(502, ""), http.RedirectHandler("/tickets", http.StatusFound), remote.Unknown, 1},
		{"an order sent elsewhere", http.RedirectHandler("/elsewhere", http.StatusTemporaryRedirect), nil, remote.Unknown, 3},
		{"too many", answers(429, ""), nil, remote.Unknown, 3},
		{"an answer that cannot be read", answers(201, `{"id":`), nil, remote.Unknown, 3},
		{"a refusal without a reason", answers(403, ""), nil, remote.NotSent, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var sent atomic.Int32
			w := newWorldBehind(t, remote.PromiseLookup, func(service http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						sent.Add(1)
					}
					switch {
					case r.Method == http.MethodPost && c.post != nil:
						c.post.ServeHTTP(w, r)
					case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/tickets/by-key/") && c.get != nil:
						c.get.ServeHTTP(w, r)
					default:
						service.ServeHTTP(w, r)
					}
				})
			})
			w.want(t, w.submit(t, w.open(t)), c.state, 0, 0)
			if got := sent.Load(); int(got) != c.sent {
				t.Errorf("it was sent %d times, want %d", got, c.sent)
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
