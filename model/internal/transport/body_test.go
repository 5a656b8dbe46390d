package transport

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"
)

// The memory of a body serves again once the transport has written it, and not
// before: it may still be reading it.
func TestBodyIsReleasedOnceItWasWritten(t *testing.T) {
	var pool sync.Pool
	b := newBody(List{[]byte("ab"), []byte("c")})
	b.pool = &pool
	trace := httptrace.ContextClientTrace(b.join(t.Context()))
	trace.WroteHeaders()
	b.release()
	if b.whole == nil || pool.Get() != nil {
		t.Fatal("released while it was being read")
	}
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	b.release()
	if b.whole != nil {
		t.Error("not released")
	}
	b.release() // once is enough
}

// A client of the caller's may keep a body for as long as it likes.
func TestBodyOfAnothersClientIsNotReleased(t *testing.T) {
	b := newBody(List{[]byte("abc")})
	trace := httptrace.ContextClientTrace(b.join(t.Context()))
	trace.WroteRequest(httptrace.WroteRequestInfo{})
	b.release()
	if b.whole == nil {
		t.Error("released")
	}
}

// Bodies whose memory serves in turn arrive whole, and as many as there are.
func TestConcurrentPosts(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%d %c %v", len(body), body[0], bytes.Count(body, body[:1]) == len(body))
	})
	var wg sync.WaitGroup
	for letter := 'a'; letter < 'i'; letter++ {
		wg.Go(func() {
			for i := range 20 {
				size := 1 + i*onePiece/18 // the last ones are over it
				x, err := c.Post(t.Context(), List{bytes.Repeat([]byte(string(letter)), size)}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := x.ReadAll(nil)
				x.Close()
				if want := fmt.Sprintf("%d %c true", size, letter); err != nil || string(got) != want {
					t.Errorf("%q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// What a client of the caller's does to a request stays with that request.
func TestRequestsOfAnothersClientAreTheirOwn(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL.Path, len(r.Header["X-Mark"]))
	})
	c.HTTP = NewHTTP(&http.Client{Transport: marking{http.DefaultTransport}})
	for range 2 {
		got, err := post(t.Context(), c, time.Minute)
		if err != nil || string(got) != "/path/marked1" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// marking changes requests in place, as a transport should not.
type marking struct{ http.RoundTripper }

func (m marking) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Path += "/marked"
	r.Header.Add("X-Mark", "1")
	return m.RoundTripper.RoundTrip(r)
}
