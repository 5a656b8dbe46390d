package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/internal/leash"
	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

const secret = "sk-secret"

// serve starts a server and a client of it with a cap of 1,000 bytes.
func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	c := client(t, srv.URL)
	t.Cleanup(srv.Close)
	return c
}

func client(t *testing.T, url string) *Client {
	t.Helper()
	c := &Client{
		HTTP:   NewHTTP(nil),
		URL:    url + "/path?token=" + secret,
		Header: http.Header{"Authorization": {"Bearer " + secret}},
		Cap:    1000,
		Now:    time.Now,
		Classify: func(status int, body []byte) *model.Error {
			e := Status(status)
			if strings.Contains(string(body), "quota") {
				e = Quota()
			}
			return e
		},
	}
	t.Cleanup(c.CloseIdle)
	return c
}

// post sends a request and reads its whole answer.
func post(ctx context.Context, c *Client, timeout time.Duration) ([]byte, *model.Error) {
	x, err := c.Post(ctx, List{[]byte("ab"), nil, []byte("c")}, timeout)
	if err != nil {
		e, ok := errors.AsType[*model.Error](err)
		if !ok {
			e = &model.Error{Message: "no *model.Error"}
		}
		return nil, e
	}
	defer x.Close()
	data, err := x.ReadAll(nil)
	if err != nil {
		return data, x.Failure(err)
	}
	x.Drain()
	return data, nil
}

// fails asserts the kind of a failure, and that no form of it tells a secret.
func fails(t *testing.T, got *model.Error, want kernel.FailureKind) {
	t.Helper()
	if got == nil || got.Kind != want {
		t.Fatalf("got %v, want %s", got, want)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
		if s := fmt.Sprintf(verb, got); strings.Contains(s, "secret") || strings.Contains(s, "127.0.0.1") {
			t.Errorf("%s tells: %s", verb, s)
		}
	}
}

func TestPostSendsThePiecesAsOneBody(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %s", body, r.ContentLength, r.Header.Get("Authorization"))
	})
	got, err := post(t.Context(), c, time.Minute)
	if err != nil || string(got) != "abc 3 Bearer "+secret {
		t.Errorf("%q, %v", got, err)
	}
}

// A body of any length arrives whole, through the buffers that connections
// share.
func TestPostSendsLongBodies(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, _ := io.Copy(h, r.Body)
		fmt.Fprintf(w, "%d %x", n, h.Sum(nil))
	})
	piece := bytes.Repeat([]byte("0123456789abcde\n"), 100)
	for _, size := range []int{4 << 10, writeSize - 1, writeSize, writeSize + 1, 3*writeSize + 17} {
		var l List
		whole := bytes.Repeat(piece, size/len(piece)+1)[:size]
		for rest := whole; len(rest) > 0; rest = rest[min(len(rest), 1000):] {
			l = append(l, rest[:min(len(rest), 1000)])
		}
		x, err := c.Post(t.Context(), l, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		got, err := x.ReadAll(nil)
		x.Close()
		if want := fmt.Sprintf("%d %x", size, sha256.Sum256(whole)); err != nil || string(got) != want {
			t.Errorf("%d bytes arrived as %s, %v", size, got, err)
		}
	}
}

func TestResponseCap(t *testing.T) {
	var size atomic.Int64
	var length atomic.Bool
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if length.Load() {
			w.Header().Set("Content-Length", fmt.Sprint(size.Load()))
		} else {
			w.(http.Flusher).Flush() // chunked
		}
		w.Write(bytes.Repeat([]byte("x"), int(size.Load())))
	})
	for _, known := range []bool{false, true} {
		length.Store(known)
		size.Store(1000)
		if got, err := post(t.Context(), c, 0); err != nil || len(got) != 1000 {
			t.Errorf("at the cap, length known %v: %d bytes, %v", known, len(got), err)
		}
		size.Store(1001)
		_, err := post(t.Context(), c, 0)
		fails(t, err, kernel.FailTooLarge)
	}
}

// An endless answer ends at the cap.
func TestFlood(t *testing.T) {
	gone := make(chan struct{})
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		defer close(gone)
		for {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	_, err := post(t.Context(), c, 0)
	fails(t, err, kernel.FailTooLarge)
	<-gone
}

// The end of the caller's context, and of the request's time, really closes
// the connection: the handler below ends with nothing else.
func TestEndOfContextAndTime(t *testing.T) {
	for _, where := range []string{"before the header", "in the body"} {
		t.Run(where, func(t *testing.T) {
			reached, gone := make(chan struct{}, 1), make(chan struct{}, 1)
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body) // the server then watches the connection
				if where == "in the body" {
					io.WriteString(w, "data")
					w.(http.Flusher).Flush()
				}
				reached <- struct{}{}
				<-r.Context().Done()
				gone <- struct{}{}
			})
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-reached; cancel() }()
			_, err := post(ctx, c, 0)
			fails(t, err, kernel.FailAborted)
			<-gone

			_, err = post(t.Context(), c, 50*time.Millisecond)
			fails(t, err, kernel.FailTimeout)
			<-gone
		})
	}
}

// A context with an AfterFunc of its own ends an exchange as any other does, and
// a request that is over leaves nothing with it.
func TestEndOfALeash(t *testing.T) {
	var wait atomic.Bool
	reached, gone := make(chan struct{}, 1), make(chan struct{}, 1)
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if wait.Load() {
			reached <- struct{}{}
			<-r.Context().Done()
			gone <- struct{}{}
		}
	})
	before, ctx := new(leash.Leash), new(leash.Leash)
	if _, err := post(before, c, 0); err != nil {
		t.Fatal(err)
	}
	wait.Store(true)
	go func() {
		<-reached
		before.End(context.Canceled)
		select {
		case <-gone:
			t.Error("ended by the context of another request")
		default:
		}
		ctx.End(context.Canceled)
	}()
	_, err := post(ctx, c, 0)
	fails(t, err, kernel.FailAborted)
	<-gone
}

// A context that has ended already lets nothing out, on a connection that is
// there.
func TestAbortBeforeSending(t *testing.T) {
	var seen atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	defer srv.Close()
	c := client(t, srv.URL)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, err := post(t.Context(), c, 0); err != nil {
			t.Fatal(err)
		}
		_, err := post(ended, c, 0)
		fails(t, err, kernel.FailAborted)
	}
	srv.Close() // waits for what is under way
	if seen.Load() != 20 {
		t.Errorf("%d requests arrived, want 20", seen.Load())
	}
}

func TestTheCallersDeadlineIsAnAbort(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, err := post(ctx, c, time.Hour)
	fails(t, err, kernel.FailAborted)
}

// A request that may have arrived is never reported as not sent, and never
// sent twice.
func TestBrokenAfterSending(t *testing.T) {
	var seen atomic.Int64
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if seen.Add(1) == 1 {
			io.WriteString(w, "ok")
			return
		}
		if seen.Load() == 3 {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "four")
		}
		panic(http.ErrAbortHandler)
	})
	if _, err := post(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	for want := int64(2); want <= 3; want++ { // on the pooled connection, then in the body
		_, err := post(t.Context(), c, 0)
		fails(t, err, kernel.FailCut)
		if seen.Load() != want {
			t.Errorf("%d requests, want %d", seen.Load(), want)
		}
	}
}

// Report A42: net/http has a retry of its own for a pooled connection that
// turns out to be dead. It must not happen, or a request is sent that nobody
// counts.
func TestDeadPooledConnectionIsNotRetried(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var requests atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for i := range 2 {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					requests.Add(1)
					if i == 0 { // the second request gets no answer
						io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				}
			})
		}
	})
	c := client(t, "http://"+l.Addr().String())
	if _, err := post(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	_, failed := post(t.Context(), c, 0)
	fails(t, failed, kernel.FailCut)
	c.CloseIdle()
	l.Close()
	wg.Wait()
	if n := requests.Load(); n != 2 {
		t.Errorf("%d requests arrived, want 2", n)
	}
}

func TestErrorStatus(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header string
		body   string
		kind   kernel.FailureKind
		after  time.Duration
	}{
		{"rate", 429, "7", `{"error":"` + secret + `"}`, kernel.FailStatus, 7 * time.Second},
		{"quota", 429, "7", "quota " + secret, kernel.FailQuota, 7 * time.Second},
		{"quota beyond 64 KiB", 429, "7", strings.Repeat(" ", 64<<10) + "quota", kernel.FailStatus, 7 * time.Second},
		{"overloaded", 529, "0", "", kernel.FailStatus, 0},
		{"server", 500, "7", "quota", kernel.FailStatus, 7 * time.Second}, // the body is not looked at
		{"key", 401, "", "", kernel.FailStatus, -1},
		{"odd", 418, "", "", kernel.FailStatus, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tt.header != "" {
					w.Header().Set("Retry-After", tt.header)
				}
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			_, err := post(t.Context(), c, 0)
			fails(t, err, tt.kind)
			after := time.Duration(-1)
			if err.RetryAfter != nil {
				after = *err.RetryAfter
			}
			if err.Status != tt.status || after != tt.after {
				t.Errorf("status %d, after %v", err.Status, after)
			}
		})
	}
}

// A status is known although its body never ends.
func TestErrorStatusWithAStalledBody(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusTooManyRequests)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	_, err := post(t.Context(), c, 50*time.Millisecond)
	fails(t, err, kernel.FailStatus)
}

// A server that switches to another protocol, which was not asked for, is not
// waited for.
func TestProtocolIsNotSwitched(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n")
		io.Copy(io.Discard, conn) // until the client has closed it
	})
	_, err := post(t.Context(), c, 0)
	fails(t, err, kernel.FailStatus)
	if err.Status != http.StatusSwitchingProtocols {
		t.Errorf("status %d", err.Status)
	}
}

// 307 and 308 would send the question and the key again; after 302 net/http
// would go on with a GET that still carries headers.
func TestRedirectsAreRefused(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, given := range []*http.Client{nil, {Transport: &http.Transport{}}} {
		for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL, status)
			})
			c.HTTP = NewHTTP(given)
			_, err := post(t.Context(), c, 0)
			fails(t, err, kernel.FailStatus)
			if err.Status != status || elsewhere.Load() != 0 {
				t.Errorf("status %d, %d requests elsewhere", err.Status, elsewhere.Load())
			}
			c.CloseIdle()
		}
	}
}

func TestNotTheWire(t *testing.T) {
	for name, header := range map[string][2]string{
		"page":       {"Content-Type", "text/html; charset=utf-8"},
		"compressed": {"Content-Encoding", "br"},
	} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(header[0], header[1])
				io.WriteString(w, secret)
			})
			_, err := post(t.Context(), c, 0)
			fails(t, err, kernel.FailInvalid)
		})
	}
}

// A piece of an answer is none, and neither is the promise of one.
func TestAnotherStatus(t *testing.T) {
	for _, status := range []int{http.StatusAccepted, http.StatusNoContent, http.StatusPartialContent, 299} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
		})
		_, err := post(t.Context(), c, 0)
		fails(t, err, kernel.FailInvalid)
		if err.Status != status {
			t.Errorf("status %d, want %d", err.Status, status)
		}
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, "whole")
	})
	if data, err := post(t.Context(), c, 0); err != nil || string(data) != "whole" {
		t.Errorf("201: %q, %v", data, err)
	}
}

func TestFormat(t *testing.T) {
	for kind, want := range map[string]Format{
		"text/event-stream; charset=utf-8": FormatEvents,
		"application/json":                 FormatJSON,
		"application/problem+json":         FormatJSON,
		"text/plain":                       FormatUnknown,
	} {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", kind) })
		x, err := c.Post(t.Context(), List(nil), 0)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
		if x.Format != want {
			t.Errorf("%s is %v, want %v", kind, x.Format, want)
		}
	}
}

// Whole answers and refused requests leave a connection that the next request
// uses; an answer that does not end is given up.
func TestConnectionsAreReused(t *testing.T) {
	var conns atomic.Int64
	var status atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(int(status.Load()))
		io.WriteString(w, strings.Repeat("x", 900))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	c := client(t, srv.URL)
	for _, s := range []int64{200, 500, 429, 200} {
		status.Store(s)
		post(t.Context(), c, 0)
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

// A reply that is whole is not held up by a server that keeps the stream open.
func TestDrainGivesUp(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "data: x\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	x, err := c.Post(t.Context(), List(nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	var s Stream
	s.Open(x)
	for range s.Events {
		break
	}
	x.Drain()
}

func TestProxyVariablesAreIgnored(t *testing.T) {
	c := NewHTTP(nil)
	if tr := c.Transport.(own); tr.Proxy != nil {
		t.Error("a proxy of the environment would see the key")
	}
}

func TestBodyInSmallReads(t *testing.T) {
	b := requestBody{pieces: List{[]byte("abc"), {}, []byte("defgh"), {}}}
	var got []byte
	buf := make([]byte, 2)
	for {
		n, err := b.Read(buf)
		got = append(got, buf[:n]...)
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if string(got) != "abcdefgh" {
		t.Errorf("%q", got)
	}
}
