package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
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

// maxStreams is how many requests a connection takes over HTTP/2 here.
const maxStreams = 3

// counted starts a server whose connections are counted, and a client of it.
func counted(t *testing.T, two bool, h http.HandlerFunc) (*Client, *conns, *httptest.Server) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	n := new(conns)
	n.watch(srv)
	if srv.EnableHTTP2 = two; two {
		srv.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	c := client(t, srv.URL)
	if two {
		trust(t, c, srv)
	}
	c.once.Do(c.prepare)
	t.Cleanup(c.CloseIdle) // before the server, which waits for that
	return c, n, srv
}

// trust makes a client accept a test server.
func trust(t *testing.T, c *Client, srv *httptest.Server) {
	t.Helper()
	tr, ok := c.HTTP.Transport.(own)
	if !ok {
		t.Fatal("no transport of its own")
	}
	tr.TLSClientConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	tr.TLSClientConfig.RootCAs.AddCert(srv.Certificate())
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
	c, n, srv := counted(t, false, echo)
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
	c.conns.kept[0].conn.SetStateHook(func(conn *http.ClientConn) {
		if conn.Err() != nil { // net/http has heard of it
			ended()
		}
	})
	<-over
	mustPost(t, c)
	if made := n.offered(); made != 2 || len(c.conns.kept) != 1 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.kept))
	}
}

// An answer that says that it is the last one, or that is not read to its end,
// leaves no connection to take.
func TestConnectionThatServesNoMore(t *testing.T) {
	c, n, _ := counted(t, false, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		echo(w, r)
	})
	for range 3 {
		mustPost(t, c)
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.kept) > 0 {
		t.Errorf("%d connections, of which %d are kept", made, len(c.conns.kept))
	}

	c, n, _ = counted(t, false, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20)) })
	c.Cap = 2 << 20
	for range 3 {
		x, err := c.Post(t.Context(), List(nil), time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	n.until(t, 0)
	if made := n.offered(); made != 3 || len(c.conns.kept) > 0 {
		t.Errorf("answers that were not read: %d connections, of which %d are kept", made, len(c.conns.kept))
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	c, n, _ := counted(t, false, echo)
	const more = 3
	together(t, c, maxFree+more)
	n.until(t, maxFree)
	together(t, c, maxFree)
	if made := n.offered(); made != maxFree+more {
		t.Errorf("%d connections, where %d are kept", made, maxFree)
	}
}

// The connections that no request took for long enough are closed, and not those
// that one took.
func TestConnectionsThatNobodyTakes(t *testing.T) {
	for _, two := range []bool{false, true} {
		c, n, _ := counted(t, two, echo)
		c.conns.every = time.Hour // the test looks itself
		together(t, c, 3)
		all := n.offered()
		c.conns.look()
		n.until(t, all)
		mustPost(t, c)
		c.conns.look()
		n.until(t, 1)
		if c.conns.looking == nil {
			t.Error("nobody will look again")
		}
		c.conns.look()
		n.until(t, 0)
		if len(c.conns.kept) > 0 || c.conns.looking != nil {
			t.Errorf("%d are kept", len(c.conns.kept))
		}
		mustPost(t, c)
		c.conns.mu.Lock()
		c.conns.looking.Reset(0) // and it looks by itself
		c.conns.every = time.Millisecond
		c.conns.mu.Unlock()
		n.until(t, 0)
	}
}

// Closing leaves what is under way, whose connection is closed once that is over,
// and the client can be used again.
func TestCloseIdle(t *testing.T) {
	for _, two := range []bool{false, true} {
		c, n, _ := counted(t, two, echo)
		mustPost(t, c)
		c.CloseIdle()
		n.until(t, 0)
		x, err := c.Post(t.Context(), List{[]byte("abc")}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		c.CloseIdle()
		if got, err := x.ReadAll(nil); err != nil || string(got) != "abc" {
			t.Errorf("%q, %v", got, err)
		}
		x.Close()
		c.CloseIdle() // over HTTP/2 a request may count for a moment longer
		n.until(t, 0)
		mustPost(t, c)
		n.until(t, 1)
	}
}

// Over HTTP/2 requests share a connection, until it has as many as its server
// takes.
func TestSharedConnection(t *testing.T) {
	var under sync.WaitGroup
	release := make(chan struct{})
	c, n, _ := counted(t, true, func(w http.ResponseWriter, r *http.Request) {
		under.Done()
		<-release
		echo(w, r)
	})
	for _, tt := range []struct{ at, made int }{{1, 1}, {maxStreams, 1}, {maxStreams + 1, 2}, {maxStreams + 1, 2}} {
		under.Add(tt.at)
		var all sync.WaitGroup
		for range tt.at {
			all.Go(func() { mustPost(t, c) })
		}
		under.Wait()
		for range tt.at {
			release <- struct{}{}
		}
		all.Wait()
		if made := n.offered(); made != tt.made {
			t.Errorf("%d requests at once: %d connections by now, want %d", tt.at, made, tt.made)
		}
	}
}

func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:80/v1": "127.0.0.1:80",
		"https://host/v1":        "host:",
		"https://host:8443":      "host:8443",
		"http://[::1]:8080":      "[::1]:8080",
		"http://[fe80::1%25en0]": "[fe80::1%en0]:",
		"http://bücher.example":  "",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := address(u); got != want || ok != (want != "") {
			t.Errorf("%s leads to %q", base, got)
		}
	}
}

// A connection that cannot be made is nothing to keep.
func TestNoConnection(t *testing.T) {
	c := client(t, "http://127.0.0.1:1")
	if _, err := post(t.Context(), c, time.Minute); err == nil || len(c.conns.kept) > 0 {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.conns.take(ended); err == nil {
		t.Error("a connection for nobody")
	}
}
