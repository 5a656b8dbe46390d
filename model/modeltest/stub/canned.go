package stub

import (
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
)

// Canned returns a handler for benchmarks: it reads each request to its end,
// checks and records nothing, and answers with the bodies in turn, from the
// first again after the last. Encode makes the bodies. It is safe for
// concurrent use.
func Canned(contentType string, bodies ...[]byte) http.Handler {
	var next atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil || len(bodies) == 0 {
			http.Error(w, "no answer", http.StatusBadRequest)
			return
		}
		body := bodies[(next.Add(1)-1)%uint64(len(bodies))]
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body) // a client that is gone needs no answer
	})
}

// The content types of answers.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
)
