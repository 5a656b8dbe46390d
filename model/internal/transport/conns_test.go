package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-run/holdfast/kernel"
	"github.com/holdfast-run/holdfast/model"
)

// conns counts the connections of a server: those that it was offered, and those
// that are open.
type conns struct {
	mu          sync.Mutex
	made, ended int
	changed     chan struct{}
}

func (c *conns) watch(srv *httptest.Server) {
	c.changed = make(chan struct{}, 1000)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch s {
		case http.StateNew:
			c.made++
		case http.StateClosed:
			c.ended++
		}
		c.changed <- struct{}{}
	}
}

func (c *conns) offered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}

// until waits for so many open connections.
func (c *conns) until(t *testing.T, open int) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		c.mu.Lock()
		now := c.made - c.ended
		c.mu.Unlock()
		if now == open {
			return
		}
		select {
		case <-c.changed:
		case <-late:
			t.Fatalf("%d connections are open, want %d", now, open)
		}
	}
}

// counted starts a server whose connections are counted, and a client of it.
func counted(t *testing.T, h http.HandlerFunc) (*Client, *conns, *httptest.Server) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	n := new(conns)
	n.watch(srv)
	srv.Start()
	t.Cleanup(srv.Close)
	c := client(t, srv.URL)
	c.once.Do(c.prepare)
	t.Cleanup(c.CloseIdle) // before the server, which waits for that
	return c, n, srv
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s", body)
}

// mustPost sends a request that has to be answered.
func mustPost(t *testing.T, c *Client) {
	t.Helper()
	if got, err := post(t.Context(), c, time.Minute); err != nil || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

// together has n requests under way at once, and ends them all.
func together(t *testing.T, c *Client, n int) {
	t.Helper()
	var all []*Exchange
	for range n {
		x, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	for _, x := range all {
		if got, err := x.ReadAll(nil); err != nil || string(got) != "abc" {
			t.Errorf("%q, %v", got, err)
		}
		x.Close()
	}
}

// A connection serves again, unless its server ends it: then the next request
// takes another, and nobody hears of it.
func TestConnectionServesAgain(t *testing.T) {
	c, n, srv := counted(t, echo)
	for range 3 {
		mustPost(t, c)
	}
	if made := n.offered(); made != 1 {
		t.Errorf("%d connections for requests one after another", made)
	}
	srv.CloseClientConnections()
	n.until(t, 0)
	over := make(chan struct{})
	ended := sync.OnceFunc(func() { close(over) })
	c.conns.free[0].conn.SetStateHook(func(conn *http.ClientConn) {
		if conn.Err() != nil { // net/http has heard of it
			ended()
		}
	})
	<-over
	mustPost(t, c)
	if made := n.offered(); made != 2 || len(c.conns.free) != 1 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.free))
	}
}

// An answer that says that it is the last one, or that is not read to its end,
// leaves no connection to take.
func TestConnectionThatServesNoMore(t *testing.T) {
	c, n, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})
	for range 3 {
		mustPost(t, c)
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.free) > 0 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.free))
	}

	c, n, _ = counted(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) })
	c.Cap = 2 << 20
	for range 3 {
		x, err := c.Post(t.Context(), List(nil), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.free) > 0 {
		t.Errorf("answers that were not read: %d connections, of which %d are kept", made, len(c.conns.free))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	c, n, _ := counted(t, echo)
	const more = 3
	together(t, c, maxFree+more)
	n.until(t, maxFree)
	together(t, c, maxFree)
	if made := n.offered(); made != maxFree+more {
		t.Errorf("%d connections, where %d are kept", made, maxFree)
	}
}

// The connection that was used last is taken first.
func TestConnectionUsedLast(t *testing.T) {
	c, _, _ := counted(t, echo)
	together(t, c, 3)
	last := c.conns.free[2].conn
	conn, err := c.conns.take(t.Context())
	if err != nil || conn != last {
		t.Errorf("another one, %v", err)
	}
	conn.Release()
	c.conns.give(conn)
}

// A connection that no request took for too long is closed, by the clock on the
// wall, and not one that a request took.
func TestConnectionsThatNobodyTakes(t *testing.T) {
	c, n, _ := counted(t, echo)
	begun := time.Now()
	var passed atomic.Int64
	c.conns.now = func() time.Time { return begun.Add(time.Duration(passed.Load())) }
	pass := func(d time.Duration) { passed.Add(int64(d)) }
	together(t, c, 3)
	pass(freeFor - 1)
	c.conns.closeOld()
	mustPost(t, c)
	if made := n.offered(); made != 3 {
		t.Errorf("%d connections, of which one could have been taken", made)
	}
	pass(1)
	c.conns.closeOld()
	n.until(t, 1)
	pass(freeFor - 1)
	c.conns.mu.Lock()
	c.conns.closing.Reset(0) // it closes by itself
	c.conns.mu.Unlock()
	n.until(t, 0)
	settled(t, c.conns, idle, 0)
	mustPost(t, c)
	pass(freeFor) // asleep: nothing was closed
	mustPost(t, c)
	if made := n.offered(); made != 5 {
		t.Errorf("%d connections: one was taken that is too old", made)
	}
	n.until(t, 1)
}

// A clock that is set back makes no connection older or younger: it is not taken.
func TestConnectionsAndTheClock(t *testing.T) {
	c, n, _ := counted(t, echo)
	together(t, c, 2)
	c.conns.now = func() time.Time { return time.Now().Add(-time.Hour) }
	mustPost(t, c)
	n.until(t, 1)
	if made := n.offered(); made != 3 {
		t.Errorf("%d connections, want 3", made)
	}
	c.conns.now = time.Now
	c.conns.closeOld()
	settled(t, c.conns, idle, 0)
}

// Connections that their server has ended keep no room from others.
func TestConnectionsThatHaveEnded(t *testing.T) {
	c, n, srv := counted(t, echo)
	together(t, c, maxFree)
	var over sync.WaitGroup
	for _, f := range c.conns.free {
		over.Add(1)
		ended := sync.OnceFunc(over.Done)
		f.conn.SetStateHook(func(conn *http.ClientConn) {
			if conn.Err() != nil {
				ended()
			}
		})
	}
	srv.CloseClientConnections()
	n.until(t, 0)
	over.Wait()
	conn, err := c.conns.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.conns.give(conn)
	settled(t, c.conns, idle, 1)
}

// Closing leaves what is under way, whose connection is closed once that is over,
// and the client can be used again.
func TestCloseIdle(t *testing.T) {
	rest := make(chan struct{})
	c, n, _ := counted(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "ab")
		w.(http.Flusher).Flush()
		<-rest
		io.WriteString(w, "c")
	})
	finish := func(x *Exchange) {
		t.Helper()
		rest <- struct{}{}
		if got, err := x.ReadAll(nil); err != nil || string(got) != "abc" {
			t.Errorf("%q, %v", got, err)
		}
		x.Close()
	}
	begin := func() *Exchange {
		t.Helper()
		x, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	finish(begin())
	c.CloseIdle()
	n.until(t, 0)
	x := begin()
	c.CloseIdle()
	finish(x)
	n.until(t, 0)
	for range 2 {
		finish(begin())
		n.until(t, 1)
	}
	if made := n.offered(); made != 3 {
		t.Errorf("%d connections, want 3", made)
	}
	looking := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{})
	x, err := c.Post(looking, List{[]byte("abc")}, time.Minute) // on a connection of a Transport
	if err != nil {
		t.Fatal(err)
	}
	finish(x)
	c.CloseIdle()
	n.until(t, 0)
}

// slow has a client dial when it is told to, and fail when it is told so.
func slow(c *Client) (dials chan error) {
	dials = make(chan error)
	dial := c.conns.dial
	c.conns.dial = func(ctx context.Context) (*http.ClientConn, error) {
		if err := <-dials; err != nil {
			return nil, err
		}
		return dial(ctx)
	}
	return dials
}

// settled waits until so many requests wait for a connection, or so many are free.
func settled(t *testing.T, c *connections, of func(*connections) int, n int) {
	t.Helper()
	for late := time.After(30 * time.Second); ; {
		c.mu.Lock()
		now := of(c)
		c.mu.Unlock()
		if now == n {
			return
		}
		select {
		case <-late:
			t.Fatalf("%d, want %d", now, n)
		default:
			runtime.Gosched()
		}
	}
}

func waiting(c *connections) int { return len(c.waiting) }
func idle(c *connections) int    { return len(c.free) }

// A request that waits for a new connection takes one that becomes free before
// that, and the new one is the next request's.
func TestConnectionThatBecomesFree(t *testing.T) {
	c, n, _ := counted(t, echo)
	dials := slow(c)
	go func() { dials <- nil }()
	first, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	var second sync.WaitGroup
	second.Go(func() { mustPost(t, c) })
	settled(t, c.conns, waiting, 1)
	if _, err := first.ReadAll(nil); err != nil {
		t.Error(err)
	}
	first.Close()
	second.Wait()
	if made := n.offered(); made != 1 {
		t.Errorf("%d connections", made)
	}
	dials <- nil
	n.until(t, 2)
	settled(t, c.conns, idle, 2)
}

// A connection that comes too late for its request is the next one's.
func TestConnectionThatComesLate(t *testing.T) {
	c, n, _ := counted(t, echo)
	dials := slow(c)
	_, failed := post(t.Context(), c, 20*time.Millisecond)
	fails(t, failed, kernel.FailTimeout)
	ended, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		_, failed := post(ended, c, time.Minute)
		fails(t, failed, kernel.FailAborted)
	})
	settled(t, c.conns, waiting, 1)
	cancel()
	all.Wait()
	settled(t, c.conns, waiting, 0)
	dials <- nil
	settled(t, c.conns, idle, 1)
	mustPost(t, c)
	if made := n.offered(); made != 1 {
		t.Errorf("%d connections", made)
	}
	dials <- nil
	settled(t, c.conns, idle, 2)
}

// A connection that cannot be made fails the request that asked for it, if that
// still waits, and no other one.
func TestConnectionThatCannotBeMade(t *testing.T) {
	c, _, _ := counted(t, echo)
	dials := slow(c)
	answers := make(chan *model.Error, 2)
	for i := range 2 {
		go func() {
			_, failed := post(t.Context(), c, time.Minute)
			answers <- failed
		}()
		settled(t, c.conns, waiting, i+1)
	}
	dials <- syscall.ECONNREFUSED
	if failed := <-answers; failed == nil || failed.Kind != kernel.FailConnection || failed.Message != "the endpoint refused the connection" {
		t.Errorf("%v", failed)
	}
	dials <- nil
	if failed := <-answers; failed != nil {
		t.Errorf("%v", failed)
	}
}

// Whoever ends while it is told of a connection leaves that to others.
func TestConnectionForWhoEnds(t *testing.T) {
	c, n, _ := counted(t, echo)
	for range 100 {
		c.conns.closeFree()
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if conn, err := c.conns.take(ctx); err == nil {
			conn.Release()
			c.conns.give(conn)
		}
	}
	c.conns.closeFree()
	n.until(t, 0)
}

// What net/http alone knows how to reach is left to it.
func TestConnectionsThatAreNotOurs(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(echo))
	defer srv.Close()
	c := client(t, "http://bücher.example")
	tr, ok := c.HTTP.Transport.(own)
	if !ok {
		t.Fatal("no transport of its own")
	}
	asked := ""
	tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		asked = address
		return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
	}
	if mustPost(t, c); asked != "xn--bcher-kva.example:80" || c.conns != nil {
		t.Errorf("asked for %q", asked)
	}
}

// A model's Close closes what its requests left.
func TestEndpointCloses(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(echo))
	n := new(conns)
	n.watch(srv)
	srv.Start()
	defer srv.Close()
	w := &Wire{Path: "v1/chat"}
	e := w.Connect(&Settings{BaseURL: srv.URL, ResponseCap: 1000, Now: time.Now})
	x, err := e.post(t.Context(), List{[]byte("abc")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.ReadAll(nil); err != nil {
		t.Error(err)
	}
	x.Close()
	n.until(t, 1)
	e.Close()
	n.until(t, 0)
}

func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:8080/v1": "127.0.0.1:8080",
		"http://host/v1":           "host:",
		"http://[::1]:8080":        "[::1]:8080",
		"http://[fe80::1%25en0]":   "[fe80::1%en0]:",
		"http://bücher.example":    "",
		"https://host":             "",
		"http:///v1":               "",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := address(u); ok != (want != "") || ok && got != want {
			t.Errorf("%s leads to %q, %v", base, got, ok)
		}
	}
}
