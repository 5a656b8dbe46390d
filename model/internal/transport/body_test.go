package transport

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A carrier serves again once its request was written and its answer read, and
// not before: the transport may still be reading its memory.
func TestCarrierServesAgain(t *testing.T) {
	released := func(over bool, happen func(*carrier, *httptrace.ClientTrace, context.CancelFunc)) bool {
		c := Client{HTTP: NewHTTP(nil), URL: "http://127.0.0.1"}
		c.prepare()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		k := c.carrier(ctx)
		k.load(List{[]byte("ab"), []byte("c")}, time.Minute)
		trace := httptrace.ContextClientTrace(k.ctx)
		trace.WroteHeaders()
		happen(k, trace, cancel)
		k.release(over)
		return k.ctx.Err() == nil
	}
	wrote := func(_ *carrier, trace *httptrace.ClientTrace, _ context.CancelFunc) {
		trace.WroteRequest(httptrace.WroteRequestInfo{})
	}
	if !released(true, wrote) {
		t.Error("not after a whole exchange")
	}
	if released(false, wrote) {
		t.Error("before the answer was read")
	}
	if released(true, func(*carrier, *httptrace.ClientTrace, context.CancelFunc) {}) {
		t.Error("before the request was written")
	}
	if released(true, func(_ *carrier, trace *httptrace.ClientTrace, _ context.CancelFunc) {
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: io.ErrClosedPipe})
	}) {
		t.Error("after a connection that did not take the request")
	}
	if released(true, func(k *carrier, trace *httptrace.ClientTrace, cancel context.CancelFunc) {
		wrote(k, trace, cancel)
		cancel()
	}) {
		t.Error("after its caller's end")
	}
	if released(true, func(k *carrier, trace *httptrace.ClientTrace, cancel context.CancelFunc) {
		wrote(k, trace, cancel)
		k.limit.set(1)
		<-k.ctx.Done()
	}) {
		t.Error("after its time was over")
	}
	if released(true, func(k *carrier, trace *httptrace.ClientTrace, cancel context.CancelFunc) {
		wrote(k, trace, cancel)
		k.grace.set(1)
		<-k.ctx.Done()
		k.grace.set(time.Minute) // what rang before has rung
	}) {
		t.Error("after it was given up")
	}
	for name, of := range map[string]func(*carrier) *alarm{
		"its time": func(k *carrier) *alarm { return &k.limit },
		"a grace":  func(k *carrier) *alarm { return &k.grace },
	} {
		if released(true, func(k *carrier, trace *httptrace.ClientTrace, cancel context.CancelFunc) {
			wrote(k, trace, cancel)
			rung := make(chan struct{})
			*of(k) = alarm{ring: func() { close(rung) }} // and has not cancelled yet
			of(k).set(1)
			<-rung
		}) {
			t.Errorf("while the end of %s is on its way", name)
		}
	}
}

// A carrier knows nothing of the request before: neither how far that came, nor
// what it was.
func TestCarrierForgets(t *testing.T) {
	for _, size := range []int{1, onePiece + 1} {
		c := Client{HTTP: NewHTTP(nil), URL: "http://127.0.0.1"}
		c.prepare()
		k := c.carrier(t.Context())
		k.load(List{make([]byte, size)}, time.Minute)
		if _, err := io.CopyN(io.Discard, k.request.Body, 1); err != nil {
			t.Fatal(err)
		}
		trace := httptrace.ContextClientTrace(k.ctx)
		trace.WroteHeaders()
		trace.WroteRequest(httptrace.WroteRequestInfo{})
		k.release(true)
		if k.caller != nil || k.watch != nil || k.body.pieces != nil || k.body.rest != nil {
			t.Errorf("%d bytes: it keeps what was its caller's", size)
		}
		k.load(List{make([]byte, size)}, time.Minute)
		if k.body.begun.Load() {
			t.Errorf("%d bytes: the next request counts as sent because one before it was", size)
		}
		k.release(true)
		if k.ctx.Err() == nil {
			t.Errorf("%d bytes: it serves again while the next request is being written", size)
		}
	}
}

// What is read behind a reply makes the carrier serve again, if it is the end.
func TestCarrierServesAgainAfterDrain(t *testing.T) {
	for _, behind := range []int{0, 1, drainBytes / 2, 2 * drainBytes} {
		synctest.Test(t, func(t *testing.T) { // in which the grace is long enough
			c := Client{HTTP: NewHTTP(nil), URL: "http://127.0.0.1"}
			c.prepare()
			k := c.carrier(t.Context())
			k.load(List{[]byte("a")}, time.Minute)
			httptrace.ContextClientTrace(k.ctx).WroteRequest(httptrace.WroteRequestInfo{})
			x := &Exchange{carrier: k, body: io.NopCloser(bytes.NewReader(make([]byte, behind)))}
			x.Drain()
			x.Close()
			if again := k.ctx.Err() == nil; again != (behind < drainBytes) {
				t.Errorf("%d bytes behind the reply: it serves again: %t", behind, again)
			}
		})
	}
}

// A client of the caller's may keep a request for as long as it likes, and so
// may who looks on.
func TestCarrierForOneRequest(t *testing.T) {
	c := Client{HTTP: NewHTTP(&http.Client{}), URL: "http://127.0.0.1"}
	c.prepare()
	if c.carrier(t.Context()).pool != nil {
		t.Error("with a client of the caller's")
	}
	c.HTTP = NewHTTP(nil)
	looking := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{})
	if c.carrier(looking).pool != nil {
		t.Error("with hooks of the caller's")
	}
	if c.carrier(t.Context()).pool == nil {
		t.Error("a client made here")
	}
}

// The hooks of the caller's context are called whatever came before.
func TestHooksOfTheCaller(t *testing.T) {
	c := serve(t, func(http.ResponseWriter, *http.Request) {})
	var got, reused int
	for range 2 {
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			got++
			if i.Reused {
				reused++
			}
		}}
		for _, ctx := range []context.Context{t.Context(), httptrace.WithClientTrace(t.Context(), trace)} {
			if _, err := post(ctx, c, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got != 2 || reused != 1 {
		t.Errorf("called %d times, of a connection that served before %d times", got, reused)
	}
}

// Bodies whose memory serves in turn arrive whole, and as many as there are.
func TestConcurrentPosts(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d %c %v", r.Proto, len(body), body[0], bytes.Count(body, body[:1]) == len(body))
	}
	t.Run("HTTP/1.1", func(t *testing.T) { concurrentPosts(t, serve(t, answer)) })
	t.Run("HTTP/2.0", func(t *testing.T) {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(answer))
		srv.EnableHTTP2 = true
		srv.StartTLS()
		t.Cleanup(srv.Close)
		c := client(t, srv.URL)
		tr, ok := c.HTTP.Transport.(own)
		if !ok {
			t.Fatal("no transport of its own")
		}
		tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
		tr.TLSClientConfig.RootCAs.AddCert(srv.Certificate())
		concurrentPosts(t, c)
	})
}

func concurrentPosts(t *testing.T, c *Client) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	carriers := map[*carrier]bool{}
	for letter := 'a'; letter < 'i'; letter++ {
		wg.Go(func() {
			for i := range 20 {
				size := 1 + i*onePiece/18 // the last ones are over it
				x, err := c.Post(t.Context(), List{bytes.Repeat([]byte(string(letter)), size)}, time.Minute)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				carriers[x.carrier] = true
				mu.Unlock()
				got, err := x.ReadAll(nil)
				x.Close()
				if want := fmt.Sprintf("%s %d %c true", "HTTP/"+path.Base(t.Name()), size, letter); err != nil || string(got) != want {
					t.Errorf("%q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wg.Wait()
	if made := len(carriers); made == 8*20 {
		t.Error("no carrier served again")
	}
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

// A body in one piece travels in one write with its header.
func TestOnePieceIsOneWrite(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	tr, ok := c.HTTP.Transport.(own)
	if !ok {
		t.Fatal("no transport of its own")
	}
	var writes atomic.Int64
	dial := tr.DialContext
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return counting{conn, &writes}, err
	}
	for _, size := range []int{1, 4 << 10, onePiece} {
		writes.Store(0)
		x, err := c.Post(t.Context(), List{make([]byte, size/2), make([]byte, size-size/2)}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
		if n := writes.Load(); n != 1 {
			t.Errorf("%d bytes in %d writes", size, n)
		}
	}
}

// counting counts writes.
type counting struct {
	net.Conn
	writes *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(b)
}
